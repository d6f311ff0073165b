"""Derivatives inside of ``shard_map``, by values that are the same on all devices and by others, as in jax."""

import numpy as np

W = np.linspace(0.1, 0.5, 3, dtype="float32")
X = np.sin(np.arange(24, dtype="float32")).reshape(8, 3)
SQUARE = np.cos(np.arange(9, dtype="float32")).reshape(3, 3)
COLUMNS = np.cos(np.arange(24, dtype="float32")).reshape(3, 8)
ROWS = np.sin(np.arange(24, dtype="float32")).reshape(8, 3)


def mapped(lib, f, ins, outs, sizes=(4,), names=("d",), **options):
    """``f`` on four devices; specs are texts: ``"d"``, ``"a b"`` (both along the first axis), ``". d"``, ``""``."""
    mesh = lib.sharding.Mesh(np.array(lib.devices()[:4]).reshape(sizes), names)
    return lib.shard_map(
        f, mesh=mesh, in_specs=tuple(_spec(lib, s) for s in ins), out_specs=_spec(lib, outs), **options
    )


def _spec(lib, text):
    if isinstance(text, tuple):
        return tuple(_spec(lib, each) for each in text)
    return lib.sharding.PartitionSpec(*(None if part == "." else part for part in text.split()))


def loss(lib, w, x):
    return lib.numpy.sum(lib.numpy.sin(x @ w))


def inside(of, w=W, x=X, ins=("", "d"), outs="", argnums=0, transform="grad", **options):
    """A program: the derivative of ``of(lib, w, x)``, taken on each device."""

    def program(lib):
        derivative = getattr(lib, transform)(lambda w, x: of(lib, w, x), argnums)
        return mapped(lib, derivative, ins, outs, **options)(w, x)

    return program


def outside(of, w=W, x=X, ins=("", "d"), outs="", argnums=0, transform="grad", **options):
    """A program: the derivative of the sum of squares of ``of(lib, w, x)``, of all devices together."""

    def program(lib):
        def total(w, x):
            results = mapped(lib, lambda w, x: of(lib, w, x), ins, outs, **options)(w, x)
            return sum(lib.numpy.sum(y**2) for y in lib.tree.leaves(results))

        return getattr(lib, transform)(total, argnums)(w, x)

    return program


def layers(lib, w, x):
    return lib.lax.scan(lambda h, _: (lib.numpy.tanh(h @ SQUARE * w), None), x, None, length=3)[0].sum()


def stacked_layers(lib, w, x):
    h, ys = lib.lax.scan(lambda h, w: (lib.numpy.tanh(h @ w), h.sum()), x, w)
    return h.sum() + ys.sum()


def loop_with_sums(lib, w, x):
    step = lambda c, r: (c + lib.lax.psum(lib.numpy.sum(lib.numpy.sin(r * w)), "d"), None)  # noqa: E731
    return lib.lax.scan(step, lib.numpy.float32(0), x)[0]


def loop_with_means(lib, w, x):
    return lib.lax.scan(lambda h, _: (lib.numpy.tanh(h * w + lib.lax.pmean(h, "d")), None), x, None, length=3)[0]


def descent(lib, w, x):
    mean = lambda w: lib.lax.pmean(loss(lib, w, x), "d")  # noqa: E731
    return lib.lax.scan(lambda w, _: (w - 0.1 * lib.grad(mean)(w), None), w, None, length=3)[0]


def chosen(lib, w, x):
    sums = lambda w: lib.numpy.sum(x @ w), lambda w: lib.numpy.sum(w) * lib.numpy.sum(x)
    return lib.lax.cond(w[0] > 0, *sums, w)


def chosen_by_each(lib, w, x):
    """Devices go separate ways, so that neither way may sum over them."""
    branches = lambda w: lib.numpy.sum(x @ w), lambda w: lib.numpy.sum(w**2)
    return lib.lax.cond(lib.lax.axis_index("d") > 1, *branches, w)


def chosen_by_each_closed_over(lib, w, x):
    return lib.lax.cond(x[0, 0] > 0, lambda: lib.numpy.sum(w**2), lambda: lib.numpy.sum(w))


def on_one(lib, w, x):
    return lib.numpy.where(lib.lax.axis_index("d") == 0, lib.numpy.sum(w), lib.numpy.sum(x @ w))


