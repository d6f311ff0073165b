"""Programs with control flow, each under every transformation; run with xlascope and with jax, imports neither."""

import itertools

import numpy as np
from jaxlib.mlir.dialects import stablehlo

#: Programs that are compared in all ways also when there is little time.
QUICK = {
    "cond on a tree",
    "cond that closes over",
    "switch",
    "while on a tree",
    "while that closes over",
    "for with a traced end",
    "scan on trees",
    "scan that closes over",
    "scan with an invariant",
    "scan with a counter",
    "scan of a cond",
    "scan of a scan",
    "map in batches with a rest",
    "affine maps",
}


def real(*shape, seed=0):
    """Numbers between 0.2 and 1.2, so that products and powers stay tame."""
    drawn = np.random.default_rng([seed, *shape]).uniform(0.2, 1.2, shape)
    return np.asarray(drawn, np.float32)[()]


V, W, M = real(4), real(4, seed=1), real(3, 4)
SQUARE = real(3, 3) * np.float32(0.5)
LARGE = np.linspace(0.5, 1.5, 4000, dtype=np.float32)
PAIRS = np.arange(10, dtype=np.float32).reshape(5, 2) * np.float32(0.1)

#: Programs that cannot be differentiated in reverse: how many steps they take is not known.
FORWARD = {"while", "while on a tree", "while that closes over", "for with a traced end", "loop in a branch in a loop"}
#: Programs that are compared in fewer ways, for they take long to compile.
BRIEF = {
    "cond, not taken",
    "switch outside",
    "for without steps",
    "large constant",
    "scan, reverse",
    "scan, unroll=2, reverse=False",
    "scan, unroll=3, reverse=True",
    "scan, unroll=True, reverse=False",
    "scan of a scan of a scan",
    "loop in a branch in a loop",
    "affine maps, reverse",
    "map in one batch",
    "prefixes of 1",
    "prefixes of 2",
    "prefixes of 3",
}


def programs(lib):
    """Name -> (function, operands)."""
    jnp, lax = lib.numpy, lib.lax
    return {**_choices(lib, jnp, lax), **_whiles(jnp, lax), **_scans(jnp, lax), **_nested(jnp, lax), **_more(jnp, lax)}


def _choices(lib, jnp, lax):
    shared = lib.jit(lambda x: jnp.sin(x) * x)
    return {
        "cond": (lambda p, x: lax.cond(p > 0.5, lambda x: x * 3.0, jnp.sin, x), (np.float32(0.7), V)),
        "cond, not taken": (lambda p, x: lax.cond(p > 0.5, lambda x: x * 3.0, jnp.sin, x), (np.float32(0.3), V)),
        "cond on a tree": (
            lambda p, x, y: lax.cond(
                p > 0.5,
                lambda t: {"a": t["x"] * t["y"], "n": 3, "b": (t["x"][:2],)},
                lambda t: {"a": jnp.cos(t["y"]), "n": 4, "b": (t["y"][:2] * 2.0,)},
                {"x": x, "y": y},
            ),
            (np.float32(0.7), V, W),
        ),
        "cond of one that does not move": (
            lambda p, x: lax.cond(p > 0.5, lambda x: (x * x, 1.0), lambda x: (jnp.ones(4, "float32"), x[0]), x),
            (np.float32(0.7), V),
        ),
        "cond that closes over": (
            lambda p, x, y: lax.cond(p > 0.5, lambda z: z * x + y, lambda z: jnp.exp(z) * y, x * 2.0),
            (np.float32(0.7), V, W),
        ),
        "cond of one function": (lambda p, x: lax.cond(p > 0.5, shared, shared, x), (np.float32(0.7), V)),
        "cond without operands": (lambda p, x: lax.cond(p > 0.5, lambda: x * x, lambda: x), (np.float32(0.7), V)),
        "cond in a cond": (
            lambda p, x: lax.cond(
                p > 0.5, lambda x: lax.cond(p > 0.6, lambda x: x * p, jnp.tanh, x * x), lambda x: -x, x
            ),
            (np.float32(0.7), V),
        ),
        "switch": (
            lambda i, x: lax.switch(i, [jnp.sin, lambda x: x * x * x, lambda x: jnp.ones_like(x)], x),
            (np.int32(1), V),
        ),
        "switch outside": (
            lambda i, x: lax.switch(i, [jnp.sin, lambda x: x * x * x, lambda x: x * 0.5], x),
            (np.int32(7), V),
        ),
        "switch of integers": (
            lambda i, x: lax.switch(i, [lambda n: n + 1, lambda n: n * 2], i) * x,
            (np.int32(1), V),
        ),
    }


