"""Programs on four devices, of two processes with two each or of one, as either library runs them."""

import importlib
import traceback

import numpy as np

WHOLE = np.arange(32, dtype=np.float32).reshape(8, 4)
ROWS = np.linspace(-1, 1, 64, dtype=np.float32).reshape(16, 4)
LABELS = np.sin(ROWS.sum(1))


def setup(lib):
    """A mesh of four devices in a row, and one of two by two."""
    mesh = lib.make_mesh((4,), ("x",), axis_types=(lib.sharding.AxisType.Auto,))
    square = lib.make_mesh((2, 2), ("data", "tensor"), axis_types=(lib.sharding.AxisType.Auto,) * 2)
    return mesh, square


def shards_of(x):
    return [(shard.device.id, shard.index, shard.replica_id, np.asarray(shard.data)) for shard in x.addressable_shards]


def sharded(lib, spec="x", value=WHOLE):
    mesh, _ = setup(lib)
    spec = lib.P(*spec) if isinstance(spec, tuple) else lib.P(spec)
    return lib.device_put(value, lib.NamedSharding(mesh, spec))


def facts(lib):
    return (
        *(lib.process_index(), lib.process_count(), lib.device_count(), lib.local_device_count()),
        *([device.id for device in lib.devices()], [device.id for device in lib.local_devices()]),
        [device.id for device in lib.local_devices(process_index=1)],
        lib.distributed.is_initialized(),
    )


def placed(lib):
    return shards_of(sharded(lib)), shards_of(sharded(lib, (None, "x"))), shards_of(sharded(lib, ()))


def members(lib):
    x = sharded(lib)
    return (
        *(x.is_fully_addressable, x.is_fully_replicated, x.shape, len(x.devices()), len(x.sharding.device_set)),
        *(np.asarray(x.addressable_data(1)), sum(shard.data is None for shard in x.global_shards)),
        (sharded(lib, ()).is_fully_addressable, sharded(lib, ()).is_fully_replicated),
        len(x.sharding.addressable_devices_indices_map(x.shape)),
    )


def texts(lib):
    return repr(sharded(lib, ())), repr(sharded(lib)), str(sharded(lib, ()))


def jitted(lib):
    mesh, _ = setup(lib)
    x = sharded(lib)
    columns = lib.NamedSharding(mesh, lib.P(None, "x"))
    f = lib.jit(lambda x: lib.numpy.sin(x) @ x.T)
    g = lib.jit(lambda x: x * 2, out_shardings=columns)
    h = lib.jit(lambda x: x.sum(0), in_shardings=columns, out_shardings=lib.NamedSharding(mesh, lib.P()))
    return shards_of(f(x)), shards_of(g(x)), np.asarray(h(g(x))), float(lib.jit(lib.numpy.sum)(x))


def scalars(lib):
    f = lib.jit(lambda x, y: x + y)
    x = sharded(lib)
    others = [2.0, 3, np.float32(4), np.int8(5), True, lib.numpy.float32(6), np.ones(4, np.float32)]
    return [shards_of(f(x, other))[0] for other in others for _ in range(4)]


def eager(lib):
    x = sharded(lib)
    jnp = lib.numpy
    return (
        *(shards_of(x + 1), float(x.sum()), np.asarray(x.mean(0, keepdims=True)), shards_of(jnp.where(x > 3, x, 0))),
        *(shards_of(jnp.tanh(x) * 2.0), float(jnp.linalg.norm(x)), float((x @ x.T)[0, 0]), np.asarray(x[5])),
    )


def resharded(lib):
    mesh, square = setup(lib)
    x = sharded(lib)
    return (
        shards_of(lib.device_put(x, lib.NamedSharding(mesh, lib.P(None, "x")))),
        np.asarray(lib.device_put(x, lib.NamedSharding(mesh, lib.P()))),
        shards_of(lib.device_put(x, lib.NamedSharding(square, lib.P("tensor", "data")))),
    )


def mapped(lib):
    mesh, square = setup(lib)
    P, lax = lib.P, lib.lax
    x = sharded(lib)

    def along(f, *out):
        return lib.jit(lib.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=out[0] if out else P("x")))(x)

    return (
        shards_of(along(lambda x: x - lax.pmean(x, "x"))),
        np.asarray(along(lambda x: lax.psum(x, "x"), P())),
        np.asarray(along(lambda x: lax.pmax(x, "x"), P())),
        shards_of(along(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]))),
        shards_of(along(lambda x: lax.all_gather(x, "x"))),
        shards_of(along(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True))),
        shards_of(along(lambda x: lax.psum_scatter(lib.numpy.concatenate([x, x]), "x", tiled=True))),
        shards_of(along(lambda x: x * lax.axis_index("x"))),
        shards_of(
            lib.jit(
                lib.shard_map(
                    lambda a, b: lax.psum(a @ b, "tensor"),
                    mesh=square,
                    in_specs=(P("data", "tensor"), P("tensor", None)),
                    out_specs=P("data", None),
                )
            )(WHOLE, WHOLE[:4])
        ),
    )


