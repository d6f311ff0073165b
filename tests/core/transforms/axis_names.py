"""Collectives inside of vmap, one by one and under every transformation; run with xlascope and with jax."""

import numpy as np

#: Three examples of shape (3, 6, 3).
X = np.random.default_rng(5).normal(size=(3, 3, 6, 3)).astype("float32")
RING = [(0, 1), (1, 2), (2, 0)]

LINEAR = {
    "psum": lambda lax, a: lax.psum(a, "i"),
    "psum, positions": lambda lax, a: lax.psum(a, ("i", 0, 2)),
    "psum, a position": lambda lax, a: lax.psum(a, 1),
    "psum, no axes": lambda lax, a: lax.psum(a, ()),
    "pmean": lambda lax, a: lax.pmean(a, "i"),
    "all_gather": lambda lax, a: lax.all_gather(a, "i"),
    "all_gather 1": lambda lax, a: lax.all_gather(a, "i", axis=1),
    "all_gather -1": lambda lax, a: lax.all_gather(a, "i", axis=-1),
    "all_gather tiled": lambda lax, a: lax.all_gather(a, "i", tiled=True),
    "all_gather tiled -1": lambda lax, a: lax.all_gather(a, "i", axis=-1, tiled=True),
    "psum_scatter": lambda lax, a: lax.psum_scatter(a, "i"),
    "psum_scatter 2": lambda lax, a: lax.psum_scatter(a, "i", scatter_dimension=2),
    "psum_scatter tiled": lambda lax, a: lax.psum_scatter(a, "i", scatter_dimension=1, tiled=True),
    "all_to_all 0 0": lambda lax, a: lax.all_to_all(a, "i", 0, 0),
    "all_to_all 0 1": lambda lax, a: lax.all_to_all(a, "i", 0, 1),
    "all_to_all 0 2": lambda lax, a: lax.all_to_all(a, "i", 0, 2),
    "all_to_all 2 0": lambda lax, a: lax.all_to_all(a, "i", 2, 0),
    "all_to_all tiled 1 0": lambda lax, a: lax.all_to_all(a, "i", 1, 0, tiled=True),
    "all_to_all tiled 1 1": lambda lax, a: lax.all_to_all(a, "i", 1, 1, tiled=True),
    "all_to_all tiled 0 2": lambda lax, a: lax.all_to_all(a, "i", 0, 2, tiled=True),
    "ppermute": lambda lax, a: lax.ppermute(a, "i", RING),
    "pshuffle": lambda lax, a: lax.pshuffle(a, "i", [1, 0, 2]),
    "pswapaxes": lambda lax, a: lax.pswapaxes(a, "i", 2),
}
OTHERS = {
    "pmax": lambda lax, a: lax.pmax(a, "i"),
    "pmin": lambda lax, a: lax.pmin(a, ("i", 1)),
    "axis_index": lambda lax, a: a * lax.axis_index("i"),
    "axis_size": lambda lax, a: a * lax.axis_size("i"),
    "axis_size of none": lambda lax, a: a * lax.axis_size(()),
    "psum of numbers": lambda lax, a: a * lax.psum(1, "i") + lax.psum(2.5, "i"),
    "psum of a tree": lambda lax, a: lax.psum({"a": a, "b": (a * a, 2), "none": None}, "i"),
    "psum of truth": lambda lax, a: lax.psum(a > 0, "i"),
    "pmean of integers": lambda lax, a: lax.pmean(lax.axis_index("i"), "i") * a,
    "nonlinear": lambda lax, a: a / (1.0 + lax.psum(a * a, "i")),
    "of a constant": lambda lax, a: a + lax.psum(X[0], "i") - lax.pmax(X[1], "i"),
    "gather of a constant": lambda lax, a: lax.all_gather(X[0], "i", tiled=True),
    "scatter of a constant": lambda lax, a: a + lax.psum_scatter(X[0], "i"),
    "permutation of a constant": lambda lax, a: a + lax.ppermute(X[0], "i", RING),
}
SMOOTH = LINEAR | {name: OTHERS[name] for name in ("axis_index", "axis_size", "psum of numbers", "nonlinear")}


def seed(lib, y):
    """Cotangents for one example: different for each element and each example."""
    return lib.tree.map(lambda z: lib.numpy.cos(z) * (1.0 + lib.lax.axis_index("i")), y)


def weights(lib, y):
    return lib.tree.map(lambda z: lib.numpy.sin(lib.numpy.arange(z.size, dtype="float32")).reshape(z.shape), y)


def named(lib, f, **options):
    return lib.vmap(f, axis_name="i", **options)


def pulled(lib, f):
    """An example's cotangent."""
    return lambda a: (lambda y, back: back(seed(lib, y)))(*lib.vjp(f, a))


def pulled_whole(lib, f):
    """The cotangent of all examples together."""
    return (lambda y, back: back(weights(lib, y)))(*lib.vjp(f, X))


def total(lib, f):
    return lambda a: lib.numpy.sum(f(a) ** 2)


def twice(lib, f):
    """The name bound twice, and both used."""
    return lambda b: (named(lib, lib.jit(f))(b), lib.lax.psum(b, "i"))


def outer(lib, b):
    """A sum over the inner axis of a value that only the outer one of that name maps."""
    return named(lib, lambda c: c + lib.lax.psum(b, "i"))(b)