def _whiles(jnp, lax):
    return {
        "while": (lambda x: lax.while_loop(lambda c: jnp.sum(c) < 50.0, lambda c: c * 1.5 + 0.1, x), (V,)),
        "while on a tree": (
            lambda x, n: lax.while_loop(
                lambda c: c["i"] < n, lambda c: {"i": c["i"] + 1, "x": (jnp.sin(c["x"][0]) * 2.0,)}, {"i": 0, "x": (x,)}
            ),
            (V, np.int32(3)),
        ),
        "while that closes over": (
            lambda x, y, limit: lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 0.3, c[1] * y), (0.0, x)),
            (V, W, np.float32(1.0)),
        ),
        "for": (lambda x: lax.fori_loop(0, 4, lambda i, c: c * x + i, x), (V,)),
        "for from elsewhere": (
            lambda x: lax.fori_loop(2, 5, lambda i, c: c * lax.dynamic_index_in_dim(x, i % 4) + i, x),
            (V,),
        ),
        "for without steps": (lambda x: lax.fori_loop(3, 1, lambda i, c: c * 2.0, x), (V,)),
        "for, unrolled": (lambda x: lax.fori_loop(0, 5, lambda i, c: c * x, x, unroll=2), (V,)),
        "for with a traced end": (
            lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x + i, x * x),
            (V, np.int32(3)),
        ),
    }


