"""What in_axes and out_axes may be, and what they may not; run with xlascope and with jax."""

from typing import Any, NamedTuple

import numpy as np

X = np.arange(12.0, dtype="float32").reshape(3, 4)


class Pair(NamedTuple):
    left: Any
    right: Any


class Box:
    """A node of a user's own."""

    def __init__(self, content, label):
        self.content = content
        self.label = label


def registered(lib):
    """A class of the node, which each library knows."""
    made = type("Box", (Box,), {})
    lib.tree_util.register_pytree_node(made, lambda b: ((b.content,), b.label), lambda label, c: made(c[0], label))
    return made


def with_jvp(lib):
    """A function of two arguments, each of whose results depends on one of them, with a rule of its own."""
    function = lib.custom_jvp(lambda a, b: (2 * a, lib.numpy.sin(b)))
    function.defjvp(lambda xs, ts: (function(*xs), (2 * ts[0], lib.numpy.cos(xs[1]) * ts[1])))
    return function


def with_vjp(lib):
    """The same with a backward rule."""
    function = lib.custom_vjp(lambda a, b: (2 * a, lib.numpy.sin(b)))
    function.defvjp(lambda a, b: (function(a, b), b), lambda b, cts: (2 * cts[0], lib.numpy.cos(b) * cts[1]))
    return function


def doubled(lib):
    """A loop that carries a value along without changing it."""
    return lambda a, b: lib.lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] * 2 + 1, c[1]), (a, b))


def add(a, b):
    return a + b


