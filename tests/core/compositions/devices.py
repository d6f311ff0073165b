"""Transformations over a mapping across devices and within it; run with eight of them."""

import itertools
import math
import random as dice

import numpy as np

X = np.random.default_rng(11).uniform(-0.8, 0.8, (8, 3)).astype("float32")
#: What maps a function of a row over the eight rows: the first on one device, the others on eight.
MAPPINGS = ("vmap", "pmap", "shard_map")
#: Programs compiled at once.
TOGETHER = 40
#: Pairs of transformations drawn of 357, and what is looked at in a quick run.
DRAWN = 60
FEW = ("plain", "grad of", "of grad", "vmap of", "of scan")


def row(lib, r):
    """A function of a row that crosses the rows."""
    whole = lib.lax.psum(r, "i")
    return lib.numpy.tanh(r * whole) + lib.lax.pmean(r * r, "i") - 0.1 * lib.lax.ppermute(r, "i", [(0, 1), (1, 0)])


def mapped(lib, name, f):
    """A function of eight rows from one of a row."""
    if name != "shard_map":
        return getattr(lib, name)(f, axis_name="i")
    mesh = lib.make_mesh((8,), ("i",), (lib.sharding.AxisType.Auto,))
    part, back = (lambda x: f(x[0])[None]), lib.sharding.PartitionSpec("i")
    return lib.shard_map(part, mesh=mesh, in_specs=back, out_specs=back)


def _scanned(lib, f):
    return lambda x: lib.lax.scan(lambda c, _: (0.5 * f(c), None), x, None, length=2)[0]


def _branches(lib, f):
    return lambda x: lib.lax.cond(True, lambda y: f(y) + y, lambda y: y, x)


def _own_rule(lib, f):
    def forward(x):
        y, back = lib.vjp(f, x)
        return y, back

    def backward(back, cotangent):
        return back(2.0 * cotangent)

    made = lib.custom_vjp(f)
    made.defvjp(forward, backward)
    return made


#: Each makes a function of arrays from another, of the same shapes.
TRANSFORMS = {
    "jit": lambda lib, f: lib.jit(f),
    "grad": lambda lib, f: lib.grad(lambda x: lib.numpy.sum(lib.numpy.sin(f(x)))),
    "jvp": lambda lib, f: lambda x: lib.jvp(f, (x,), (x * x,))[1],
    "vjp": lambda lib, f: lambda x: lib.vjp(f, x)[1](lib.numpy.cos(x))[0],
    "linearize": lambda lib, f: lambda x: lib.linearize(f, x)[1](x + 1.0),
    "vmap": lambda lib, f: lambda x: lib.numpy.sum(lib.vmap(f)(lib.numpy.stack([x, 0.5 * x])), 0),
    "vmap over the last axis": lambda lib, f: lambda x: lib.vmap(f, -1, -1)(lib.numpy.stack([x, x], -1))[..., 0],
    "checkpoint": lambda lib, f: lib.checkpoint(f),
    "scan": _scanned,
    "cond": _branches,
    "custom_vjp": _own_rule,
}


def chains():
    """Label -> transformations within the mapping, and over it; each as names, the innermost first."""
    one = {f"of {name}": ((name,), ()) for name in TRANSFORMS} | {f"{name} of": ((), (name,)) for name in TRANSFORMS}
    pairs = list(itertools.product(TRANSFORMS, repeat=2))
    pairs = [(a, b) for a, b in pairs if a != "custom_vjp" or b not in ("jvp", "linearize")]  # refused, as in JAX
    two = {f"{over} of mapping of {within}": ((within,), (over,)) for within, over in pairs}
    two |= {f"{b} of {a} of mapping": ((), (a, b)) for a, b in pairs}
    two |= {f"mapping of {b} of {a}": ((a, b), ()) for a, b in pairs}
    drawn = dice.Random(20261123).sample(list(two), DRAWN)
    return {"plain": ((), ()), **one, **{label: two[label] for label in drawn}}


def _composed(lib, mapping, within, over):
    f = lambda r: row(lib, r)  # noqa: E731
    for name in within:
        f = TRANSFORMS[name](lib, f)
    f = mapped(lib, mapping, f)
    for name in over:
        f = TRANSFORMS[name](lib, f)
    return f


def _apart(lib, labels):
    """The largest difference from one device, by label and mapping, as a part of the largest element."""
    found = {}
    listed = list(labels)
    for batch in [listed[i : i + TOGETHER] for i in range(0, len(listed), TOGETHER)]:
        results = {}
        for mapping in MAPPINGS:
            functions = {label: _composed(lib, mapping, *labels[label]) for label in batch}
            made = lib.jit(lambda x, functions=functions: {label: f(x) for label, f in functions.items()})(X)
            results[mapping] = {label: np.asarray(y) for label, y in made.items()}
        for label, mapping in itertools.product(batch, MAPPINGS[1:]):
            wanted, y = results["vmap"][label], results[mapping][label]
            right = wanted.shape == y.shape and wanted.dtype == y.dtype and np.isfinite(wanted).all()
            found[label, mapping] = (
                float(np.abs(y - wanted).max() / max(np.abs(wanted).max(), 1.0)) if right else math.inf
            )
    return found


def few(lib):
    """One of each kind."""
    every = chains()
    return _apart(lib, {label: every[label] for label in FEW})


def many(lib):
    """Each transformation, and some of the pairs."""
    return _apart(lib, chains())
