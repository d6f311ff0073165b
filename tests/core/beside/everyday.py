"""What notebooks compute, by both engines in one process, as JSON: ``python everyday.py ORDER``.

Each row is a function of an engine and its module of functions. Its outcome is "" where the arrays are each engine's
own and have equal dtypes, shapes and values, twice; else what differs.
"""
# ruff: noqa: TID251  (here jax is not an oracle: both are looked at together)

import copy
import json
import os
import pickle
import sys
import threading

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
if sys.argv[1] == "jax first":
    import jax
    import jax.numpy as jnp

    jnp.ones(3) + 1

import numpy as np

import xlascope as xs
import xlascope.numpy as xnp

if sys.argv[1] == "used before jax":
    xs.jit(lambda x: x * 2)(np.ones(3)), xs.grad(lambda x: (x**2).sum())(xnp.ones(3) + 1)

import jax
import jax.numpy as jnp

ENGINES = ((xs, xnp), (jax, jnp))


def train(e, n):
    @e.jit
    def step(params, x, y):
        loss, grad = e.value_and_grad(lambda p: ((n.tanh(x @ p["w"] + p["b"]) - y) ** 2).mean())(params)
        return e.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grad), loss

    params, loss = {"w": n.full((4, 2), 0.1), "b": n.zeros(2)}, None
    for _ in range(4):
        params, loss = step(params, n.arange(12.0).reshape(3, 4) / 10, n.ones((3, 2)))
    return params, loss


def loops(e, n):
    scanned = e.lax.scan(lambda c, x: (c * 0.9 + x, c), n.zeros(2), n.arange(10.0).reshape(5, 2))
    counted = e.lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, n.ones(2)))
    return scanned, counted, [e.lax.cond(b, n.sin, n.cos, n.arange(3.0)) for b in (True, np.bool_(False), n.array(1))]


def randoms(e, n):
    key, other = e.random.split(e.random.key(3))
    return e.random.normal(key, (3,)), e.random.permutation(other, 5), e.random.split(e.random.PRNGKey(1))


def derivatives(e, n):
    @e.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, g: (3 * g * x * x,))
    again = e.checkpoint(lambda x: n.sin(n.sin(x)))
    return e.jit(e.grad(cube))(2.0), e.hessian(lambda x: (x**3).sum())(n.arange(3.0)), e.grad(again)(1.0)


def matrices(e, n):
    a = n.array([[4.0, 1], [1, 3]])
    return n.linalg.cholesky(a), n.linalg.eigh(a)[0], n.linalg.solve(a, n.ones(2)), n.fft.rfft(n.arange(4.0)), a @ a


def operators(e, n):
    x = n.arange(3)
    return x + 1.5, x * np.float64(2), x / 2, 2**x, x // 2, abs(-x), x == 1, x << 1, divmod(x + 1, 2), n.int8(1) + 1


def indices(e, n):
    x = n.arange(12.0).reshape(3, 4)
    return x[1], x[:, 1], x[np.array([0, 2])], x[x > 5], x.at[1].add(2.0), x[..., None], x[-1, n.array(1)], x.mT


def values(e, n):
    """Return what Python and NumPy make of arrays, and arrays of what they make."""
    x = n.arange(3.0)
    made = [n.array(v) for v in (1, 1.0, True, 1j, np.int64(3), np.uint8(4), [1, 2.0], np.arange(3))]
    return made, [np.sin(x), np.add(x, x), np.stack([x, x]), np.float32(2) * x], sum(x), sorted(x.tolist()), [*x]


def calls(e, n):
    static = e.jit(lambda x, k: x * k, static_argnums=1)
    donated = e.jit(lambda x: x + 1, donate_argnums=0)
    named = e.jit(lambda x, *, k: x * k)
    compiled = e.jit(lambda x: x * 2).lower(n.ones(3)).compile()
    x = n.ones(4)
    for _ in range(4):
        x = donated(x)
    return x, [static(x, k) for k in (1, 2, 2)], [named(x, k=k) for k in (1, 2.0, np.float32(3))], compiled(n.ones(3))