def _scans(jnp, lax):
    def step(c, x):
        return jnp.sin(c) * x, c * x

    def cell(w):
        return lambda h, x: (jnp.tanh(w @ h + x), jnp.sum(h * h))

    found = {
        "scan": (lambda c, x: lax.scan(step, c, x), (np.float32(0.5), V)),
        "scan, one result": (lambda c, x: lax.scan(step, c, x)[0], (np.float32(0.5), V)),
        "scan, the other result": (lambda c, x: lax.scan(step, c, x)[1], (np.float32(0.5), V)),
        "scan of a weak carry": (lambda x: lax.scan(lambda c, y: (c + y * y, c * y), 0, x), (V,)),
        "scan of rows": (lambda c, x: lax.scan(lambda c, y: (c * y, jnp.sum(c) + y[:2]), c, x), (V, M)),
        "scan on trees": (
            lambda c, x, y: lax.scan(
                lambda c, t: (
                    {"a": c["a"] * t[0], "n": c["n"] + 1, "b": [c["b"][0] + c["n"]]},
                    (c["a"] * c["n"], {"t": t[1], "flag": c["b"][0] > 1.0}),
                ),
                {"a": c, "n": 1, "b": [c * c]},
                (x, y),
            ),
            (np.float32(0.5), V, W),
        ),
        "scan without xs": (
            lambda c: lax.scan(lambda c, x: (jnp.cos(c) * c, c), c, None, length=3),
            (V,),
        ),
        "scan without a carry": (lambda x: lax.scan(lambda c, x: (c, x * jnp.sin(x)), None, x), (V,)),
        "scan without ys": (lambda c, x: lax.scan(lambda c, x: (c * x + c, None), c, x), (np.float32(0.5), V)),
        "scan of no steps": (lambda c, x: lax.scan(step, c, x[:0]), (np.float32(0.5), V)),
        "scan of one step": (lambda c, x: lax.scan(step, c, x[:1]), (np.float32(0.5), V)),
        "scan that carries unchanged": (lambda c, x: lax.scan(lambda c, x: (c, c * x), c, x), (np.float32(0.5), V)),
        "scan that swaps": (
            lambda c, d, x: lax.scan(lambda c, x: ((c[1] * x, c[0]), c[1]), (c, d), x),
            (np.float32(0.5), np.float32(2.0), V),
        ),
        "scan that closes over": (lambda w, c, x: lax.scan(cell(w), c, x), (SQUARE, real(3), M.T)),
        "scan with an invariant": (
            lambda w, c, x: lax.scan(lambda c, x: (jnp.sin(w) * c * x, jnp.exp(w) * x), c, x),
            (np.float32(0.4), np.float32(0.5), V),
        ),
        "scan with a counter": (
            lambda c, x: lax.scan(lambda c, x: ((c[0] + 1, c[1] * x * (c[0] + 1)), c[0]), (0, c), x),
            (np.float32(0.5), V),
        ),
        "scan with a mask": (
            lambda c, x: lax.scan(lambda c, x: (jnp.where(x > 0.6, c * x, c), x > 0.6), c, x),
            (np.float32(0.5), V),
        ),
        "scan with an index": (
            lambda c, x: lax.scan(
                lambda c, i: (c * lax.dynamic_index_in_dim(x, i, keepdims=False), i * 2.0), c, np.array([3, 1, 1, 0])
            ),
            (np.float32(0.5), V),
        ),
        "scan of a literal": (lambda x: lax.scan(lambda c, x: (1.0, x), 2.0, x), (V,)),
        "scan of its operand": (lambda c, x: lax.scan(lambda c, y: (y, (y, y)), c, x), (np.float32(0.5), V)),
        "large constant": (
            lambda c, x: lax.scan(lambda c, x: (c + jnp.sum(LARGE * x), c), c, x),
            (np.float32(0.5), V),
        ),
        "cumulative": (
            lambda x: lax.associative_scan(lambda a, b: a * b, lax.associative_scan(jnp.add, x, reverse=True)),
            (real(5),),
        ),
    }
    for unroll, reverse in itertools.product((2, 3, True), (False, True)):
        found[f"scan, unroll={unroll}, reverse={reverse}"] = (
            lambda c, x, u=unroll, r=reverse: lax.scan(step, c, x, reverse=r, unroll=u),
            (np.float32(0.5), real(5)),
        )
    found["scan, reverse"] = (lambda c, x: lax.scan(step, c, x, reverse=True), (np.float32(0.5), V))
    return found


def _nested(jnp, lax):
    def inner(c, x):
        return lax.scan(lambda d, y: (jnp.sin(d) * y + c, d * c), c, x)

    def loop(x):
        def step(c):
            grown = lax.cond(c[1] > 1.0, lambda x: lax.scan(lambda d, y: (d * y, d), x, V)[0], lambda x: x * 1.7, c[1])
            return c[0] + 1, grown

        return lax.while_loop(lambda c: c[0] < 4, step, (0, x))

    return {
        "scan of a scan": (lambda c, x: lax.scan(lambda c, row: inner(c, row), c, x), (np.float32(0.5), M)),
        "scan of a scan of a scan": (
            lambda c, x: lax.scan(lambda c, y: (lax.scan(inner, c * y, x)[0], y), c, x[0]),
            (np.float32(0.5), M),
        ),
        "scan of a cond": (
            lambda c, x: lax.scan(lambda c, y: (lax.cond(y > 0.6, lambda c: c * y, jnp.sin, c), c), c, x),
            (np.float32(0.5), V),
        ),
        "cond of a scan": (
            lambda p, c, x: lax.cond(
                p > 0.5, lambda c: lax.scan(lambda c, y: (c * y, c), c, x), lambda c: (jnp.sin(c), x), c
            ),
            (np.float32(0.7), np.float32(0.5), V),
        ),
        "scan of a for": (
            lambda c, x: lax.scan(lambda c, y: (lax.fori_loop(0, 3, lambda i, d: d * y + c, c), c), c, x),
            (np.float32(0.5), V),
        ),
        "loop in a branch in a loop": (loop, (np.float32(0.5),)),
        "scan of a switch by a counter": (
            lambda c, x: lax.scan(
                lambda c, y: ((c[0] + 1, lax.switch(c[0] % 3, [jnp.sin, jnp.cos, lambda d: d * y], c[1])), c[0]),
                (0, c),
                x,
            ),
            (np.float32(0.5), V),
        ),
    }


