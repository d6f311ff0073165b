"""Small cases at the edges of control flow, and the sizes of derivatives; run with xlascope and with jax."""

from collections import namedtuple

import numpy as np

X = np.arange(3, dtype=np.float32)
Pair = namedtuple("Pair", "first second")


def cases(lib):
    """Name -> function without arguments."""
    lax, jnp = lib.lax, lib.numpy
    strong, weak = jnp.float32(3), jnp.asarray(2.0)
    step = lambda c, x: (c + x, c * np.float16(2))  # noqa: E731
    found = {
        # which types a carry has, and whether they are weak
        "a weak float": lambda: lax.scan(step, 0.0, X),
        "a weak integer becomes a float": lambda: lax.scan(step, 0, X),
        "a weak integer becomes a float by a weak one": lambda: lax.scan(lambda c, x: (c + 1.0, c), 0, X),
        "a weak integer stays one": lambda: lax.scan(lambda c, x: (c + 1, c), 0, X),
        "a weak float becomes a half": lambda: lax.while_loop(lambda c: c < 3, lambda c: c + np.float16(0.5), 0.0),
        "a weak integer becomes a float in a while": lambda: lax.while_loop(lambda c: c < 3, lambda c: c + 0.5, 0),
        "weak parts": lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * strong), (0, 1.0)),
        "for with a weak float": lambda: lax.fori_loop(0, 3, lambda i, c: c * i, 1.0),
        "for with a weak integer": lambda: lax.fori_loop(0, 3, lambda i, c: c * i, 1),
        "for that makes a float": lambda: lax.fori_loop(0, 3, lambda i, c: c + 0.5, 0),
        "for over bytes": lambda: lax.fori_loop(np.int8(0), np.int8(3), lambda i, c: (i, c[1] + 1), (np.int32(7), 0)),
        "for with one bound of bytes": lambda: lib.jit(lambda n: lax.fori_loop(0, n, lambda i, c: i, np.int8(0)))(
            np.int8(3)
        ),
        "for without steps": lambda: lax.fori_loop(3, 0, lambda i, c: c + 1, 0),
        "for with an array as bound": lambda: lib.grad(lambda x: lax.fori_loop(0, jnp.int32(3), lambda i, c: c * x, x))(
            2.0
        ),
        # predicates and indices
        "a number as predicate": lambda: (lax.cond(0.5, lambda: 1, lambda: 2), lax.cond(jnp.uint8(0), int, lambda: 2)),
        "operand=": lambda: lax.cond(True, lambda x: x, lambda x: x + 1, operand=1.0 * strong),
        "operand=None": lambda: (
            lax.cond(True, lambda x: 1, lambda x: 2, operand=None),
            lax.switch(np.int64(1), [lambda x: 1, lambda x: 2], operand=None),
        ),
        "two operands": lambda: lax.cond(True, strong, lambda x: x, strong, lambda x: x + 1),
        "indices beyond": lambda: [
            lax.switch(i, [lambda: 1, lambda: 2, lambda: 3])
            for i in (-3, 7, np.uint8(200), np.uint32(2**32 - 1), np.int64(2**40), np.int8(-128))
        ],
        "one branch": lambda: lax.switch(5, [lambda: strong]),
        "nothing": lambda: (
            lax.cond(True, lambda: None, lambda: None),
            lax.while_loop(lambda c: False, lambda c: c, ()),
        ),
        # lengths and pairs
        "a list as pair": lambda: lax.scan(lambda c, x: [c + x, c], 0.0, X),
        "a named tuple as pair": lambda: lax.scan(lambda c, x: Pair(c + x, c), 0.0, X),  # jax until 0.11
        "a float as length": lambda: lax.scan(lambda c, x: (c + 1, c), strong, None, length=3.0),
        "unroll=0": lambda: lax.scan(lambda c, x: (c + 1, c), strong, None, length=3, unroll=0),
        "unroll, no steps": lambda: lax.scan(lambda c, x: (c + 1, c), strong, None, length=0, unroll=True),
        "unroll, too much": lambda: lax.scan(lambda c, x: (c + 1, c), strong, None, length=3, unroll=7),
        "no leaves at all": lambda: lax.scan(lambda c, x: (c, x), None, None, length=3),
        "map of no slices": lambda: lax.map(lambda x: (x, x > 1), jnp.asarray(X[:0])),
        "truth values": lambda: lax.scan(lambda c, x: (c ^ (x > 0), c), False, X),
    }
    for name, pair in {"strong and weak": (strong, weak), "weak and strong": (weak, strong)}.items():
        for index in (0, 1):
            found[f"switch of {name}, {index}"] = lambda i=index, p=pair: lax.switch(i, [lambda: p[0], lambda: p[1]])
            found[f"cond of {name}, {index}"] = lambda i=index, p=pair: lax.cond(
                i > 0, lambda x: p[0], lambda x: p[1], 1
            )
    return {**found, **_without_jit(lib, lax, jnp)}