#: What a library is asked for. ``box`` makes nodes that it knows.
ROWS = {
    # in_axes
    "negative": lambda lib, box: lib.vmap(lambda a: a, -1)(X),
    "most negative": lambda lib, box: lib.vmap(lambda a: a, -2)(X),
    "out of bounds": lambda lib, box: lib.vmap(lambda a: a, 2)(X),
    "out of bounds, negative": lambda lib, box: lib.vmap(lambda a: a, -3)(X),
    "of a scalar": lambda lib, box: lib.vmap(lambda a: a)(1.0),
    "None for one": lambda lib, box: lib.vmap(add, (0, None))(X, X[0]),
    "None for a Python number": lambda lib, box: lib.vmap(add, (None, 1))(2, X),
    "None for all": lambda lib, box: lib.vmap(add, (None, None))(X, X),
    "None alone": lambda lib, box: lib.vmap(lambda a: a, None)(X),
    "None for a string": lambda lib, box: lib.vmap(lambda a, b: a, (0, None))(X, "s"),
    "a string": lambda lib, box: lib.vmap(lambda a: a)("s"),
    "a list": lambda lib, box: lib.vmap(add, [0, None])(X, 1.0),
    "too few": lambda lib, box: lib.vmap(add, (0,))(X, X),
    "too many": lambda lib, box: lib.vmap(add, (0, 0, 0))(X, X),
    "a string for axes": lambda lib, box: lib.vmap(add, "a")(X, X),
    "a float for axes": lambda lib, box: lib.vmap(lambda a: a, (0.0,))(X),
    "a float": lambda lib, box: lib.vmap(lambda a: a, 0.0)(X),
    "True": lambda lib, box: lib.vmap(lambda a: a, True)(X),
    "a NumPy integer": lambda lib, box: lib.vmap(lambda a: a, np.int64(1))(X),
    "a dict": lambda lib, box: lib.vmap(lambda a: a["k"], ({"k": 1},))({"k": X}),
    "a dict for all": lambda lib, box: lib.vmap(lambda a: a["k"], {"k": 1})({"k": X}),
    "a dict with another key": lambda lib, box: lib.vmap(lambda a: a["k"], ({"j": 1},))({"k": X}),
    "a dict with more keys": lambda lib, box: lib.vmap(lambda a: a["k"], ({"k": 0, "j": 0},))({"k": X}),
    "a dict with fewer keys": lambda lib, box: lib.vmap(lambda a: a["k"], ({"k": 0},))({"k": X, "j": X}),
    "a nested tree": lambda lib, box: lib.vmap(
        lambda t: t["a"][0] + t["a"][1][0] + t["b"], ({"a": (0, [1]), "b": None},)
    )({"a": (X, [X.T]), "b": 1.0}),
    "a prefix": lambda lib, box: lib.vmap(lambda t: t["a"][0] + t["a"][1] * t["b"], ({"a": 1, "b": None},))(
        {"a": (X, X * 2), "b": 2.0}
    ),
    "a prefix that is None": lambda lib, box: lib.vmap(lambda t, x: t["a"][0] * x, (None, 0))({"a": (X[0], X)}, X),
    "a tree deeper than the argument": lambda lib, box: lib.vmap(lambda a: a, ((0, 0),))(X),
    "a tuple of another length": lambda lib, box: lib.vmap(lambda a, b: a, (0, (0, 0)))(X, (X,)),
    "a list for a tuple": lambda lib, box: lib.vmap(lambda a: a[0], ([0, 0],))((X, X)),
    "a namedtuple": lambda lib, box: lib.vmap(lambda p: p.left + p.right, (Pair(0, 1),))(Pair(X, X.T)),
    "a namedtuple for all arguments": lambda lib, box: lib.vmap(add, Pair(0, 1))(X, X.T),
    "a tuple for a namedtuple": lambda lib, box: lib.vmap(lambda p: p.left + p.right, ((0, 1),))(Pair(X, X.T)),
    "a node": lambda lib, box: lib.vmap(lambda b: b.content * 2, (box(1, "n"),))(box(X, "n")),
    "a node with None": lambda lib, box: lib.vmap(lambda b, x: b.content + x, (box(None, "n"), 0))(box(X[0], "n"), X),
    "a node with another label": lambda lib, box: lib.vmap(lambda b: b.content, (box(1, "m"),))(box(X, "n")),
    "a prefix of nodes": lambda lib, box: lib.vmap(lambda t: t["b"].content, (1,))({"b": box(X, "n")}),
    "None as an argument": lambda lib, box: lib.vmap(lambda a, b: a)(X, None),
    "an empty tree": lambda lib, box: lib.vmap(lambda a, b: a)(X, {}),
    "a list of arrays": lambda lib, box: lib.vmap(lambda a: a[0] + a[1])([X, X]),
    # keywords
    "a keyword": lambda lib, box: lib.vmap(lambda a, *, k: a + k, (1,))(X, k=X[0]),
    "a scalar keyword": lambda lib, box: lib.vmap(lambda a, k: a + k)(X, k=1.0),
    "only keywords": lambda lib, box: lib.vmap(lambda *, k: k * 2)(k=X),
    "a keyword, and too few axes": lambda lib, box: lib.vmap(add, (0, 0))(X, b=X),
    # sizes
    "sizes that differ": lambda lib, box: lib.vmap(add)(X, X.T),
    "sizes that differ in a tree": lambda lib, box: lib.vmap(lambda t, x: x)({"p": X, "q": X}, X.T),
    "axis_size": lambda lib, box: lib.vmap(lambda a: a, axis_size=3)(X),
    "another axis_size": lambda lib, box: lib.vmap(lambda a: a, axis_size=4)(X),
    "axis_size alone": lambda lib, box: lib.vmap(lambda a: a, None, axis_size=3)(X),
    "axis_size alone, nothing out": lambda lib, box: lib.vmap(lambda a: a * 2, None, None, axis_size=3)(X),
    "axis_size without arguments": lambda lib, box: lib.vmap(lambda: 1.0, axis_size=3)(),
    "no arguments": lambda lib, box: lib.vmap(lambda: 1.0)(),
    "no arrays": lambda lib, box: lib.vmap(lambda a: 1.0)({}),
    "no examples": lambda lib, box: lib.vmap(lambda a: lib.numpy.sum(a) + 1)(X[:0]),
    "no examples, no axis": lambda lib, box: lib.vmap(lambda a: a)(X[:, :0]),
    "no examples, a constant": lambda lib, box: lib.vmap(lambda a: lib.numpy.ones(2))(X[:0]),
    "axis_size 0": lambda lib, box: lib.vmap(lambda a: a, None, axis_size=0)(X),
    # out_axes
    "out negative": lambda lib, box: lib.vmap(lambda a: a, 0, -1)(X),
    "out 1": lambda lib, box: lib.vmap(lambda a: a, 1, 1)(X),
    "out of a constant": lambda lib, box: lib.vmap(lambda a: lib.numpy.ones((2, 5)), 0, -2)(X),
    "out out of bounds": lambda lib, box: lib.vmap(lambda a: a, 0, 2)(X),
    "out out of bounds, negative": lambda lib, box: lib.vmap(lambda a: a, 0, -3)(X),
    "out out of bounds, a scalar": lambda lib, box: lib.vmap(lambda a: lib.numpy.sum(a), 0, 1)(X),
    "out None": lambda lib, box: lib.vmap(lambda a: a, 0, None)(X),
    "out None of a constant": lambda lib, box: lib.vmap(lambda a: lib.numpy.ones(2), 0, None)(X),
    "out None of a number": lambda lib, box: lib.vmap(lambda a: 2.0, 0, None)(X),
    "out None of an argument that is not mapped": lambda lib, box: lib.vmap(lambda a, b: b, (0, None), None)(X, X[0]),
    "out None behind custom_jvp": lambda lib, box: lib.vmap(with_jvp(lib), (0, None), (0, None))(X, X[0]),
    "out None behind custom_vjp": lambda lib, box: lib.vmap(with_vjp(lib), (0, None), (0, None))(X, X[0]),
    "out None behind a jitted custom_jvp": lambda lib, box: lib.vmap(lib.jit(with_jvp(lib)), (0, None), (0, None))(
        X, X[0]
    ),
    "out None behind custom_jvp of what is mapped": lambda lib, box: lib.vmap(with_jvp(lib), (0, None), None)(X, X[0]),
    "out None behind a loop that each example ends": lambda lib, box: lib.vmap(doubled(lib), (0, None), (0, None))(
        X[:, 0], X[0]
    ),
    "out None behind a loop that changes it": lambda lib, box: lib.vmap(doubled(lib), (0, None), None)(X[:, 0], X[0]),
    "out None behind scan": lambda lib, box: lib.vmap(
        lambda a, b: lib.lax.scan(lambda c, _: ((c[0] + 1, c[1] * 2), c[1]), (a, b), None, length=2),
        (0, None),
        ((0, None), None),
    )(X, X[0]),
    "out a tree": lambda lib, box: lib.vmap(lambda a: {"a": (a, a), "b": 1.0}, 0, {"a": (0, 1), "b": None})(X),
    "out a prefix": lambda lib, box: lib.vmap(lambda a: {"a": (a, [a, a])}, 0, {"a": 1})(X),
    "out a prefix that is None": lambda lib, box: lib.vmap(lambda a: (a, {"c": 1.0}), 0, (1, None))(X),
    "out a list for a tuple": lambda lib, box: lib.vmap(lambda a: (a, a), 0, [0, 1])(X),
    "out another key": lambda lib, box: lib.vmap(lambda a: {"a": a}, 0, {"b": 1})(X),
    "out too short": lambda lib, box: lib.vmap(lambda a: (a, a), 0, (0,))(X),
    "out a namedtuple": lambda lib, box: lib.vmap(lambda a: Pair(a, a), 0, Pair(0, 1))(X),
    "out a tuple for a namedtuple": lambda lib, box: lib.vmap(lambda a: Pair(a, a), 0, (0, 1))(X),
    "out a node": lambda lib, box: lib.vmap(lambda a: box(a, "n"), 0, box(1, "n"))(X).content,
    "out a node with another label": lambda lib, box: lib.vmap(lambda a: box(a, "n"), 0, box(1, "m"))(X).content,
    "out a string": lambda lib, box: lib.vmap(lambda a: a, 0, "x")(X),
    "out True": lambda lib, box: lib.vmap(lambda a: a, 0, True)(X),
    "out a NumPy integer": lambda lib, box: lib.vmap(lambda a: a, 0, np.int64(1))(X),
    "a result that is a string": lambda lib, box: lib.vmap(lambda a: "s")(X),
    "a result that is None": lambda lib, box: lib.vmap(lambda a: (a.sum(), 2, None))(X),
    "a result that is a NumPy array": lambda lib, box: lib.vmap(lambda a: np.ones(2, "float32"))(X),
    # the function
    "no function": lambda lib, box: lib.vmap(3)(X),
    "a jitted function": lambda lib, box: lib.vmap(lib.jit(add), (0, None), 1)(X, X[0]),
    "keeps its name": lambda lib, box: np.str_(lib.vmap(add).__name__),
}


def outcome(lib, name, box):
    """The arrays that a row gives and the types of the nodes that hold them, or the name of the error."""
    try:
        result = ROWS[name](lib, box)
        return [
            type(result).__name__ if isinstance(result, (tuple, dict)) else "",
            *map(np.asarray, lib.tree.leaves(result)),
        ]
    except (TypeError, ValueError) as error:
        return type(error).__name__


def every(lib):
    box = registered(lib)
    return {name: outcome(lib, name, box) for name in ROWS}