def gathered(lib, w, x):
    return lib.numpy.sum(lib.numpy.sin(lib.lax.all_gather(x @ w, "d", tiled=True)) ** 2)


def permuted(lib, w, x):
    around = [(i, (i + 1) % 4) for i in range(4)]
    return lib.numpy.sum(lib.numpy.sin(lib.lax.ppermute(x * w, "d", around)) * x)


def normalized(lib, w, x):
    y = x @ w
    top = lib.lax.stop_gradient(lib.lax.pmax(lib.lax.stop_gradient(lib.numpy.max(y)), "d"))
    return lib.numpy.log(lib.lax.psum(lib.numpy.sum(lib.numpy.exp(y - top)), "d")) + top


def by_rule(lib, w, x):
    rule = lib.custom_jvp(lambda w, x: lib.numpy.sum(x @ w))
    rule.defjvp(lambda p, t: (lib.numpy.sum(p[1] @ p[0]), 2 * lib.numpy.sum(p[1] @ t[0])))
    return rule(w, x)


def by_backward_rule(lib, y):
    """A sum over devices whose rule hands each of them the cotangent."""
    total = lib.custom_vjp(lambda y: lib.lax.psum(y, "d"))
    total.defvjp(lambda y: (lib.lax.psum(y, "d"), None), lambda _, ct: (lib.lax.pcast(ct, "d", to="varying"),))
    return total(y)


def two_products(lib, w, x):
    """Layers that are cut by columns and by rows: one sum over devices, going forward."""
    first, second = w
    return lib.numpy.sum(lib.lax.psum(lib.numpy.tanh(x @ first) @ second, "d") ** 2)


def masked(lib, w, x):
    key = lib.random.fold_in(lib.random.key(0), lib.lax.axis_index("d"))
    return lib.numpy.sum(x @ w * lib.random.bernoulli(key, 0.5, (2,)))


def solved(lib, w, x):
    return lib.numpy.sum(lib.numpy.linalg.solve(w @ w.T + lib.numpy.eye(3), x.T))


def looked_up(lib, w, i):
    return lib.numpy.sum(lib.numpy.sin(w[i]))


def both_axes(lib, w, x):
    return lib.lax.psum(lib.numpy.sum(lib.numpy.sin(lib.lax.psum(x @ w, "b"))), "a")


def several(lib, w, x):
    return lib.lax.psum(x @ w, "d"), x @ w, w * 2


def squared_gradient(lib, w, x):
    return lib.numpy.sum(lib.grad(lambda w: loss(lib, w, x))(w) ** 2)


def of_tangent(lib, w, x):
    return lib.jvp(lambda w: loss(lib, w, x), (w,), (w,))[1]


