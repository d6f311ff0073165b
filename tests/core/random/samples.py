"""Every sampler, for the keys, shapes, types and ranges that could go wrong; run with xlascope and with jax."""

import numpy as np

SHAPES = [(), (1,), (3,), (4,), (7,), (3, 5), (2, 3, 4), (0,), (2, 0), (1025,)]
FEW = [(), (7,), (2, 3, 4), (0,)]


def every(lib):
    """Name to array, for the settings that are in force."""
    return _values(lib, (keys, bits, uniforms, normals, integers, categories, orders, transformed))


def words(lib):
    """Like every, but only what the settings change: the words of keys and bits, and the ways to them."""
    return _values(lib, (keys, bits, transformed))


def _values(lib, parts):
    wide = bool(lib.config.jax_enable_x64)
    return {name: np.asarray(value) for part in parts for name, value in part(lib, lib.random, wide)}


def keys(lib, random, wide):
    for seed in (0, 1, -1, 42, -(2**31), 2**31, 2**32 + 5, 2**63 - 1, -(2**63)):
        yield f"PRNGKey({seed})", random.PRNGKey(seed)
    for seed in (np.int32(-3), np.uint32(4_000_000_000), np.int8(-7), np.uint8(200), np.int64(2**40 + 3), np.array(9)):
        yield f"PRNGKey({seed.dtype} {seed})", random.PRNGKey(seed)
    yield "PRNGKey of an array", random.PRNGKey(lib.device_put(np.int32(17)))
    yield "jit(PRNGKey)", lib.jit(random.PRNGKey)(-5)
    yield "vmap(PRNGKey)", lib.vmap(random.PRNGKey)(np.arange(-2, 3))
    key = random.PRNGKey(7)
    for num in (1, 2, 3, 8, (2, 3), ()):
        yield f"split(key, {num})", random.split(key, num)
    for data in (0, 1, 12345, 2**32 - 1, np.uint32(3), np.int32(-1)):
        yield f"fold_in(key, {data!r})", random.fold_in(key, data)
    yield "jit(fold_in)", lib.jit(random.fold_in)(key, 5)


def bits(lib, random, wide):
    key = random.PRNGKey(3)
    for dtype in ("uint8", "uint16", "uint32", *(["uint64"] if wide else [])):
        for shape in SHAPES:
            yield f"bits {dtype} {shape}", random.bits(key, shape, dtype)
    yield "bits of the default dtype", random.bits(key, (3,))


def uniforms(lib, random, wide):
    key = random.PRNGKey(11)
    for shape in FEW:
        yield f"uniform {shape}", random.uniform(key, shape)
    yield "uniform()", random.uniform(key)
    for dtype in ("float16", "bfloat16", "float32", *(["float64"] if wide else [])):
        yield f"uniform {dtype}", random.uniform(key, (33,), dtype)
        yield f"uniform {dtype} range", random.uniform(key, (33,), dtype, -2.5, 7.0)
    yield (
        "uniform with limits as arrays",
        random.uniform(key, (2, 3), minval=np.zeros(3), maxval=np.array([[1.0], [5.0]])),
    )
    yield "uniform with integer limits", random.uniform(key, (5,), minval=-3, maxval=4)
    yield "gumbel", random.gumbel(key, (100,))
    yield "exponential", random.exponential(key, (100,))
    yield "laplace", random.laplace(key, (100,))


def normals(lib, random, wide):
    key = random.PRNGKey(5)
    for shape in FEW:
        yield f"normal {shape}", random.normal(key, shape)
    for dtype in ("float16", "bfloat16", "float32", *(["float64"] if wide else [])):
        yield f"normal {dtype}", random.normal(key, (333,), dtype)
    yield "normal, many", random.normal(key, (100_000,))
    yield "truncated_normal", random.truncated_normal(key, -2.0, 2.0, (1000,))
    yield (
        "truncated_normal, arrays",
        random.truncated_normal(key, np.array([-1.0, 0.0, 3.0]), np.array([1.0, 0.5, 9.0])),
    )


def integers(lib, random, wide):
    key = random.PRNGKey(13)
    for shape in FEW:
        yield f"randint {shape}", random.randint(key, shape, 0, 10)
    ranges = [(0, 1), (0, 2), (-5, 5), (5, 5), (5, 3), (0, 2**31 - 1), (-(2**31), 2**31 - 1), (0, 1000003)]
    for low, high in ranges:
        yield f"randint {low} to {high}", random.randint(key, (50,), low, high)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", *(["int64", "uint64"] if wide else [])):
        yield f"randint {dtype}", random.randint(key, (50,), 3, 90, dtype)
    yield "randint int8, everything", random.randint(key, (300,), -128, 128, "int8")
    yield "randint uint8, everything", random.randint(key, (300,), 0, 256, "uint8")
    yield "randint beyond the dtype", random.randint(key, (50,), -1000, 1000, "int8")
    yield "randint with limits as arrays", random.randint(key, (2, 3), np.array([0, 10, 20]), np.array([[5], [100]]))
    for low, high in [(0.0, 5.5), (0, 1e6), (-2.7, 2.7), (0, 1e10), (False, True), (0, np.float16(7.9)), (-1e20, 1e20)]:
        yield f"randint {low} to {high}", random.randint(key, (50,), low, high)
    for p in (0.5, 0.1, 0.0, 1.0):
        yield f"bernoulli {p}", random.bernoulli(key, p, (50,))
    yield "bernoulli of an array", random.bernoulli(key, np.array([0.1, 0.5, 0.9], "float32"))
    yield "bernoulli broadcast", random.bernoulli(key, np.array([0.1, 0.5, 0.9], "float32"), (4, 3))


