"""Programs on eight devices, run with xlascope and with jax: values, how they lie, and what is refused."""

import numpy as np

A = np.random.default_rng(3).normal(size=(8, 4)).astype("float32")
B = np.random.default_rng(4).normal(size=(4, 8)).astype("float32")
ROWS = np.random.default_rng(5).normal(size=(16, 6)).astype("float32")
LABELS = np.random.default_rng(6).normal(size=(16, 2)).astype("float32")


def mesh(lib, sizes=(4, 2), names=("x", "y")):
    devices = np.array(lib.devices()[: int(np.prod(sizes))]).reshape(sizes)
    return lib.sharding.Mesh(devices, names)


def named(lib, *spec, on=None):
    return lib.sharding.NamedSharding(on or mesh(lib), lib.sharding.PartitionSpec(*spec))


def cut(lib, value, *spec, on=None):
    return lib.device_put(value, named(lib, *spec, on=on))


def spec_of(x):
    """The spec of an array's sharding, without axes at the end that are whole."""
    parts = list(x.sharding.spec)
    while parts and parts[-1] is None:
        parts.pop()
    return tuple(parts)


def lying(x):
    """Where each part is: the numbers of devices, slices and values."""
    return [
        (each.device.id, [(s.start, s.stop) for s in each.index], each.replica_id, np.asarray(each.data).tolist())
        for each in x.addressable_shards
    ]


def normalize(lib):
    return lib.pmap(lambda x: x / lib.lax.psum(x, "i"), axis_name="i")