PAIRS = np.stack([X, X + 1])
SCALES = X[:, 0, 0, 0]
VALUES = {
    "vmap": lambda lib, f: named(lib, f)(X),
    "vmap of jit": lambda lib, f: named(lib, lib.jit(f))(X),
}
NESTED = {
    "vmap of jit of jit": lambda lib, f: named(lib, lib.jit(lambda a: lib.jit(f)(a * 2.0)))(X),
    "vmap of axis 2 to the end": lambda lib, f: named(lib, f, in_axes=2, out_axes=-1)(np.moveaxis(X, 0, 2)),
    "vmap in a named vmap": lambda lib, f: named(lib, lib.vmap(f))(np.stack([X, X + 1], 1)),
    "vmap of jit in a named vmap": lambda lib, f: named(lib, lib.jit(lib.vmap(f)))(np.stack([X, X + 1], 1)),
    "vmap in a named vmap, at the end": lambda lib, f: named(lib, lib.vmap(f, in_axes=-1))(np.stack([X, X + 1], -1)),
    "named vmap in a vmap": lambda lib, f: lib.vmap(lambda b: named(lib, lib.jit(f))(b))(PAIRS),
    "named vmap in another name": lambda lib, f: lib.vmap(named(lib, lib.jit(f)), axis_name="k")(PAIRS),
    "another name in a named vmap": lambda lib, f: named(lib, lib.vmap(lib.jit(f), axis_name="k"))(np.stack([X, X], 1)),
    "the same name twice": lambda lib, f: named(lib, twice(lib, f))(PAIRS),
    "the outer value of an inner name": lambda lib, f: named(lib, lambda b: outer(lib, b))(X),
}
DERIVATIVES = {
    "vjp in vmap": lambda lib, f: named(lib, pulled(lib, f))(X),
    "vjp of jit in vmap": lambda lib, f: named(lib, pulled(lib, lib.jit(f)))(X),
    "jit of vjp in vmap": lambda lib, f: named(lib, lib.jit(pulled(lib, f)))(X),
    "vjp of vmap": lambda lib, f: pulled_whole(lib, named(lib, f)),
    "vjp of vmap of jit": lambda lib, f: pulled_whole(lib, named(lib, lib.jit(f))),
    "jvp in vmap": lambda lib, f: named(lib, lambda a: lib.jvp(lib.jit(f), (a,), (a * a,)))(X),
    "jvp of vmap": lambda lib, f: lib.jvp(named(lib, f), (X,), (X * X,)),
    "linearize in vmap": lambda lib, f: named(lib, lambda a: lib.linearize(f, a)[1](a * a))(X),
    "linearize of vmap": lambda lib, f: lib.linearize(named(lib, lib.jit(f)), X)[1](X * X),
    "grad of a constant cotangent": lambda lib, f: named(lib, lib.grad(lambda a: lib.numpy.sum(f(a))))(X),
    "grad in a vmap in vmap": lambda lib, f: lib.vmap(named(lib, lib.grad(total(lib, lib.jit(f)))))(X[None]),
}
SECOND = {
    "jacfwd in vmap": lambda lib, f: named(lib, lib.jacfwd(lambda s: f(s * X[0])))(SCALES),
    "jacrev in vmap": lambda lib, f: named(lib, lib.jacrev(lambda s: f(s * X[0])))(SCALES),
    "hessian in vmap": lambda lib, f: named(lib, lib.hessian(total(lib, lambda s: f(s * X[0]))))(SCALES),
    "hessian of vmap": lambda lib, f: lib.hessian(total(lib, lambda s: named(lib, f)(s[:, None, None, None] * X)))(
        SCALES
    ),
}
#: What stands for the others where programs are large.
FEW = ("psum", "all_gather", "psum_scatter tiled", "all_to_all 0 2", "ppermute", "nonlinear")
SOME = (*FEW, *OTHERS, "psum, positions", "all_gather tiled -1", "psum_scatter 2", "all_to_all tiled 1 0", "pswapaxes")


def tables():
    """Which collectives each way of transforming is tried with."""
    found = {way: (transform, LINEAR | OTHERS) for way, transform in VALUES.items()}
    found.update(
        {way: (transform, {name: (LINEAR | OTHERS)[name] for name in SOME}) for way, transform in NESTED.items()}
    )
    found.update({way: (transform, SMOOTH) for way, transform in DERIVATIVES.items()})
    found.update({way: (transform, {name: SMOOTH[name] for name in FEW}) for way, transform in SECOND.items()})
    return found


def results(lib, way):
    """What one way gives for all its collectives, in one program; those that the library cannot trace are left out."""
    transform, chosen = tables()[way]
    programs = {name: (lambda f=f: transform(lib, lambda a: f(lib.lax, a))) for name, f in chosen.items()}
    if lib.__name__ == "jax":
        programs = {name: program for name, program in programs.items() if traceable(lib, program)}
    return lib.tree.map(np.asarray, lib.jit(lambda: {name: program() for name, program in programs.items()})())


def traceable(lib, program):
    try:
        lib.make_jaxpr(program)()
    except Exception:
        return False
    return True


def every(lib):
    return {way: results(lib, way) for way in tables()}