_PARTS = {"w": W[:2], "x": X[:, :2], "sizes": (2, 2), "names": ("a", "b")}
_LAYERS = {"w": (COLUMNS, ROWS), "x": X, "ins": ((". d", "d"), "")}
_OWN = {"ins": ("", "d"), "outs": "d"}
AS_IN_JAX = {
    "a loss": inside(loss),
    "a jitted loss": inside(lambda lib, w, x: lib.jit(lambda w, x: loss(lib, w, x))(w, x)),
    "a sum of losses": inside(lambda lib, w, x: lib.lax.psum(loss(lib, w, x), "d")),
    "a mean of losses": inside(lambda lib, w, x: lib.lax.pmean(loss(lib, w, x), "d")),
    "its gradient's mean": lambda lib: mapped(
        lib, lambda w, x: lib.lax.pmean(lib.grad(lambda w: loss(lib, w, x))(w), "d"), ("", "d"), ""
    )(W, X),
    "its gradient's sum": lambda lib: mapped(
        lib, lambda w, x: lib.lax.psum(lib.grad(lambda w: loss(lib, w, x))(w), "d"), ("", "d"), ""
    )(W, X),
    "each device's own": lambda lib: mapped(
        lib,
        lambda w, x: lib.grad(lambda w: loss(lib, w, x))(lib.lax.pcast(w, "d", to="varying"))[None],
        **_OWN,
    )(W, X),
    "each device's own, unchecked": inside(lambda lib, w, x: loss(lib, w[0], x), W[None], outs="d", check_vma=False),
    "by the shards": inside(loss, argnums=1, outs="d"),
    "by both, of the mean": inside(
        lambda lib, w, x: lib.lax.pmean(loss(lib, w, x), "d"), argnums=(0, 1), outs=("", "d")
    ),
    "with values": inside(
        lambda lib, w, x: lib.lax.psum(loss(lib, w, x), "d"), transform="value_and_grad", outs=("", "")
    ),
    "a checkpoint": inside(lambda lib, w, x: lib.checkpoint(lambda w, x: loss(lib, w, x))(w, x)),
    "examples": inside(lambda lib, w, x: lib.vmap(lambda r: lib.numpy.sin(r @ w))(x).sum()),
    "each example": lambda lib: mapped(
        lib, lib.vmap(lib.grad(lambda w, r: lib.numpy.sin(r @ w)), (None, 0)), ("", "d"), ""
    )(W, X),
    "a Hessian": inside(loss, transform="hessian"),
    "a Jacobian of a gradient": inside(lambda lib, w, x: lib.grad(lambda w: loss(lib, w, x))(w), transform="jacrev"),
    "a gradient of a gradient": inside(squared_gradient),
    "a gradient of a tangent": inside(of_tangent),
    "a tangent": lambda lib: mapped(
        lib, lambda w, x: lib.jvp(lambda w: lib.numpy.sin(x @ w), (w,), (w,))[1], ("", "d"), "d"
    )(W, X),
    "a cotangent": lambda lib: mapped(lib, lambda w, x: lib.vjp(lambda w: x @ w, w)[1](x[:, 0])[0], ("", "d"), "")(
        W, X
    ),
    "a transpose": lambda lib: mapped(
        lib, lambda w, x: lib.linear_transpose(lambda w: x @ w, w)(lib.numpy.ones(2) * x[0, 0])[0], ("", "d"), ""
    )(W, X),
    "a loop": inside(layers),
    "a loop over weights": inside(stacked_layers, w=np.stack([SQUARE, SQUARE / 2, SQUARE / 3])),
    "a loop with sums": inside(loop_with_sums),
    "descent": lambda lib: mapped(lib, lambda w, x: descent(lib, w, x), ("", "d"), "")(W, X),
    "a choice": inside(chosen),
    "on one device": inside(on_one),
    "gathered": inside(gathered),
    "permuted": inside(permuted),
    "normalized": inside(normalized),
    "a rule": inside(by_rule),
    "a rule for cotangents": inside(lambda lib, w, x: by_backward_rule(lib, loss(lib, w, x))),
    "two products": inside(two_products, **_LAYERS, outs=(". d", "d")),
    "random numbers": inside(masked),
    "solved": inside(solved, w=SQUARE),
    "looked up": inside(looked_up, w=COLUMNS.T, x=np.arange(8) % 5),
    "what no shard touches": inside(lambda lib, w, x: lib.numpy.sum(w**2)),
    "a sum of what is the same": inside(lambda lib, w, x: lib.numpy.sum(lib.lax.psum(w, "d") ** 2)),
    "a constant on each": inside(lambda lib, w, x: lib.numpy.sum(w**2) + 0 * lib.numpy.sum(x)),
    "two axes": inside(loss, **_PARTS, ins=("b", "a b"), outs="b"),
    "two axes, sums": inside(both_axes, **_PARTS, ins=("b", "a b"), outs="b"),
    "some axes": lambda lib: lib.jit(
        mapped(lib, lib.grad(lambda w, x: loss(lib, w, x)), ("", "a"), "", (2, 2), ("a", "b"), axis_names={"a"})
    )(W, X),
    "of all, a mean": outside(lambda lib, w, x: lib.lax.pmean(lib.numpy.sin(x @ w), "d")),
    "of all, shards": outside(lambda lib, w, x: x @ w, outs="d"),
    "of all, several": outside(several, outs=("", "d", ""), argnums=(0, 1)),
    "of all, a loop with means": outside(loop_with_means, outs="d"),
    "of all, a loop with sums": outside(loop_with_sums),
    "of all, a Hessian": outside(lambda lib, w, x: lib.lax.psum(lib.numpy.sin(x @ w), "d"), transform="hessian"),
    "of all, a checkpoint": outside(
        lambda lib, w, x: lib.checkpoint(lambda w, x: lib.lax.pmean(lib.numpy.sin(x @ w), "d"))(w, x)
    ),
    "of all, a gradient inside": outside(lambda lib, w, x: lib.grad(lambda w: loss(lib, w, x))(w)),
    "of all, two products": outside(two_products, **_LAYERS),
}


