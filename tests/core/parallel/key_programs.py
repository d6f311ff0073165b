"""Typed keys on eight devices, run with xlascope and with jax: in pmap, in shard_map, and across named axes."""

import numpy as np

X = np.arange(24, dtype="float32").reshape(8, 3)
RING = [(i, (i + 1) % 8) for i in range(8)]


def keys(lib, **options):
    return lib.random.split(lib.random.key(0, **options), 8)


def shard_mapped(lib, f, ins, outs):
    """Of a mesh with one axis."""
    mesh = lib.sharding.Mesh(np.array(lib.devices()), ("i",))
    return lib.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs)


def P(lib, *names):
    return lib.sharding.PartitionSpec(*names)


def by_device(lib, f):
    return shard_mapped(lib, f, P(lib, "i"), P(lib, "i"))


def noisy(lib, x, k):
    return x * lib.numpy.sin(x) * lib.random.normal(lib.random.split(k[0])[1], (1, 3))


def gradient(lib, f):
    mapped = shard_mapped(lib, f, (P(lib, "i"), P(lib, "i")), P(lib, "i"))
    return lib.grad(lambda x: mapped(x, keys(lib)).sum())(X)


VALUES = {
    "pmap, the keys": lambda lib: lib.pmap(lambda k: k)(keys(lib)),
    "pmap, normal": lambda lib: lib.pmap(lambda k: lib.random.normal(k, (3,)))(keys(lib)),
    "pmap, split": lambda lib: lib.pmap(lib.random.split)(keys(lib)),
    "pmap, fold_in": lambda lib: lib.pmap(
        lambda k, _: lib.random.fold_in(k, lib.lax.axis_index("i")), axis_name="i", in_axes=(None, 0)
    )(lib.random.key(1), X),
    "pmap, one key": lambda lib: lib.pmap(lambda k, x: x * lib.random.uniform(k), in_axes=(None, 0))(
        lib.random.key(1), X
    ),
    "pmap, rbg": lambda lib: lib.pmap(lambda k: lib.random.normal(k, (3,)))(keys(lib, impl="rbg")),
    "pmap, loop": lambda lib: lib.pmap(
        lambda k: lib.lax.scan(lambda c, _: (lib.random.split(c)[0], lib.random.normal(c)), k, None, length=3)
    )(keys(lib)),
    "pmap, branch": lambda lib: lib.pmap(
        lambda k: lib.lax.cond(lib.random.uniform(k) > 0.5, lambda q: lib.random.split(q)[0], lambda q: q, k)
    )(keys(lib)),
    "pmap, of what it gave": lambda lib: lib.pmap(lambda k: lib.random.normal(k, (3,)))(
        lib.pmap(lambda k: lib.random.split(k)[0])(keys(lib))
    ),
    "pmap, jitted": lambda lib: lib.jit(lib.pmap(lambda k: lib.random.normal(k, (3,))))(keys(lib)),
    "pmap, gradient": lambda lib: lib.pmap(lib.grad(lambda x, k: (x * lib.random.normal(k, (3,))).sum()))(X, keys(lib)),
    "ppermute": lambda lib: lib.pmap(lambda k: lib.lax.ppermute(k, "i", RING), axis_name="i")(keys(lib)),
    "ppermute, some": lambda lib: lib.pmap(lambda k: lib.lax.ppermute(k, "i", [(0, 1)]), axis_name="i")(keys(lib)),
    "all_gather, tiled": lambda lib: lib.pmap(
        lambda k: lib.lax.all_gather(lib.random.split(k), "i", tiled=True), axis_name="i"
    )(keys(lib)),
    "all_to_all": lambda lib: lib.pmap(lambda k: lib.lax.all_to_all(lib.random.split(k, 8), "i", 0, 0), axis_name="i")(
        keys(lib)
    ),
    "shard_map, normal": lambda lib: by_device(lib, lambda k: lib.random.normal(k[0], (3,)))(keys(lib)),
    "shard_map, split": lambda lib: by_device(lib, lib.vmap(lib.random.split))(keys(lib)),
    "shard_map, jitted": lambda lib: lib.jit(by_device(lib, lib.vmap(lib.random.split)))(keys(lib)),
    "shard_map, whole": lambda lib: shard_mapped(lib, lib.random.split, P(lib), P(lib))(lib.random.key(1)),
    "shard_map, second axis": lambda lib: shard_mapped(lib, lambda k: k, P(lib, None, "i"), P(lib, None, "i"))(
        lib.random.split(lib.random.key(0), (2, 8))
    ),
    "shard_map, under vmap": lambda lib: lib.vmap(by_device(lib, lib.vmap(lib.random.uniform)))(
        lib.random.split(lib.random.key(0), (2, 8))
    ),
    "shard_map, gradient": lambda lib: gradient(lib, lambda x, k: noisy(lib, x, k)),
    "shard_map, checkpointed": lambda lib: gradient(lib, lib.checkpoint(lambda x, k: noisy(lib, x, k))),
}


def shown(lib, x):
    is_key = lib.dtypes.issubdtype(x.dtype, lib.dtypes.prng_key)
    return str(x.dtype), np.asarray(lib.random.key_data(x) if is_key else x)


def every(lib):
    """What each program gives the second time that it runs."""
    found = {}
    for name, program in VALUES.items():
        program(lib)
        found[name] = [shown(lib, x) for x in lib.tree.leaves(program(lib))]
    return found
