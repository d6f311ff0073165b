"""Programs whose ``shard_map`` leaves an axis of the mesh to XLA, and that call Python."""

import numpy as np

X = np.linspace(-1, 1, 8 * 64, dtype=np.float32).reshape(8, 64)
KINDS = ("debug", "debug ordered", "io", "io ordered", "io of booleans", "pure")
WAYS = ("plain", "eagerly", "sharded along the other axis", "scan", "cond", "vmap", "grad")
ROWS = [
    (way, kind)
    for way in WAYS
    for kind in KINDS
    if not (way == "vmap" and kind == "io ordered") and not (way == "grad" and kind in ("io of booleans", "pure"))
]


def table(lib):
    """For each row the result, and the sums of what was given to calls, of two runs; or the error."""
    return {row: _answer(lib, *row) for row in ROWS}


def _answer(lib, way, kind):
    calls = []

    def note(v):
        calls.append(round(float(np.asarray(v, np.float64).sum()), 3))
        return np.asarray(v) > 0 if kind == "io of booleans" else np.asarray(v) * np.float32(2)

    mesh = lib.make_mesh((4, 2), ("x", "y"), axis_types=(lib.sharding.AxisType.Auto,) * 2)
    spec = lib.sharding.PartitionSpec("x")
    f = _function(lib, way, lambda x: _called(lib, kind, note, x))
    mapped = lib.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"x"})
    function = mapped if way == "eagerly" else lib.jit(mapped)
    if way == "grad":
        function = lib.jit(lib.grad(lambda x: mapped(x).sum()))
    x = X
    if way == "sharded along the other axis":
        x = lib.device_put(x, lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec("x", "y")))
    try:
        results = [np.asarray(function(x)) for _ in range(2)]
        lib.effects_barrier()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"results": results, "calls": sorted(calls)}


def _function(lib, way, called):
    if way == "scan":
        return lambda x: lib.lax.scan(lambda c, _: (called(c), None), x, None, length=2)[0]
    if way == "cond":  # some devices call, others do not
        return lambda x: lib.lax.cond(x.sum() > 0, called, lambda x: x * 2, x)
    if way == "vmap":
        return lib.vmap(called)
    return called


def _called(lib, kind, note, x):
    ordered = kind.endswith("ordered")
    if kind.startswith("debug"):
        lib.debug.callback(lambda v: (note(v), None)[1], x, ordered=ordered)
        return x * 2
    x = lib.lax.stop_gradient(x) + (x - lib.lax.stop_gradient(x))
    still = lib.lax.stop_gradient(x)
    shape = lib.ShapeDtypeStruct(x.shape, bool if kind == "io of booleans" else x.dtype)
    if kind == "pure":
        return lib.pure_callback(note, shape, still, vmap_method="sequential") + 0 * x
    if kind == "io of booleans":
        return x * 2 + 0 * lib.experimental.io_callback(note, shape, still, ordered=ordered)
    return lib.experimental.io_callback(note, shape, still, ordered=ordered) + 0 * x


def expected(way, kind):
    """The result by NumPy, and the sums of what calls of two runs are given; None where XLA chooses their number."""
    calls = []
    for part in np.split(X.astype(np.float64), 4):
        if way == "cond" and part.sum() <= 0:
            continue
        members = list(part) if way == "vmap" else [part]
        calls += [round(float(v.sum()), 3) for v in members]
        calls += [round(float(2 * part.sum()), 3)] if way == "scan" else []
    if way == "grad":
        result = np.zeros_like(X) if kind.startswith("io") else np.full_like(X, 2)
    else:
        result = X * (4 if way == "scan" else 2)
    return result, None if kind == "pure" else sorted(calls * 2)