def categories(lib, random, wide):
    key = random.PRNGKey(17)
    logits = np.log(np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [1e-9, 1, 1e-9, 1e-9]], "float32"))
    yield "categorical", random.categorical(key, logits)
    yield "categorical axis 0", random.categorical(key, logits, axis=0)
    yield "categorical axis 1", random.categorical(key, logits, axis=1)
    yield "categorical shape", random.categorical(key, logits, shape=(5, 3))
    yield "categorical of a vector", random.categorical(key, logits[0])
    yield "categorical of a vector, many", random.categorical(key, logits[0], shape=(1000,))
    yield "categorical axis 0 shape", random.categorical(key, logits, axis=0, shape=(2, 7, 4))
    for mode in ("low", "high"):
        once = {"replace": False, "mode": mode}
        yield f"categorical without replacement, {mode}", random.categorical(key, logits, shape=(2, 3), **once)
        yield f"categorical axis 0, {mode}", random.categorical(key, logits, axis=0, shape=(3, 4), **once)
        yield f"gumbel {mode}", random.gumbel(key, (3, 5), mode=mode)
        yield f"bernoulli {mode}", random.bernoulli(key, 0.3, (50,), mode=mode)
        p = np.array([0.1, 0.5, 0.2, 0.2], "float32")
        yield f"choice {mode}", random.choice(key, 4, (3,), False, p, mode=mode)
    yield (
        "categorical with impossible",
        random.categorical(key, np.array([-np.inf, 0.0, -np.inf], "float32"), shape=(9,)),
    )


def orders(lib, random, wide):
    key = random.PRNGKey(19)
    for x in (0, 1, 5, 1000, np.int32(6)):
        yield f"permutation {x!r}", random.permutation(key, x)
    x = np.arange(24.0).reshape(2, 3, 4).astype("float32")
    for axis in (0, 1, 2, -1):
        yield f"permutation of an array, axis {axis}", random.permutation(key, x, axis=axis)
        yield f"permutation, independent, axis {axis}", random.permutation(key, x, axis=axis, independent=True)
    yield "permutation of a vector", random.permutation(key, np.arange(10, 20))
    yield "choice", random.choice(key, 10, (7,))
    yield "choice()", random.choice(key, 10)
    yield "choice without replacement", random.choice(key, 10, (2, 3), replace=False)
    yield "choice from a vector", random.choice(key, np.array([1.5, 2.5, 3.5], "float32"), (4,))
    yield "choice along an axis", random.choice(key, x, (5,), axis=1)
    yield "choice along an axis without replacement", random.choice(key, x, (2,), replace=False, axis=2)
    p = np.array([0.1, 0.0, 0.6, 0.3], "float32")
    yield "choice with p", random.choice(key, 4, (50,), p=p)
    yield "choice with p without replacement", random.choice(key, 4, (3,), replace=False, p=p)


def transformed(lib, random, wide):
    key = random.PRNGKey(23)
    keys = random.split(key, 3)
    yield "jit", lib.jit(lambda k: random.normal(k, (4,)))(key)
    yield "vmap over keys", lib.vmap(lambda k: random.uniform(k, (5,)))(keys)
    yield "vmap over keys, normal", lib.vmap(lambda k: random.normal(k, (5,)))(keys)
    yield "vmap over keys, bits", lib.vmap(lambda k: random.bits(k, (5,), "uint8"))(keys)
    yield "vmap over keys, randint", lib.vmap(lambda k: random.randint(k, (), 0, 100))(keys)
    yield "vmap over keys, permutation", lib.vmap(lambda k: random.permutation(k, 6))(keys)
    yield "vmap over keys, categorical", lib.vmap(lambda k: random.categorical(k, np.zeros(9, "float32")))(keys)
    yield "vmap over keys, split", lib.vmap(random.split)(keys)
    yield "vmap over data", lib.vmap(random.fold_in, in_axes=(None, 0))(key, np.arange(4))
    yield (
        "jit(vmap(grad))",
        lib.jit(lib.vmap(lib.grad(lambda s, k: random.uniform(k, (), maxval=s), 0), (None, 0)))(3.0, keys),
    )
    yield "grad of limits", lib.grad(lambda low: random.uniform(key, (), minval=low, maxval=2.0))(0.5)
    yield "grad of limits, vector", lib.jacrev(lambda high: random.uniform(key, (4,), maxval=high))(3.0)
