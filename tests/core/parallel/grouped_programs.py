"""Collectives within groups of the devices along an axis: values, derivatives and batches, here and in jax."""

import numpy as np

X = np.random.default_rng(3).normal(size=(8, 4, 8)).astype("float32")
GROUPS, UNEVEN = [[0, 5, 2, 7], [1, 3, 4, 6]], [[6, 1, 2], [0, 7, 3, 4, 5]]
PAIRS = [[0, 3], [2, 1]]

SMOOTH = {
    "psum": lambda lax, x: lax.psum(x, "i", axis_index_groups=GROUPS),
    "psum, uneven": lambda lax, x: lax.psum(x * x, "i", axis_index_groups=UNEVEN),
    "pmean": lambda lax, x: lax.pmean(x, "i", axis_index_groups=GROUPS),
    "all_gather": lambda lax, x: lax.all_gather(x, "i", axis=1, axis_index_groups=GROUPS),
    "all_gather, tiled": lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True, axis_index_groups=GROUPS),
    "psum_scatter": lambda lax, x: lax.psum_scatter(x, "i", axis_index_groups=GROUPS),
    "psum_scatter, tiled": lambda lax, x: lax.psum_scatter(
        x, "i", scatter_dimension=1, tiled=True, axis_index_groups=GROUPS
    ),
    "all_to_all": lambda lax, x: lax.all_to_all(x, "i", 0, 0, axis_index_groups=GROUPS),
    "all_to_all, tiled": lambda lax, x: lax.all_to_all(x, "i", 1, 0, tiled=True, axis_index_groups=GROUPS),
}
OTHERS = {
    "pmax": lambda lax, x: lax.pmax(x, "i", axis_index_groups=GROUPS) * x,
    "psum of 1": lambda lax, x: x * lax.psum(1, "i", axis_index_groups=GROUPS),
    "psum of truth": lambda lax, x: lax.psum(x > 0, "i", axis_index_groups=GROUPS),
    "pmin, uneven": lambda lax, x: lax.pmin(x, "i", axis_index_groups=UNEVEN),
    "pswapaxes": lambda lax, x: lax.pswapaxes(x, "i", 0, axis_index_groups=GROUPS),
}
ROWS = {**SMOOTH, **OTHERS}
#: What jax cannot map over inside of a ``shard_map``.
NOT_AT_ONCE = {"all_to_all", "all_to_all, tiled", "pswapaxes"}
#: What jax refuses, has no derivative of, or divides by the size of the first group.
ALONE = {
    "psum, and an axis": lambda lax, x: lax.psum(x, ("i", 1), axis_index_groups=GROUPS),
    "pmax": OTHERS["pmax"],
    "pmean, uneven": lambda lax, x: lax.pmean(x, "i", axis_index_groups=UNEVEN),
    "psum of 1, uneven": lambda lax, x: x * lax.psum(1, "i", axis_index_groups=UNEVEN),
}
#: Of several axes, along which devices are counted in row-major order.
OF_TWO_AXES = {
    "psum of two axes": lambda lax, x: lax.psum(x, ("i", "j"), axis_index_groups=GROUPS),
    "all_gather of two axes": lambda lax, x: lax.all_gather(x, ("i", "j"), axis_index_groups=GROUPS),
    "psum of one of two": lambda lax, x: lax.psum(x, "i", axis_index_groups=PAIRS),
}
#: What is no partition of the devices.
REFUSED = {
    "an index is missing": lambda lax, x: lax.psum(x, "i", axis_index_groups=[[0, 1, 2], [3, 4, 5, 6]]),
    "an index is twice": lambda lax, x: lax.psum(x, "i", axis_index_groups=[[0, 1, 2, 3], [3, 4, 5, 6, 7]]),
    "uneven": lambda lax, x: lax.all_gather(x, "i", axis_index_groups=UNEVEN),
}


def mapped(lib, f, sizes=(8,), names=("i",), **options):
    """``f`` on eight devices, each with one of the examples."""
    mesh, spec = lib.sharding.Mesh(np.array(lib.devices()).reshape(sizes), names), lib.sharding.PartitionSpec(names)
    return lib.shard_map(lambda x: f(lib.lax, x[0])[None], mesh=mesh, in_specs=spec, out_specs=spec, **options)


def ways(lib, mapped_row, is_smooth, at_once=True):
    """A row's value, its value for two arrays at once, and its derivatives."""

    def run(x):
        found = {"value": mapped_row(x)}
        if at_once:
            found["two at once"] = lib.vmap(mapped_row)(lib.numpy.stack([x, x + 1]))
        if is_smooth:
            y, pull = lib.vjp(mapped_row, x)
            found["cotangent"] = pull(lib.numpy.cos(lib.numpy.arange(y.size, dtype="float32")).reshape(y.shape))
            found["tangent"] = lib.jvp(mapped_row, (x,), (x * x,))[1]
        return found

    return run


def _flat(results):
    return {(name, way): np.asarray(y) for name, found in results.items() for way, y in found.items()}


def every(lib):
    """(row, way) -> array, of each row on a mesh."""

    def run(x):
        found = {
            name: ways(lib, mapped(lib, f, check_vma=False), name in SMOOTH, name not in NOT_AT_ONCE)(x)
            for name, f in ROWS.items()
        }
        by_two = {name: mapped(lib, f, (4, 2), ("i", "j"), check_vma=False) for name, f in OF_TWO_AXES.items()}
        return found | {name: ways(lib, f, True)(x) for name, f in by_two.items()}

    return _flat(lib.jit(run)(X))


def three_ways(lib):
    """(row, way) -> array: of rows on a mesh, where types say what varies, and across the examples of a vmap."""

    def run(x):
        rows = {**SMOOTH, **ALONE}
        return (
            {name: ways(lib, mapped(lib, f, check_vma=False), True)(x) for name, f in rows.items()},
            {name: ways(lib, mapped(lib, f), True)(x) for name, f in rows.items()},
            {
                name: ways(lib, lib.vmap(lambda x, f=f: f(lib.lax, x), axis_name="i"), True)(x)
                for name, f in rows.items()
            },
        )

    return [_flat(found) for found in lib.jit(run)(X)]


def refused(lib):
    """Row -> type and text of the error."""
    found = {}
    for name, f in REFUSED.items():
        try:
            mapped(lib, f, check_vma=False)(X)
            found[name] = "nothing", ""
        except Exception as error:
            found[name] = type(error).__name__, str(error)
    return found