def _without_jit(lib, lax, jnp):
    """With disable_jit: Python's control flow, and ours where only the examples of a batch know the way."""
    cases = {
        "scan": lambda: lax.scan(lambda c, x: (c + x, {"y": c, "none": None}), jnp.float32(0), X, reverse=True),
        "scan on a tree": lambda: lax.scan(lambda c, t: (c + t["x"][1], t["x"][0]), jnp.float32(0), {"x": (X, X)}),
        "for": lambda: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, jnp.float32(1)),
        "for without steps": lambda: lax.fori_loop(2, 0, lambda i, c: c * 2 + i, jnp.float32(1)),
        "gradient of a while": lambda: lib.grad(lambda x: lax.while_loop(lambda c: c < 5, lambda c: c * 2, x))(1.0),
        "gradient of a scan": lambda: lib.grad(lambda x: lax.scan(lambda c, y: (c * y, c), x, X + 1)[0])(1.0),
        "branches that differ": lambda: lax.cond(True, lambda: jnp.float32(1), lambda: [2.0]),
        "batch of whiles": lambda: lib.vmap(lambda x: lax.while_loop(lambda c: c < 5, lambda c: c + 1, x))(X),
        "batch of conds": lambda: lib.vmap(lambda x: lax.cond(x < 1, lambda c: c + 1, lambda c: c, x))(X),
        "batch of switches": lambda: lib.vmap(lambda x: lax.switch(x.astype(int), [lambda c: c + 1, jnp.sin], x))(X),
        "batch of fors": lambda: lib.vmap(lambda n: lax.fori_loop(0, n.astype(int), lambda i, c: c + i, 1.0 * n))(X),
        "batch of scans": lambda: lib.vmap(lambda x: lax.scan(lambda c, y: (c * y, c), x, X)[0])(X),
        "map": lambda: lax.map(lambda x: x * 2, X),
    }

    def disabled(case):
        def run():
            with lib.disable_jit():
                return case()

        return run

    return {f"disable_jit, {name}": disabled(case) for name, case in cases.items()}


def results(lib):
    """The leaves of each case: values, dtypes, and whether they are weak (gradients apart)."""
    found = {}
    for name, case in cases(lib).items():
        try:
            tree = case()
        except TypeError as error:
            if "must be a pair" not in str(error):
                raise
            continue
        leaves = [lib.numpy.asarray(x) for x in lib.tree_util.tree_leaves(tree)]
        weak = None if "gradient" in name or "array as bound" in name else [x.aval.weak_type for x in leaves]
        found[name] = ([np.asarray(x) for x in leaves], weak)
    return found


def crossings(lib):
    """Loops and branches that cross a named axis: name -> result."""
    lax, jnp = lib.lax, lib.numpy
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)

    def mapped(f):
        return lib.vmap(f, axis_name="i")

    def total(x):
        return lax.psum(x, "i")

    def scanned(x):
        return lax.scan(lambda c, y: (total(c * y), c), 1.0, x)[0]

    def two(a):
        inner = lambda b: lax.scan(lambda c, y: (c + total(b * a * y), lax.psum(y * a, ("i", "j"))), 0.0, X)  # noqa: E731
        return lib.vmap(inner, axis_name="j")(X)

    found = {
        "scan": lambda x: lax.scan(lambda c, y: (total(c) * y, total(y)), 1.0, x),
        "scan of what is shared": lambda x: lax.scan(lambda c, y: (c + total(y), lax.axis_index("i")), 1.0, X),
        "scan by a constant": lambda x: lax.scan(lambda c, y: (total(c * x[0]), c), 1.0, X),
        "while that decides together": lambda x: lax.while_loop(lambda c: total(c) < 20.0, lambda c: c * 2 + 1, x[0]),
        "while that decides apart": lambda x: lax.while_loop(lambda c: c < 20, lambda c: c * 2 + total(x[1]), x[0]),
        "cond together": lambda x: lax.cond(total(x[0]) > 0, total, lambda x: x, x),
        "cond apart": lambda x: lax.cond(x[0] > 0, total, lambda x: x, x),
        "cond of nothing mapped": lambda x: lax.cond(True, lambda: total(1.0) + lax.axis_index("i"), lambda: 2.0),
        "cond apart of nothing mapped": lambda x: lax.cond(x[0] > 0, lambda: lax.axis_index("i"), lambda: 7),
        "for": lambda x: lax.fori_loop(0, 3, lambda i, c: c + lax.pmean(c, "i"), x),
        "map": lambda x: lax.map(lambda y: y - lax.pmean(y, "i"), x),
        "gradient": lib.grad(scanned),
    }
    results = {name: mapped(f)(rows) for name, f in found.items()}
    results["gradient outside"] = lib.grad(lambda x: jnp.sum(mapped(scanned)(x)))(rows)
    results["jit"] = lib.jit(mapped(scanned))(rows)
    results["a batch outside"] = lib.vmap(lambda z: mapped(lambda x: scanned(x * z))(rows))(X)
    results["two axes"] = lib.vmap(two, axis_name="i")(X[:2])
    return {name: [np.asarray(x) for x in lib.tree_util.tree_leaves(value)] for name, value in results.items()}