def differentiated(lib):
    jnp = lib.numpy
    x = sharded(lib)

    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    w = np.ones((4, 3), np.float32) / 8
    value, gradient = lib.jit(lib.value_and_grad(loss))(w, x)
    looped = lib.jit(lambda x: lib.lax.scan(lambda c, row: (c + row.sum(), c), 0.0, x))(x)
    chosen = lib.jit(lambda x: lib.lax.cond(x.sum() > 3, lambda x: x.sum(0), lambda x: x[0], x))(x)
    counted = lib.jit(lambda x: lib.lax.while_loop(lambda s: s.sum() < 1e5, lambda s: s * 2, x).sum())(x)
    rows = lib.jit(lib.vmap(lambda row: jnp.sort(row)[::-1]))(x)
    return float(value), np.asarray(gradient), float(looped[0]), np.asarray(chosen), float(counted), shards_of(rows)


def donated(lib):
    step = lib.jit(lambda x, y: (x + y, y * 2), donate_argnums=0)
    x, y = sharded(lib), sharded(lib, value=WHOLE * 10)
    gone = []
    for _ in range(4):
        before = x
        x, y = step(x, y)
        gone.append(before.is_deleted())
    return gone, shards_of(x)


def keys(lib):
    mesh, _ = setup(lib)
    sharding = lib.NamedSharding(mesh, lib.P("x"))
    key = lib.random.key(7)
    draw = lib.jit(lambda key: lib.random.normal(key, (8, 2)), out_shardings=sharding)
    split = lib.jit(lambda key: lib.random.split(key, 8), out_shardings=sharding)(key)
    uniform = lib.jit(lib.vmap(lib.random.uniform))(split)
    words = lib.jit(lambda keys: lib.random.key_data(keys))(split)
    return (
        shards_of(draw(key)),
        shards_of(uniform),
        shards_of(words),
        [shards_of(draw(lib.random.key(i)))[0] for i in range(4)],
    )


def built(lib):
    mesh, square = setup(lib)
    sharding = lib.NamedSharding(mesh, lib.P("x"))
    mine = WHOLE[4 * lib.process_index() : 4 * lib.process_index() + 4]
    by_process = lib.make_array_from_process_local_data(sharding, mine)
    with_shape = lib.make_array_from_process_local_data(sharding, mine, (8, 4))
    whole = lib.make_array_from_process_local_data(sharding, WHOLE, (8, 4))
    tensor = lib.make_array_from_process_local_data(lib.NamedSharding(square, lib.P(None, "tensor")), WHOLE)
    copies = lib.make_array_from_process_local_data(lib.NamedSharding(mesh, lib.P()), WHOLE)
    called = lib.make_array_from_callback((8, 4), sharding, lambda index: WHOLE[index])
    parts = [lib.device_put(mine[2 * i : 2 * i + 2], device) for i, device in enumerate(lib.local_devices())]
    single = lib.make_array_from_single_device_arrays((8, 4), sharding, parts)
    arrays = by_process, with_shape, whole, tensor, copies, called, single
    return [(x.shape, str(x.dtype), shards_of(x)) for x in arrays]


def gathered(lib):
    utils = importlib.import_module(f"{lib.__name__}.experimental.multihost_utils")
    number = lib.process_index()
    tree = {"a": np.full(3, number, np.float32), "b": np.int32(number), "c": np.array([number == 0])}
    utils.sync_global_devices("somewhere")
    utils.assert_equal({"same": np.arange(3)}, "they differ")
    return (
        utils.broadcast_one_to_all(tree),
        utils.broadcast_one_to_all(tree, is_source=number == 1),
        utils.process_allgather(tree),
        utils.process_allgather(tree["a"], tiled=True),
        utils.process_allgather(sharded(lib), tiled=True),
        np.asarray(utils.process_allgather(lib.numpy.full(2, number))),
    )


def synchronized(lib):
    utils = importlib.import_module(f"{lib.__name__}.experimental.multihost_utils")
    found = {}
    for name, call in {
        "unequal": lambda: utils.assert_equal(np.arange(3) + lib.process_index(), "they differ"),
        "elsewhere": lambda: utils.sync_global_devices(f"place {lib.process_index()}"),
    }.items():
        found[name] = raised(call)
    return found


def raised(call):
    try:
        call()
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return "nothing"


