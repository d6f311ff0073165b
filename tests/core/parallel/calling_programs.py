"""Programs on several devices that call Python: each kind of callback, in each way to share a program."""

import numpy as np

X = np.linspace(-1, 1, 8 * 64, dtype=np.float32).reshape(8, 64)
KINDS = ("debug", "debug ordered", "io", "io ordered", "pure")
WAYS = ("jit", "shard_map", "shard_map eagerly", "pmap", "scan", "scan in shard_map")
#: What the callback is given; a mean of an array is computed by a library, from some size on.
PLACES = {"of sines": lambda xp, x: xp.sin(x), "of a mean": lambda xp, x: xp.sin(x).mean()}
ROWS = [(way, kind, place, used) for way in WAYS for kind in KINDS for place in PLACES for used in (True, False)]


def table(lib):
    """For each row the result, and the sums of what was given to calls; or the error."""
    return {row: _answer(lib, row) for row in ROWS}


def _answer(lib, row):
    calls = []

    def note(v):
        calls.append(float(np.asarray(v, np.float64).sum()))
        return np.asarray(v) * np.float32(2)

    try:
        result = np.asarray(_run(lib, row, note))
        lib.effects_barrier()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"result": result.reshape(X.shape), "calls": sorted(calls)}


def _run(lib, row, note):
    way, kind, place, used = row

    def program(x):
        v = PLACES[place](lib.numpy, x)
        called = _called(lib, kind, note, v)
        return x + called if used else x * 1.5

    def twice(x):
        return lib.lax.scan(lambda carry, _: (program(carry), None), x, None, length=2)[0]

    f = twice if way.startswith("scan") else program
    if way == "pmap":
        return lib.pmap(f)(X)
    mesh = lib.make_mesh((8,), ("x",), axis_types=(lib.sharding.AxisType.Auto,))
    spec = lib.sharding.PartitionSpec("x")
    if "shard_map" in way:
        f = lib.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)
        return f(X) if way == "shard_map eagerly" else lib.jit(f)(X)
    return lib.jit(f)(lib.device_put(X, lib.sharding.NamedSharding(mesh, spec)))


def _called(lib, kind, note, v):
    ordered = kind.endswith("ordered")
    if kind.startswith("debug"):
        lib.debug.callback(lambda x: (note(x), None)[1], v, ordered=ordered)
        return v
    shape = lib.ShapeDtypeStruct(v.shape, v.dtype)
    if kind == "pure":
        return lib.pure_callback(note, shape, v)
    return lib.experimental.io_callback(note, shape, v, ordered=ordered)


def expected(row):
    """What a row has to give, by NumPy."""
    way, kind, place, used = row
    parts = [X] if way in ("jit", "scan") else list(X[:, None])
    results, calls = [], []
    for x in parts:
        for _ in range(2 if way.startswith("scan") else 1):
            v = PLACES[place](np, x)
            if used or kind != "pure":
                calls.append(float(v.astype(np.float64).sum()))
            x = (x + (v if kind.startswith("debug") else 2 * v)) if used else x * np.float32(1.5)
        results.append(x)
    return np.concatenate(results), sorted(calls)


def more(lib):
    """Orders, loops and branches, programs in programs, donated arguments, and what callbacks raise."""
    jnp, lax, spec = lib.numpy, lib.lax, lib.sharding.PartitionSpec("x", "y")
    mesh = lib.make_mesh((4, 2), ("x", "y"), axis_types=(lib.sharding.AxisType.Auto,) * 2)
    lying = lib.sharding.NamedSharding(mesh, spec)
    calls, found = [], {}

    def note(*values):
        calls.append(tuple(round(float(v), 2) for v in values))

    def mapped(f, **settings):
        return lib.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, **settings)

    def run(name, f, **settings):
        calls.clear()
        jitted = lib.jit(f, **settings)
        try:
            for _ in range(2):
                np.asarray(jitted(lib.device_put(X, lying)))
            lib.effects_barrier()
            found[name] = list(calls)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

    def mean(x):
        h = jnp.tanh(x)
        lib.debug.callback(note, h.max())
        return h

    def in_order(x):
        for i in range(3):
            lib.experimental.io_callback(note, None, i, jnp.max(x), ordered=True)
        return x

    def of_each(x):
        for i in range(3):
            lib.experimental.io_callback(note, None, lax.axis_index("x") * 2 + lax.axis_index("y"), i, ordered=True)
        return x

    def looping(x):
        def step(i, c):
            lib.debug.callback(note, i)
            return c * 2

        return lax.fori_loop(0, 3, step, x)

    def branching(x):
        def first(x):
            lib.debug.callback(note, 1)
            return x

        def second(x):
            lib.debug.callback(note, 2)
            return -x

        return lax.cond(x.sum() > -1e6, first, second, x)

    def fail(v):
        raise KeyError("a callback")

    def failing(x):
        shape = lib.ShapeDtypeStruct((), np.float32)
        v = lib.experimental.io_callback(fail, shape, x.max(), ordered=True)
        lib.experimental.io_callback(note, None, x.max(), ordered=True)
        return x + v

    def failing_before_a_sum(x):
        lib.debug.callback(fail, x.max())
        return x + lax.psum(x, "x")

    inner = lib.jit(mean)
    run("largest", mean)
    run("largest of each", mapped(mean))
    run("in order", in_order)
    run("in order on each", mapped(of_each))
    run("loop", looping)
    run("loop on each", mapped(looping))
    run("branch", branching)
    run("branch on each", mapped(branching, check_vma=False))
    run("programs in programs", lambda x: inner(inner(x)))
    run("programs in programs on each", mapped(lambda x: inner(inner(x))))
    run("one after the other", lambda x: mapped(mean)(mapped(mean)(x)))
    run("gradient on each", lib.grad(lambda x: mapped(mean)(x).sum()))
    run("donated", mean, donate_argnums=0)
    run("raises", failing)
    run("raises on each", mapped(failing_before_a_sum))
    run("after what was raised", mean)
    rows = lib.sharding.PartitionSpec("x")
    run("axes left to XLA", lib.shard_map(mean, mesh=mesh, in_specs=rows, out_specs=rows, axis_names={"x"}))
    return found
