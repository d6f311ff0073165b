"""Programs of XLA's generator by itself, run with xlascope and with jax."""

import numpy as np

ALGORITHMS = ("RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX")


def drawn(lib):
    """Name to array."""
    found = {}
    for name, results in _programs(lib):
        for place, value in enumerate(results):
            found[f"{name} [{place}]"] = np.asarray(value)
    return found


def _programs(lib):
    draw, wide = lib.lax.rng_bit_generator, bool(lib.config.jax_enable_x64)
    keys = np.arange(24, dtype="uint32").reshape(2, 3, 4) * np.uint32(1_234_567_891)
    key = keys[0, 0]
    for name in ALGORITHMS:
        algorithm = getattr(lib.lax.RandomAlgorithm, name)
        for dtype in ("uint8", "uint16", "uint32", *(["uint64"] if wide else [])):
            for shape in ((), (7,), (2, 3), (0, 2)):
                yield f"{name} {dtype} {shape}", draw(key, shape, dtype, algorithm)
    yield "a number as the shape", draw(key, 3)
    if wide:
        yield "a key of two words", draw(np.array([3, 2**63 + 5], "uint64"), (5,))
    yield "jit", lib.jit(lambda key: draw(key, (3,)))(key)
    yield "mapped", lib.vmap(lambda key: draw(key, (3,)))(keys[0])
    yield "mapped, another axis", lib.vmap(lambda key: draw(key, (2, 3)), in_axes=1, out_axes=(1, 2))(keys[0].T)
    yield "mapped twice", lib.vmap(lib.vmap(lambda key: draw(key, (3,), "uint8")))(keys)
    yield "mapped over something else", lib.vmap(lambda x, key: draw(key, (3,)), (0, None))(np.ones(2), key)
    yield "in a gradient", (lib.grad(lambda x: draw(key, ())[1] * x)(2.0),)
    typed, bits = draw(lib.random.wrap_key_data(key, impl="rbg"), (3,))
    yield "a typed key", (lib.random.key_data(typed), bits)