def refused(lib):
    x = sharded(lib)
    far = lib.devices()[-1 if lib.process_index() == 0 else 0]
    return {
        "fetched": raised(lambda: np.asarray(x)),
        "converted": raised(lambda: float(sharded(lib, value=np.ones(4, np.float32))[:4])),
        "tolist": raised(lambda: x.tolist()),
        "got": raised(lambda: lib.device_get(x)),
        "initialized again": raised(lambda: lib.distributed.initialize("127.0.0.1:1", 2, 0)),
        "computed here": raised(lambda: lib.numpy.ones(3) + 1),
        "mixed": raised(lambda: lib.jit(lambda x, y: x + y.sum())(x, lib.device_put(1.0, lib.local_devices()[0]))),
        "split numpy": raised(lambda: lib.jit(lambda x: x + 1, in_shardings=x.sharding)(WHOLE)),
        "far": raised(lambda: np.asarray(lib.device_put(1.0, far))),
    }


def train(lib, tensor):
    """Five steps of a perceptron: data-parallel, or with its weights split as well."""
    mesh, square = setup(lib)
    P, jnp = lib.P, lib.numpy
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape).astype(np.float32) / 2 for shape in ((4, 8), (8, 1))]
    specs = (P(None, "tensor"), P("tensor", None)) if tensor else (P(), P())
    used, batch = (square, P("data")) if tensor else (mesh, P("x"))
    weights = [lib.device_put(w, lib.NamedSharding(used, spec)) for w, spec in zip(weights, specs, strict=True)]
    x, y = (lib.device_put(value, lib.NamedSharding(used, batch)) for value in (ROWS, LABELS))

    def loss(weights, x, y):
        return jnp.mean(((jnp.tanh(x @ weights[0]) @ weights[1])[:, 0] - y) ** 2)

    @lib.jit
    def step(weights, x, y):
        value, gradients = lib.value_and_grad(loss)(weights, x, y)
        return value, [w - 0.3 * g for w, g in zip(weights, gradients, strict=True)]

    losses = []
    for _ in range(5):
        value, weights = step(weights, x, y)
        losses.append(float(value))
    return losses


def trained(lib):
    return train(lib, False), train(lib, True)


def replicas(lib):
    """`pmap`: each process gives the examples of its own devices, and gets their results."""
    number = lib.process_index()
    mine = WHOLE[4 * number : 4 * number + 2]
    f = lib.pmap(lambda x: x - lib.lax.pmean(x, "i"), axis_name="i")
    total = lib.pmap(lambda x: lib.lax.psum(x, "i"), axis_name="i", out_axes=None)
    return [shards_of(f(mine)) for _ in range(4)], np.asarray(total(mine))


def called_back(lib):
    """Each process calls Python for its own devices."""
    x = sharded(lib)
    seen = []

    def double(part):
        seen.append(part.shape)
        return part * 2

    def on_each(part):
        return lib.pure_callback(double, lib.ShapeDtypeStruct(part.shape, part.dtype), part)

    mesh, _ = setup(lib)
    f = lib.jit(lib.shard_map(on_each, mesh=mesh, in_specs=lib.P("x"), out_specs=lib.P("x"), check_vma=False))
    return shards_of(f(x)), sorted(seen)


def after_other_work(lib):
    """Process 1 has compiled other programs before, and forgotten some: what both compile then is the same."""
    jnp = lib.numpy
    if lib.process_index() == 1:
        for size in range(3, 9):
            y = jnp.ones(size)
            for _ in range(size):
                y = jnp.tanh(y) * size
            lib.jit(lambda y: jnp.sin(y).sum() * y)(y).block_until_ready()
        lib.clear_caches()

    def unrolled(x):
        y = x
        for _ in range(12):  # what a cost model may reroll, and values that many kernels would compute again
            y = jnp.tanh(y) * 0.5 + jnp.exp(-y * y) * jnp.mean(x * y, axis=0) * 0.1
        return y

    f = lib.jit(lambda x: (unrolled(x), lib.grad(lambda x: unrolled(x).sum())(x)))
    return [shards_of(part) for part in f(sharded(lib, value=WHOLE / 100))]


#: Programs that give in each process the part of its devices of what one process with all devices gives.
ALIKE = (placed, jitted, scalars, eager, resharded, mapped, differentiated, donated, keys, trained, after_other_work)
#: Programs that give each process something of its own.
OWN = (facts, members, texts, built, gathered, synchronized, refused, replicas, called_back)


def run_all(lib, programs):
    """Run programs; what one raises stands in place of its value."""
    found = {}
    for program in programs:
        try:
            found[program.__name__] = program(lib)
        except Exception as error:
            found[program.__name__] = "raised", type(error).__name__, traceback.format_exc()[-3000:]
    return found


def every(lib):
    return run_all(lib, ALIKE + OWN)


def alike(lib):
    return run_all(lib, ALIKE)


def cached(lib):
    """Whether the programs of a job with a cache on disk were compiled or loaded."""
    found = []
    lib.records.watch(lambda record: found.append(record.cache) if isinstance(record, lib.records.Compiled) else None)
    value = train(lib, True)
    return found, value