def callbacks(e, n):
    shape, seen = e.ShapeDtypeStruct((3,), np.float32), []
    doubled = e.jit(lambda x: e.pure_callback(lambda a: np.asarray(a) * 2, shape, x))(n.ones(3))
    e.jit(lambda x: e.debug.callback(lambda a: seen.append(float(a)), x.sum()))(n.ones(3))
    e.effects_barrier()
    return doubled, seen


def devices(e, n):
    mesh = e.make_mesh((2,), ("x",), axis_types=(e.sharding.AxisType.Auto,))
    cut, spec = e.sharding.NamedSharding(mesh, e.sharding.PartitionSpec("x")), e.sharding.PartitionSpec
    x = e.jit(lambda x: x * 2)(e.device_put(np.arange(8.0, dtype=np.float32), cut))
    total = e.shard_map(lambda x: e.lax.psum(x, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec())
    each = e.pmap(lambda x: e.lax.psum(x, "i"), axis_name="i")
    return x, [shard.data for shard in x.addressable_shards], x.sum(), e.jit(total)(n.arange(4.0)), each(n.arange(2.0))


def wide(e, n):
    with e.enable_x64(True):
        found = [n.arange(3.0), e.jit(lambda x: x * 2)(np.arange(3.0)), n.ones(2) + np.float64(1), e.jit(abs)(1.5)]
    return found, n.arange(3.0)


def not_compiled(e, n):
    with e.disable_jit():
        return e.jit(lambda x: x * float(x.sum()))(n.ones(2))


def copies(e, n):
    x = n.arange(3.0)
    return pickle.loads(pickle.dumps(x)), copy.deepcopy({"x": x}), n.from_dlpack(x), np.from_dlpack(x)


#: Each row with an engine and its functions.
ROWS = (
    *(train, loops, randoms, derivatives, matrices, operators, indices, values, calls, callbacks, devices, wide),
    *(not_compiled, copies),
)


def differences(row):
    """Return what differs between the engines' outcomes of a row, or "" for nothing."""
    try:
        for _ in range(2):
            found = [jax.tree_util.tree_leaves(row(*engine)) for engine in ENGINES]
            assert len(found[0]) == len(found[1])
            for x, y in zip(*found, strict=True):
                makers = [type(getattr(each, "aval", each)).__module__.partition(".")[0] for each in (x, y)]
                assert makers == ["xlascope", "jax"] or makers[0] == makers[1] in ("numpy", "builtins"), makers
                x, y = np.asarray(x), np.asarray(y)
                assert (x.dtype, x.shape) == (y.dtype, y.shape), (x.dtype, y.dtype, x.shape, y.shape)
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def of_threads():
    """Return what differs where four threads compute, two by each engine, one of them with 64-bit types."""
    errors = []

    def work(e, width):
        try:
            with e.enable_x64(width == "float64"):
                for number in range(40):
                    found = e.jit(lambda x: x * 2 + number)(np.arange(3.0))  # noqa: B023  (traced in this round)
                    assert found.dtype == width and found.tolist() == [number, number + 2, number + 4], found
        except Exception as error:
            errors.append(f"{e.__name__} {width}: {type(error).__name__}: {error}")

    each = [(e, width) for e, _ in ENGINES for width in ("float32", "float64")]
    threads = [threading.Thread(target=work, args=arguments) for arguments in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return " ".join(errors)


def of_crossing():
    """Return what differs where values of every kind of jax's come to us: spread ones, keys, each width."""
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.device_put(np.arange(8.0), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))
    key, twice = jax.random.key(1), xs.jit(lambda x: x + x)
    normal = xs.random.normal(xs.random.wrap_key_data(jax.random.key_data(key)), (3,))
    pairs = [(normal, jax.random.normal(key, (3,))), *[(twice(spread), spread + spread)] * 3]
    for name in ("float32", "int8", "uint32", "complex64", "bfloat16", "float16"):
        theirs = jnp.ones((2, 3), name)
        pairs += [(twice(theirs), theirs + theirs), (xnp.asarray(theirs), theirs)]
    for ours, theirs in pairs:
        if str(ours.dtype) != str(theirs.dtype) or not np.allclose(np.asarray(ours), np.asarray(theirs)):
            return f"{ours!r} {theirs!r}"
    return ""


if __name__ == "__main__":
    found = {row.__name__: differences(row) for row in ROWS}
    print(json.dumps(found | {"threads": of_threads(), "crossing": of_crossing()}))