def _more(jnp, lax):
    def affine(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]

    def product(a, b):
        return jnp.einsum("...ij,...jk->...ik", a, b)

    found = {
        "map": (lambda x: lax.map(lambda t: (t * t, jnp.sum(t)), x), (M,)),
        "map of a tree": (lambda x, y: lax.map(lambda t: t["x"] * t["y"], {"x": x, "y": y}), (V, W)),
        "map in batches": (lambda x: lax.map(lambda t: jnp.sin(t) * t[0], x, batch_size=2), (PAIRS[:4],)),
        "map in batches with a rest": (lambda x: lax.map(lambda t: {"y": t[0] * t[1]}, x, batch_size=2), (PAIRS,)),
        "map in one batch": (lambda x: lax.map(lambda t: t * t[0], x, batch_size=5), (PAIRS,)),
        "affine maps": (lambda a, b: lax.associative_scan(affine, (a, b)), (V, W)),
        "affine maps, reverse": (lambda a, b: lax.associative_scan(affine, (a, b), reverse=True), (real(7), real(7))),
        "products of matrices": (lambda a: lax.associative_scan(product, a), (real(3, 2, 2),)),
        "prefixes along the last axis": (lambda a: lax.associative_scan(jnp.multiply, a, axis=-1), (M,)),
    }
    for size in (1, 2, 3, 6):
        found[f"prefixes of {size}"] = (lambda a: lax.associative_scan(product, a), (real(size, 2, 2) * 0.9,))
    return found


# Transformations -----------------------------------------------------------------------------------------------------


def floating(x):
    return x.dtype.kind == "f"


def scalar(lib, f):
    """A smooth function of all floating-point results of ``f``."""

    def loss(*operands):
        leaves = lib.tree_util.tree_leaves(f(*operands))
        floats = [y for y in leaves if getattr(y, "dtype", np.dtype(type(y))).kind == "f"]
        return sum(lib.numpy.sum(lib.numpy.sin(y * (1.0 + 0.3 * k))) for k, y in enumerate(floats)) + 0.0

    return loss


def moving_only(f, operands):
    """``f`` as a function of its floating-point operands, and these."""
    moves = [floating(x) for x in operands]

    def moved(*given):
        rest = iter(given)
        return f(*(next(rest) if m else x for m, x in zip(moves, operands, strict=True)))

    return moved, tuple(x for x, m in zip(operands, moves, strict=True) if m)


def direction(x, seed=3):
    return real(*np.shape(x), seed=seed)


def batches(operands):
    """Ways to map over operands: every subset along the first axis, and all at once along the last."""
    count = len(operands)
    for marks in itertools.product((False, True), repeat=count):
        if any(marks):
            yield tuple(0 if m else None for m in marks)
    if any(np.ndim(x) for x in operands):
        yield tuple(np.ndim(x) if floating(x) else None for x in operands)


def stacked(x, axis):
    """Three examples: the value itself, one on the other side of the thresholds, and one far away."""
    x = np.asarray(x)
    others = [x, x * np.float32(0.6), x * np.float32(1.8)] if x.dtype.kind == "f" else [x, x + 1, x * 0]
    return np.stack(others, axis).astype(x.dtype)


