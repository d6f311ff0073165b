"""Checks within ``shard_map`` and ``pmap`` on eight devices: messages and results, here and in jax."""

import importlib

import numpy as np

X = np.arange(8, dtype="float32")


def rows(lib):
    """Name -> a function that checkify looks at, and its categories of checks."""
    checkify = importlib.import_module(f"{lib.__name__}.experimental.checkify")
    jnp, spec = lib.numpy, lib.sharding.PartitionSpec

    def mapped(f, sizes=(8,), names=("i",), axes=("i",), **options):
        mesh = lib.sharding.Mesh(np.array(lib.devices()).reshape(sizes), names)
        return lib.shard_map(f, mesh=mesh, in_specs=spec(axes), out_specs=spec(axes), **options)

    def small(x):
        checkify.check(jnp.all(x < 5), "x is {x}", x=x[0])
        return x * 2

    def two(x):
        checkify.check(jnp.all(x != 2), "second {}", x[0])
        checkify.check(jnp.all(x < 5), "x is {x}", x=x[0])
        return jnp.log(x)

    def total(x):
        checkify.check(lib.lax.psum(x.sum(), "i") < 9, "sum {s}", s=lib.lax.psum(x.sum(), "i"))
        return x

    def loop(x):
        def step(c, v):
            checkify.check(c < 6, "c={c}", c=c)
            return c + v, c

        return lib.lax.scan(step, x[0], np.ones(3, "float32"))[0][None]

    def branch(x):
        def large(v):
            checkify.check(v < 6, "large {v}", v=v)
            return v

        return lib.lax.cond(x[0] > 4, large, lambda v: -v, x[0])[None]

    def again(x):
        error, y = checkify.checkify(small)(x)
        checkify.check_error(error)
        return y

    def of_each_device(x):
        error, y = checkify.checkify(small)(x)
        return lib.tree.map(lambda z: jnp.asarray(z)[None], error), y

    return {
        "as in jax": {
            "check": mapped(small),
            "check, unchecked types": mapped(small, check_vma=False),
            "jit": lib.jit(mapped(small)),
            "jit inside": mapped(lib.jit(small)),
            "two checks": mapped(two),
            "the sum": mapped(total),
            "loop": mapped(loop, check_vma=False),
            "branch": mapped(branch, check_vma=False),
            "two axes": mapped(small, (4, 2), ("i", "j"), ("i", "j")),
            "the same on two devices": mapped(small, (4, 2), ("i", "j")),
            "checked again": mapped(again),
            "pmap": lambda x: lib.pmap(small)(x[:, None]),
        },
        "alone": {
            "loop, checked types": mapped(loop),
            "branch, checked types": mapped(branch),
            "gradient": lib.grad(lambda x: mapped(small)(x).sum()),
            "one manual axis": lib.jit(mapped(small, (4, 2), ("i", "j"), axis_names={"i"})),
            "after another": lambda x: (checkify.check(x[1] < 5, "outside"), mapped(small)(x))[1],
            "in a loop": lambda x: lib.lax.scan(lambda c, _: (mapped(small)(c), None), x, None, length=3)[0],
        },
        "inside": {
            "errors of devices": lambda x: lib.shard_map(
                of_each_device,
                mesh=lib.sharding.Mesh(np.array(lib.devices()), ("i",)),
                in_specs=spec("i"),
                out_specs=spec("i"),
            )(x),
            "errors of pmap": lambda x: lib.pmap(checkify.checkify(small))(x[:, None]),
        },
    }


def _outcomes(lib, kind):
    """Name -> messages and results: of values that fail, twice, once compiled; of others that do not."""
    checkify = importlib.import_module(f"{lib.__name__}.experimental.checkify")
    found = {}
    for name, f in rows(lib)[kind].items():
        checked = f if kind == "inside" else checkify.checkify(f)
        pairs = [checked(X), lib.jit(checked)(X), checked(X - 1), checked(X * 0)]
        found[name] = [error.get() for error, _ in pairs], [np.asarray(y) for _, y in pairs]
    return found


def as_in_jax(lib):
    return _outcomes(lib, "as in jax") | _outcomes(lib, "inside")


def alone(lib):
    return _outcomes(lib, "alone")


def refused(lib):
    """The errors of a function whose error lies along no axis, and of checks that nothing looks at."""
    checkify = importlib.import_module(f"{lib.__name__}.experimental.checkify")
    mesh, spec = lib.sharding.Mesh(np.array(lib.devices()), ("i",)), lib.sharding.PartitionSpec("i")

    def small(x):
        checkify.check(lib.numpy.all(x < 5), "x is {x}", x=x[0])
        return x

    found = []
    for f in (checkify.checkify(small), small):
        try:
            lib.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)(X)
        except ValueError as error:
            found.append(str(error))
    return found