def nested(lib):
    """Outside of jax: it has no pmap within pmap any more."""
    return lib.pmap(lib.pmap(lambda x: x / lib.lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")


def shard_mapped(lib, f, ins, outs, **options):
    P = lib.sharding.PartitionSpec
    return lib.shard_map(f, mesh=mesh(lib), in_specs=P(*ins), out_specs=P(*outs), **options)


def partly(lib, f, ins, outs, a=A, **options):
    """Only x is crossed by name, y is left to XLA."""
    P = lib.sharding.PartitionSpec
    mapped = lib.shard_map(f, mesh=mesh(lib), in_specs=P(*ins), out_specs=P(*outs), axis_names={"x"}, **options)
    return [lib.jit(mapped)(cut(lib, a, "x", "y") if a is A else a)]


def within(lib, a):
    """A part of a program across y, within one across x."""
    P = lib.sharding.PartitionSpec
    places = lambda: 100 * lib.lax.axis_index("x") + 1000 * lib.lax.axis_index("y")  # noqa: E731
    inner = lambda a: a + lib.lax.psum(a.sum(), "y") + places()  # noqa: E731
    spec = P(None, "y")
    return lib.shard_map(inner, in_specs=spec, out_specs=spec, axis_names={"y"})(a)


def summed(lib, a):
    """A loop that crosses an axis in each step."""
    return lib.lax.scan(lambda c, r: (c + lib.lax.psum(r, "x"), c), 0.0 * a[0], a)[1]


def loss(lib, w, x, y):
    hidden = lib.numpy.tanh(x @ w[0])
    return lib.numpy.mean((hidden @ w[1] - y) ** 2)


WEIGHTS = (
    np.random.default_rng(7).normal(size=(6, 8)).astype("float32"),
    np.random.default_rng(8).normal(size=(8, 2)).astype("float32"),
)


def trained(lib, weights, data, steps=5):
    """The weights after some steps, lying as told."""
    w = [cut(lib, value, *spec) for value, spec in zip(WEIGHTS, weights, strict=True)]
    x, y = cut(lib, ROWS, *data), cut(lib, LABELS, *data)
    step = lib.jit(
        lambda w, x, y: [a - 0.1 * g for a, g in zip(w, lib.grad(lambda v: loss(lib, v, x, y))(w), strict=True)]
    )
    for _ in range(steps):
        w = step(w, x, y)
    return w


def mapped_training(lib, steps=5):
    """Data-parallel training by pmap: each device has its part of the data, and gradients are averaged."""

    def step(w, x, y):
        gradient = lib.grad(lambda v: loss(lib, v, x, y))(w)
        return [a - 0.1 * g for a, g in zip(w, lib.lax.pmean(gradient, "data"), strict=True)]

    stepped = lib.pmap(step, axis_name="data", in_axes=(None, 0, 0), out_axes=None)
    w = list(WEIGHTS)
    for _ in range(steps):
        w = stepped(w, ROWS.reshape(8, 2, 6), LABELS.reshape(8, 2, 2))
    return w


#: What lies how afterwards: programs of which jax's sharding is ours.
LYING = {
    "lowered for a sharding": lambda lib: (
        lib.jit(lambda a: a * 2)
        .lower(lib.ShapeDtypeStruct(A.shape, A.dtype, sharding=named(lib, "x")))
        .compile()(cut(lib, A, "x"))
    ),
    "lowered like an array": lambda lib: (
        lib.jit(lambda a: a * 2)
        .lower(lib.ShapeDtypeStruct.like(cut(lib, A, None, "y")))
        .compile()(cut(lib, A, None, "y"))
    ),
    "put": lambda lib: cut(lib, A, "x", "y"),
    "put whole": lambda lib: cut(lib, A),
    "put along both": lambda lib: cut(lib, A, ("x", "y")),
    "put along both, the other way": lambda lib: cut(lib, A, ("y", "x")),
    "put in the second axis": lambda lib: cut(lib, A, None, "y"),
    "put again": lambda lib: cut(lib, cut(lib, A, "x"), None, "x"),
    "one device of a mesh": lambda lib: cut(lib, A, "x", on=mesh(lib, (1,), ("x",))),
    "sum": lambda lib: cut(lib, A, "x", "y") + 1.0,
    "of two": lambda lib: cut(lib, A, "x") * cut(lib, A, "x"),
    "sum along an axis": lambda lib: cut(lib, A, "x", "y").sum(0),
    "transpose": lambda lib: cut(lib, A, "x", "y").T,
    "product": lambda lib: cut(lib, A, "x") @ cut(lib, B),
    "jit of a product": lambda lib: lib.jit(lambda a, b: lib.numpy.tanh(a @ b))(cut(lib, A, "x"), cut(lib, B)),
    "constraint": lambda lib: lib.jit(lambda a: lib.lax.with_sharding_constraint(a, named(lib, "y", "x")) * 2.0)(
        cut(lib, A, "x")
    ),
    "out_shardings": lambda lib: lib.jit(lambda a: a * 2.0, out_shardings=named(lib, None, "y"))(A),
    "in_shardings": lambda lib: lib.jit(lambda a: a * 2.0, in_shardings=named(lib, "y"))(A),
    "out_shardings inside": lambda lib: lib.jit(
        lambda a: lib.jit(lambda b: b * 2.0, out_shardings=named(lib, "y", "x"))(a) + 1.0
    )(A),
    "gradient": lambda lib: lib.grad(lambda a: lib.numpy.sum(lib.numpy.sin(a) @ B))(cut(lib, A, "x")),
    "from a callback": lambda lib: lib.make_array_from_callback(A.shape, named(lib, "x", "y"), lambda index: A[index]),
    "from parts": lambda lib: lib.make_array_from_single_device_arrays(
        A.shape, named(lib, "x", "y"), [each.data for each in cut(lib, A, "x", "y").addressable_shards]
    ),
    "pmap": lambda lib: normalize(lib)(np.arange(8.0, dtype="float32")),
    "keys": lambda lib: lib.vmap(lib.random.normal)(cut(lib, lib.random.split(lib.random.key(0), 8), "x")),
    "zeros_like": lambda lib: lib.numpy.zeros_like(cut(lib, A, "x", "y")),
    "ones_like of another dtype": lambda lib: lib.numpy.ones_like(cut(lib, A, None, "y"), "int8"),
    "full_like of lax": lambda lib: lib.lax.full_like(cut(lib, A, ("x", "y")), 2.5),
}
#: Numbers.
VALUES = {
    "normalize": lambda lib: normalize(lib)(np.arange(4.0, dtype="float32")),
    "normalize under vmap": lambda lib: lib.vmap(normalize(lib))(np.arange(8.0, dtype="float32").reshape(2, 4) + 1),
    "gradient of pmap": lambda lib: lib.grad(lambda x: (normalize(lib)(x) ** 2).sum())(np.arange(1.0, 5.0)),
    "pmap of a tree": lambda lib: lib.pmap(
        lambda t, s: {"a": t["a"] * s, "b": t["b"]}, in_axes=({"a": 1, "b": 0}, None)
    )({"a": A.T, "b": A}, 3.0),
    "pmap to another axis": lambda lib: lib.pmap(lambda x: x * 2.0, out_axes=1)(A),
    "pmap of static": lambda lib: lib.pmap(lambda x, n: x**n, static_broadcasted_argnums=1)(A, 3),
    "pmap of an index": lambda lib: lib.pmap(lambda x: x + lib.lax.axis_index("i"), axis_name="i")(A),
    "pmap on some devices": lambda lib: lib.pmap(lambda x: x * 2.0, devices=lib.devices()[4:6])(A[:2]),
    "pmap in jit": lambda lib: lib.jit(lambda x: normalize(lib)(x) + 1.0)(np.arange(4.0, dtype="float32")),
    "shard_map": lambda lib: shard_mapped(lib, lambda a: lib.lax.psum(a, "x"), ("x", None), (None, None))(A),
    "shard_map, both": lambda lib: shard_mapped(
        lib, lambda a: lib.lax.psum(a * lib.lax.axis_index(("y", "x")), ("x", "y")), ("x", "y"), ()
    )(A),
    "shard_map, gradient": lambda lib: lib.grad(
        lambda a: shard_mapped(lib, lambda b: lib.lax.pmean(lib.numpy.sum(b**2), ("x", "y")), ("x", "y"), ())(a)
    )(A),
    "shard_map, hessian": lambda lib: lib.hessian(
        lambda a: shard_mapped(lib, lambda b: lib.lax.psum(lib.numpy.sum(lib.numpy.sin(b)), "x"), ("x",), ())(a)
    )(A[:, 0]),
    "shard_map, scan": lambda lib: shard_mapped(
        lib, lambda a: summed(lib, a), ("x", "y"), ("x", "y"), check_vma=False
    )(A),
    "shard_map under vmap": lambda lib: lib.vmap(shard_mapped(lib, lambda a: lib.lax.psum(a, "x"), ("x",), ()))(A.T),
    "of a closed value": lambda lib: shard_mapped(lib, lambda a: a + B[0, :4], ("x",), ("x",))(A),
    "some axes, psum": lambda lib: partly(lib, lambda a: lib.lax.psum(a.sum(), "x"), ("x",), ()),
    "some axes, all_gather": lambda lib: partly(
        lib, lambda a: lib.lax.all_gather(a, "x", tiled=True), ("x",), (), check_vma=False
    ),
    "some axes, axis_index": lambda lib: partly(lib, lambda a: a + lib.lax.axis_index("x"), ("x",), ("x",)),
    "some axes, ppermute": lambda lib: partly(
        lib, lambda a: lib.lax.ppermute(a, "x", [(i, (i + 1) % 4) for i in range(4)]), ("x",), ("x",)
    ),
    "some axes, all_to_all": lambda lib: partly(
        lib, lambda a: lib.lax.all_to_all(a, "x", 1, 0, tiled=True), ("x",), ("x",)
    ),
    "some axes, psum_scatter": lambda lib: partly(
        lib, lambda a: lib.lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True), ("x",), ("x",)
    ),
    "some axes, product": lambda lib: partly(lib, lambda a: lib.lax.psum(a.T @ a, "x"), ("x",), ()),
    "some axes, constrained": lambda lib: partly(
        lib, lambda a: lib.lax.with_sharding_constraint(a * 2, lib.sharding.PartitionSpec(None, "y")), ("x",), ("x",)
    ),
    "some axes within others": lambda lib: partly(lib, lambda a: within(lib, a), ("x",), ("x",)),
    "some axes, derivative": lambda lib: [
        lib.grad(lambda a: (partly(lib, lambda a: within(lib, a), ("x",), ("x",), a)[0] ** 2).sum())(cut(lib, A, "x"))
    ],
    "training, data": lambda lib: trained(lib, [(), ()], ("x",)),
    "training, tensors": lambda lib: trained(lib, [(None, "y"), ("y",)], ()),
    "training, both": lambda lib: trained(lib, [(None, "y"), ("y",)], ("x",)),
    "training, pmap": mapped_training,
}  # fmt: skip
#: What jax no longer has, or never had, and the numbers.
ALONE = {
    "pmap within pmap": (
        lambda lib: nested(lib)(np.arange(8.0, dtype="float32").reshape(4, 2)),
        np.arange(8.0).reshape(4, 2) / 28.0,
    ),
    "its gradient": (
        lambda lib: lib.grad(lambda x: (nested(lib)(x) * np.arange(8.0).reshape(4, 2)).sum())(
            np.arange(8.0, dtype="float32").reshape(4, 2)
        ),
        (np.arange(8.0).reshape(4, 2) - 140.0 / 28.0) / 28.0,
    ),
    "no mapped argument": (
        lambda lib: lib.pmap(lambda: lib.lax.axis_index("i") * 2, axis_name="i", axis_size=8)(),
        2 * np.arange(8),
    ),
    "put replicated": (lambda lib: lib.device_put_replicated(A[0], lib.devices()), np.stack([A[0]] * 8)),
    "put sharded": (lambda lib: lib.device_put_sharded(list(A), lib.devices()), A),
    "an uneven result": (lambda lib: cut(lib, A, "x", "y")[1:], A[1:]),
    "a mesh of devices in another order": (
        lambda lib: (
            lambda on: lib.jit(lambda a: lib.lax.with_sharding_constraint(a + 1.0, named(lib, "b", on=on)))(
                cut(lib, A, "x")
            )
        )(lib.sharding.Mesh(np.array(lib.devices())[::-1].reshape(2, 4), ("a", "b"))),
        A + 1.0,
    ),
}


def under_meshes(lib):
    """On how many devices one jitted function runs under meshes of 4, 2 and 4 of them."""
    auto = (lib.sharding.AxisType.Auto,)
    f = lib.jit(lambda x: lib.lax.with_sharding_constraint(x * 2, lib.sharding.PartitionSpec("a")))
    found = []
    for count in (4, 2, 4):
        with lib.set_mesh(lib.make_mesh((count,), ("a",), auto)):
            found += [len(f(A).sharding.device_set) for _ in range(3)]
    return found


def extremes_of_nan(lib, dtype):
    """Whether maxima and minima over devices are NaN, for a NaN of either sign on the first or the last of them."""
    over, found = mesh(lib, (8,), ("i",)), []
    split, joined = lib.sharding.PartitionSpec("i"), lib.sharding.PartitionSpec()
    for reduce in (lib.lax.pmax, lib.lax.pmin):
        mapped = lib.shard_map(lambda x, reduce=reduce: reduce(x, "i"), mesh=over, in_specs=split, out_specs=joined)
        found.append(lib.jit(mapped))
    found += [lib.jit(lib.numpy.max), lib.jit(lib.numpy.min)]
    arrays = []
    for place in (0, 15):
        for sign in (1, -1):
            x = np.ones(16, dtype)
            x[place] = np.copysign(np.nan, sign)
            arrays.append(lib.device_put(x, lib.sharding.NamedSharding(over, split)))
    return [[np.isnan(np.asarray(program(x), "float32")).any() for x in arrays] for program in found]


#: Functions that create arrays of eight elements along the first axis, where `device` says.
CREATED = {
    "zeros": lambda jnp, device: jnp.zeros((8,), device=device),
    "ones": lambda jnp, device: jnp.ones((8, 2), "bfloat16", device=device),
    "empty": lambda jnp, device: jnp.empty(8, device=device),
    "full": lambda jnp, device: jnp.full((8,), 2.0, device=device),
    "full of a row": lambda jnp, device: jnp.full((8, 2), np.arange(2.0), device=device),
    "zeros_like": lambda jnp, device: jnp.zeros_like(A, device=device),
    "ones_like": lambda jnp, device: jnp.ones_like(jnp.asarray(A), device=device),
    "full_like": lambda jnp, device: jnp.full_like(A, 3, int, device=device),
    "arange": lambda jnp, device: jnp.arange(8, device=device),
    "arange from 1": lambda jnp, device: jnp.arange(1, 9, device=device),
    "linspace": lambda jnp, device: jnp.linspace(0, 1, 8, device=device),
    "eye": lambda jnp, device: jnp.eye(8, device=device),
    "astype": lambda jnp, device: jnp.ones(8).astype(int, device=device),
    "array": lambda jnp, device: jnp.array(A, device=device),
    "asarray": lambda jnp, device: jnp.asarray([1.0] * 8, device=device),
    "fftfreq": lambda jnp, device: jnp.fft.fftfreq(8, device=device),
}


def created_there(lib):
    """The functions whose arrays lie elsewhere than `device` says, or have other values; and under jit."""
    jnp, over = lib.numpy, mesh(lib, (8,), ("i",))
    there = {
        "a device": (lib.devices()[3], {3}),
        "a sharding": (lib.sharding.NamedSharding(over, lib.sharding.PartitionSpec("i")), set(range(8))),
        "a single sharding": (lib.sharding.SingleDeviceSharding(lib.devices()[5]), {5}),
    }
    wrong = []
    for name, create in CREATED.items():
        usual = np.asarray(create(jnp, None), "float32")
        for where, (device, ids) in there.items():
            for attempt in ("first", "second"):
                x = create(jnp, device)
                if {one.id for one in x.devices()} != ids or not x.committed:
                    wrong.append((name, where, attempt))
                if not np.array_equal(np.asarray(x, "float32"), usual):
                    wrong.append((name, where, attempt, "values"))
            jitted = lib.jit(lambda create=create, device=device: create(jnp, device) + 0)()
            if not np.allclose(np.asarray(jitted, "float32"), usual):
                wrong.append((name, where, "jit"))
    return np.array(wrong)


def made_alike(lib):
    """The devices of what is made like an array on one: with its shape, with another, in jit, and like several's."""
    x, spread = lib.device_put(A, lib.devices()[3]), cut(lib, A, "x")
    made = [
        lib.numpy.zeros_like(x),
        lib.numpy.ones_like(x, shape=2),
        lib.lax.full_like(x, 2, shape=(3,)),
        lib.numpy.zeros_like(x, device=lib.devices()[5]),
        lib.numpy.zeros_like(lib.numpy.asarray(A)),
        lib.numpy.zeros_like(spread, shape=(3,)),
        lib.jit(lambda: lib.numpy.zeros_like(x))(),
    ]
    index = x.sharding.devices_indices_map(x.shape)[lib.devices()[3]]
    return [sum(each.id for each in y.devices()) for y in made] + [index == (slice(None),) * 2]


ALONE["what is made alike"] = made_alike, [3, 3, 3, 5, 0, 0, 0, True]
ALONE["arrays are created where device says"] = created_there, np.array([])
for dtype in ("float32", "bfloat16"):
    ALONE[f"extremes of {dtype} over devices are NaN"] = (
        lambda lib, dtype=dtype: extremes_of_nan(lib, dtype),
        [[True] * 4] * 4,
    )
ALONE["under several meshes"] = under_meshes, [4, 4, 4, 2, 2, 2, 4, 4, 4]
#: What is refused.
REFUSED = {
    "a type whose sharding does not fit": lambda lib: lib.jit(lambda a: a, in_shardings=named(lib, "y")).lower(
        lib.ShapeDtypeStruct(A.shape, A.dtype, sharding=named(lib, "x"))
    ),
    "no equal parts": lambda lib: cut(lib, A[:7], "x"),
    "too many axes": lambda lib: cut(lib, A[0], None, "x"),
    "no such name": lambda lib: cut(lib, A, "z"),
    "a name twice": lambda lib: cut(lib, A, "x", "x"),
    "different devices": lambda lib: cut(lib, A, "x") + cut(lib, A, "x", on=mesh(lib, (2,), ("x",))),
    "committed elsewhere": lambda lib: cut(lib, A, "x") + lib.device_put(A, lib.devices()[1]),
    "in_shardings that do not fit": lambda lib: lib.jit(lambda a: a, in_shardings=named(lib, "y"))(cut(lib, A, "x")),
    "a result that varies": lambda lib: shard_mapped(lib, lambda a: a, ("x",), ())(A),
    "an axis that is left to XLA": lambda lib: partly(lib, lambda a: a, ("x", "y"), ("x",)),
    "sizes that differ": lambda lib: lib.pmap(lambda x, y: x)(A, A[:4]),
    "too many examples": lambda lib: lib.pmap(lambda x: x)(np.zeros((9, 2))),
    "nothing mapped": lambda lib: lib.pmap(lambda x: x, in_axes=None)(A),
    "parts of other shapes": lambda lib: lib.make_array_from_callback(A.shape, named(lib, "x", "y"), lambda index: A),
    "a mesh that is too large": lambda lib: lib.make_mesh((16,), ("x",)),
}


def every(lib):
    """All rows: values as NumPy arrays, how arrays lie, and the kinds of errors."""
    found = {}
    for name, program in LYING.items():
        x = program(lib)
        found[name] = (spec_of(x), lying(x), np.asarray(x).tolist())
    for name, program in VALUES.items():
        found[name] = [np.asarray(leaf) for leaf in lib.tree.leaves(program(lib))]
    for name, (program, _) in ALONE.items() if lib.__name__ == "xlascope" else ():
        found[name] = np.asarray(program(lib))
    for name, program in REFUSED.items():
        try:
            program(lib)
        except Exception as error:
            kind = "ValueError" if isinstance(error, ValueError) else type(error).__name__
            found[name] = (kind, str(error).split("\n")[0][:400])
        else:
            found[name] = ("nothing", "")
    return found