def forward(lib, f, operands, brief):
    """What works for every program: values, forward derivatives, batches."""
    g, moving = moving_only(f, operands)
    tangents = tuple(direction(x) for x in moving)
    loss = scalar(lib, g)
    yield "value", f(*operands)
    yield "jvp", lib.jvp(g, moving, tangents)
    yield "jacfwd", lib.jacfwd(loss, 0)(*moving)
    if brief:
        return
    yield "jvp of one operand", lib.jvp(lambda x: g(x, *moving[1:]), moving[:1], tangents[:1])
    yield "linearize", (lambda y, push: (y, push(*tangents)))(*lib.linearize(g, *moving))
    yield "jvp of jvp", lib.jvp(lambda *xs: lib.jvp(loss, xs, tangents)[1], moving, tangents)
    for axes in batches(operands):
        batch = [x if a is None else stacked(x, a) for x, a in zip(operands, axes, strict=True)]
        yield f"vmap {axes}", lib.vmap(f, in_axes=axes)(*batch)
    first = [stacked(x, 0) for x in moving]
    yield "vmap of jvp", lib.vmap(lambda *xs: moving_leaves(lib, lib.jvp(g, xs, tangents)))(*first)
    yield "jvp of vmap", lib.jvp(lib.vmap(g), tuple(first), tuple(stacked(t, 0) for t in tangents))
    yield "vmap of vmap", lib.vmap(lib.vmap(f), in_axes=1)(*(stacked(stacked(x, 0), 1) for x in operands))


def reverse(lib, f, operands, brief):
    """What works for programs of known length: reverse derivatives and their mixtures."""
    g, moving = moving_only(f, operands)
    every = tuple(range(len(moving)))
    loss = scalar(lib, g)
    first = [stacked(x, 0) for x in moving]
    yield "grad", lib.grad(loss, every)(*moving)
    if brief:
        return
    yield "grad of the last", lib.grad(loss, len(every) - 1)(*moving)
    yield "hessian", lib.hessian(loss, every)(*moving)
    yield "jacrev of jacrev", lib.jacrev(lib.jacrev(loss))(*moving)
    yield "jacfwd of jacrev", lib.jacfwd(lib.jacrev(loss))(*moving)
    yield "jvp of grad", lib.jvp(lib.grad(loss), moving, tuple(direction(x) for x in moving))
    yield "vmap of grad", lib.vmap(lib.grad(loss, every))(*first)
    yield "grad of vmap", lib.grad(lambda *xs: lib.numpy.sum(lib.vmap(loss)(*xs) ** 2), every)(*first)
    yield "grad of jit", lib.grad(lib.jit(loss), every)(*moving)
    yield "grad of grad of one", lib.grad(lambda x: lib.numpy.sum(lib.grad(loss)(x, *moving[1:]) ** 2))(moving[0])


def moving_leaves(lib, value):
    """The leaves that are no tangents of integers (float0)."""
    return [x for x in lib.tree_util.tree_leaves(value) if np.dtype(getattr(x, "dtype", type(x))).kind != "V"]


def everything(lib, interpret, *, quick=False):
    """(program, transformation) -> leaves. ``interpret`` runs a function without arguments.

    With ``quick``, all transformations for a few programs, and the first of them for the others.
    """
    found = {}
    for name, (f, operands) in programs(lib).items():
        labels = []
        operands = lib.tree_util.tree_map(lib.numpy.asarray, operands)

        def whole(name=name, f=f, operands=operands, labels=labels):
            brief = name in BRIEF or (quick and name not in QUICK)
            # the operands are constants of the program, so that what does not move stays known
            rows = list(forward(lib, f, operands, brief))
            if name not in FORWARD:
                rows += list(reverse(lib, f, operands, brief))
            rows = [(label, moving_leaves(lib, value)) for label, value in rows]
            labels[:] = [(name, label, i) for label, leaves in rows for i in range(len(leaves))]
            return [x for _, leaves in rows for x in leaves]

        values = interpret(whole)
        found.update(zip(labels, map(np.asarray, values), strict=True))
    return found


def quick_by_jax(lib):
    """What jax gives for ``everything(lib, interpret, quick=True)``."""
    return everything_by_jax(lib, quick=True)


def everything_by_jax(lib, *, quick=False):
    """What jax's programs give, in StableHLO's reference interpreter: XLA would compile for minutes."""

    def interpret(whole):
        module = lib.jit(whole).lower().compiler_ir("stablehlo")
        with module.context:
            return stablehlo.eval_module(module, [])

    return everything(lib, interpret, quick=quick)