#: Programs that also run without a jit around them, twice.
PLAIN = ("a loss", "its gradient's mean", "each device's own", "of all, several")


def derivatives(lib):
    """The derivatives by name, each as a list of arrays."""
    found = {}
    for name, program in AS_IN_JAX.items():
        results = [lib.jit(lambda p=program: p(lib))()]
        results += [program(lib) for _ in range(2 * (name in PLAIN))]
        found[name] = [np.asarray(x) for x in lib.tree.leaves(results)]
    return found


#: Where jax sums nothing, too much or refuses: what devices choose for themselves, and rules that leave sums out.
ALONE = {
    "each chooses": inside(chosen_by_each),
    "each chooses, closed over": inside(chosen_by_each_closed_over),
    "a rule without the sum": inside(lambda lib, w, x: _without_sum(lib)(w, x)),
    "what was gathered is the same": outside(lambda lib, w, x: lib.lax.all_gather(x @ w, "d", tiled=True)),
}


def _without_sum(lib):
    f = lib.custom_vjp(lambda w, x: lib.numpy.sum(x @ w))
    f.defvjp(lambda w, x: (lib.numpy.sum(x @ w), (w, x)), lambda r, ct: (ct * r[1].sum(0), ct + 0 * r[1]))
    return f


def derivatives_alone(lib):
    return {name: [np.asarray(program(lib)) for _ in range(2)] for name, program in ALONE.items()}


def derivatives_alone_by_numpy():
    x, w = X.astype(float), W.astype(float)
    shards = x.reshape(4, 2, 3)
    return {
        "each chooses": 2 * 2 * w + shards[2:].sum((0, 1)),
        "each chooses, closed over": sum(2 * w if shard[0, 0] > 0 else np.ones(3) for shard in shards),
        "a rule without the sum": x.sum(0),
        "what was gathered is the same": 2 * x.T @ (x @ w),
    }


def shadowed_axis(lib):
    """What a vmap inside gives or says whose axis has the name of the mesh's."""
    over_examples = lambda f: lambda w, x: lib.vmap(lambda r: f(w, r), axis_name="d")(x)  # noqa: E731
    programs = {
        "refused, a derivative": over_examples(lambda w, r: lib.grad(lambda w: lib.numpy.sum(r * w))(w)),
        "refused, a sum": over_examples(lambda w, r: lib.lax.psum(r, "d")),
        "by the index": over_examples(lambda w, r: r * lib.lax.axis_index("d")),
        "derivative outside": lambda w, x: lib.grad(lambda w: over_examples(lambda w, r: r @ w)(w, x).sum())(w) + 0 * x,
    }
    found = {}
    for name, program in programs.items():
        for checked in (True, False):
            try:
                found[name, checked] = np.asarray(mapped(lib, program, ("", "d"), "d", check_vma=checked)(W, X))
            except ValueError as error:
                found[name, checked] = str(error)
    return found


def axes_of_types(lib):
    """The mesh axes along which types say that values vary."""
    seen = {}

    def note(w, x):
        values = {"w": w, "x": x, "x @ w": x @ w, "sum": lib.lax.psum(x, "d"), "index": lib.lax.axis_index("d")}
        values["cast"] = lib.lax.pcast(w, "d", to="varying")
        values["examples"] = lib.vmap(lambda r: r + w)(x)
        values["loop"] = lib.lax.fori_loop(0, 2, lambda _, c: c + x.sum(), 0.0)
        values["jitted"] = lib.jit(lambda a: a * 2)(x)
        seen.update({name: sorted(lib.typeof(value).vma) for name, value in values.items()})
        return w

    for _ in range(2):
        mapped(lib, note, ("", "d"), "")(W, X)
    checked = dict(seen)
    mapped(lib, note, ("", "d"), "", check_vma=False)(W, X)
    return checked, seen