# What derivatives consist of ------------------------------------------------------------------------------------------

V, W = np.arange(4, dtype=np.float32) + 1, np.eye(3, dtype=np.float32)


def losses(lib):
    """Name -> (scalar function, operands)."""
    lax, jnp = lib.lax, lib.numpy
    one = np.float32(1)
    rows = np.ones((5, 3), np.float32)
    return {
        "the ys of a network": (
            lambda w, c, x: jnp.sum(lax.scan(lambda h, x: (jnp.tanh(w @ h + x), jnp.sum(h)), c, x)[1]),
            (W, V[:3], rows),
        ),
        "the carry of a network": (
            lambda w, c, x: jnp.sum(lax.scan(lambda h, x: (jnp.tanh(w @ h + x), jnp.sum(jnp.exp(h) * h)), c, x)[0]),
            (W, V[:3], rows),
        ),
        "products": (lambda c, x: lax.scan(lambda c, x: (c * x, c), c, x)[0], (one, V)),
        "sums": (lambda c, x: lax.scan(lambda c, x: (c + x, jnp.exp(c)), c, x)[0], (one, V)),
        "a mask": (lambda c, x: lax.scan(lambda c, x: (jnp.where(x > 2, jnp.sin(c), c), None), c, x)[0], (one, V)),
        "an invariant": (lambda w, c, x: lax.scan(lambda c, x: (c * jnp.sin(w) * x, None), c, x)[0], (one, one, V)),
        "a counted loop": (lambda x: jnp.sum(lax.fori_loop(0, 4, lambda i, c: jnp.sin(c) * x, x)), (V,)),
        "a choice": (
            lambda x: lax.cond(x[0] > 0, lambda x: jnp.sum(jnp.sin(x) * x), lambda x: jnp.sum(x), x), (V,),
        ),
        "a loop in a loop": (
            lambda c, x: lax.scan(lambda c, x: (lax.scan(lambda d, y: (jnp.sin(d) * y, None), c, x)[0], None), c, x)[0],
            (one, rows),
        ),
    }  # fmt: skip


def _programs(equation):
    for value in equation.params.values():
        for held in value if isinstance(value, (tuple, list)) else [value]:
            inner = getattr(held, "jaxpr", held)
            if hasattr(inner, "eqns"):
                yield inner


def _sizes(jaxpr):
    """The number of equations, and for each scan of its operands and of the numbers that it gives."""
    count, scans = 0, []
    for equation in jaxpr.eqns:
        count += 1
        if equation.primitive.name == "scan":
            scans.append((len(equation.invars), sum(int(np.prod(v.aval.shape)) for v in equation.outvars)))
        for inner in _programs(equation):
            more, found = _sizes(inner)
            count += more
            scans += found
    return count, scans


def sizes(lib):
    """(loss, argument) -> the sizes of its gradient's program."""
    return {
        (name, k): _sizes(lib.make_jaxpr(lib.grad(f, k))(*operands).jaxpr)
        for name, (f, operands) in losses(lib).items()
        for k in range(len(operands))
    }


def everything(lib):
    """Values at the edges, crossings of named axes, sizes of derivatives."""
    return {"results": results(lib), "crossings": crossings(lib), "sizes": sizes(lib)}
