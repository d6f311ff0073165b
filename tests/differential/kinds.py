"""What a parameter wants, by its name: a table, and for each kind in it how one is drawn.

A kind draws what fits the call most of the time; `invalid_inputs.py` has what does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import arrays
from .draws import Draw
from .language import Described, array, tuple_of


def any_array(draw: Draw) -> Described:
    """An operand: an array like the others of the call, or a Python scalar."""
    if draw.chance(0.06 if not draw.tame else 0.03):
        return python_scalar(draw)
    if draw.chance(0.08):
        return {"weak": {"shape": list(draw.shape), "value": draw.pick([1, 2.5, -0.0])}}
    return draw.array_of(draw.other_dtype(), draw.other_shape())


def python_scalar(draw: Draw) -> Described:
    return draw.pick(
        [
            True,
            False,
            0,
            1,
            -2,
            7,
            300,
            2**31,
            2**40,
            0.0,
            -0.0,
            0.5,
            -1.5,
            math.inf,
            math.nan,
            1e-45,
            {"complex": [1.0, -2.0]},
        ]
    )


def boolean_array(draw: Draw) -> Described:
    return draw.array_of("bool", draw.other_shape()) if draw.chance(0.9) else draw.pick([True, False])


def index_array(draw: Draw) -> Described:
    dtype = draw.weighted({"int32": 6, "uint8": 1, "int8": 1, "int64": 1})
    shape = draw.shape if draw.chance(0.4) else draw.weighted({(): 3, (2,): 3, (0,): 1, (2, 2): 1})
    entries = [draw.whole(0 if dtype[0] == "u" or draw.chance(0.6) else -3, 3) for _ in range(math.prod(shape))]
    return array(dtype, shape, entries, draw.weighted({"device": 5, "numpy": 3, "list": 2}))


def sorted_array(draw: Draw) -> Described:
    """Half of them are a few whole numbers: those that are searched for are then among them, some twice."""
    dtype = draw.dtype if not draw.dtype.startswith("complex") else "float32"
    size = draw.length
    near = draw.chance(0.5) and dtype != "bool"
    entries = [draw.whole(0, 2) for _ in range(size)] if near else arrays.values(draw, dtype, size)
    return array(dtype, (size,), sorted(entries, key=lambda value: (value != value, value)), draw.holder())


def vector(draw: Draw) -> Described:
    return draw.array_of(draw.other_dtype(), (draw.length if draw.chance(0.9) else draw.pick([0, 1, 3, 4]),))


def matrix(draw: Draw) -> Described:
    return draw.array_of(draw.other_dtype(), draw.pick([(3, 3), (3, 3), (2, 3), (4, 4), (2, 3, 3), (0, 0)]))


def array_list(draw: Draw) -> Described:
    items = [any_array(draw) for _ in range(draw.pick([1, 2, 2, 3]))]
    return tuple_of(items) if draw.chance(0.4) else items


def number(draw: Draw) -> Described:
    return draw.pick([0, 1, 2, -1, 0.0, 0.5, 1.5, -2.5, 3, 1e-3])


def scalar_or_array(draw: Draw) -> Described:
    return number(draw) if draw.chance(0.6) else any_array(draw)


def fill(draw: Draw) -> Described:
    choice = draw.weighted({"number": 6, "special": 1, "array": 2, "huge": 0 if draw.tame else 2})
    if choice == "number":
        return number(draw)
    if choice == "huge":
        return draw.pick([2**31, 2**32 + 5, 2**40, -(2**35), 2**64])
    return python_scalar(draw) if choice == "special" else draw.array_of(draw.other_dtype(), ())


def axis(draw: Draw) -> Described:
    if draw.rank == 0 or draw.chance(0.04):
        return draw.pick([0, -1, 1])
    return draw.whole(-draw.rank, draw.rank - 1)


def axis_or_none(draw: Draw) -> Described:
    return None if draw.chance(0.1) else axis(draw)


def axes(draw: Draw) -> Described:
    """One axis, several, none, or all."""
    if draw.chance(0.7):
        return axis_or_none(draw)
    return several_axes(draw)


def several_axes(draw: Draw) -> Described:
    chosen = [place - draw.rank if draw.chance(0.2) else place for place in range(draw.rank) if draw.chance(0.6)]
    return tuple_of(chosen) if draw.chance(0.7) else chosen


def nonnegative_axes(draw: Draw) -> Described:
    return tuple_of([place for place in range(draw.rank) if draw.chance(0.6)])


def permutation(draw: Draw) -> Described:
    return tuple_of(draw.rng.permutation(draw.rank).tolist())


def shape(draw: Draw) -> Described:
    chosen = list(draw.shape if draw.chance(0.3) else draw.weighted(arrays.SHAPES))
    if len(chosen) == 1 and draw.chance(0.3):
        return chosen[0]
    return tuple_of(chosen) if draw.chance(0.8) else chosen


def new_shape(draw: Draw) -> Described:
    """One that holds as many entries as the call's arrays, most of the time."""
    if draw.chance(0.1):
        return shape(draw)
    sizes = list(draw.shape[::-1]) if draw.chance(0.4) else [math.prod(draw.shape)]
    if draw.chance(0.3) and sizes and 0 not in sizes:
        sizes[draw.whole(0, len(sizes) - 1)] = -1 if not draw.strict else sizes[0]
    return tuple_of(sizes) if draw.chance(0.8) else sizes


def wider_shape(draw: Draw) -> Described:
    """One that the call's arrays broadcast to."""
    return tuple_of([*([2] if draw.chance(0.4) else []), *draw.shape])


def dtype(draw: Draw) -> Described:
    name = draw.pick(arrays.ODD_DTYPES) if draw.chance(0.06) else draw.weighted(arrays.DTYPES)
    form = draw.weighted({"text": 4, "dtype": 2, "type": 1, "big": 0.3})
    if form == "type":
        return draw.pick(
            [
                {"type": "float"},
                {"type": "int"},
                {"type": "bool"},
                {"type": "complex"},
                {"attribute": "numpy.float32"},
                {"numpy_type": "int8"},
            ]
        )
    if form == "big" and name in ("float32", "int32", "complex64"):
        return {"float32": ">f4", "int32": ">i4", "complex64": ">c8"}[name]
    return name if form == "text" else {"dtype": name}


def float_dtype(draw: Draw) -> Described:
    return draw.pick(
        ["float32", "float16", "bfloat16", "float64", {"dtype": "float32"}, {"type": "float"}, "complex64"]
    )


def count(draw: Draw) -> Described:
    return draw.pick([0, 1, 2, 3, 3, 4, 5])


def offset(draw: Draw) -> Described:
    return draw.pick([-4, -2, -1, 0, 0, 1, 1, 2, 5])


def flag(draw: Draw) -> Described:
    return draw.chance(0.6)


def repeats(draw: Draw) -> Described:
    return draw.pick(
        [0, 1, 2, 3, [1, 2], tuple_of([2, 1]), array("int32", (3,), [1, 0, 2]), array("int32", (), [2], "numpy")]
    )


def repetitions(draw: Draw) -> Described:
    return draw.pick([0, 1, 2, tuple_of([2, 1]), tuple_of([1, 2, 2]), [2], tuple_of([])])


def sections(draw: Draw) -> Described:
    return draw.pick([1, 2, 3, [1], tuple_of([1, 2]), [2, 1], [0, 5], array("int32", (1,), [1], "numpy")])


def pad_width(draw: Draw) -> Described:
    pair = tuple_of([1, 2])
    return draw.pick(
        [0, 1, 2, pair, tuple_of([pair] * draw.rank), [[0, 1]] * draw.rank, tuple_of([1]), {"dict": [[0, pair]]}]
    )


def probability(draw: Draw) -> Described:
    return draw.pick(
        [
            0.5,
            0.25,
            0.0,
            1.0,
            0,
            1,
            array("float32", (2,), [0.25, 0.75]),
            [0.1, 0.9],
            array("float32", (), [0.3], "numpy"),
        ]
    )


def per_cent(draw: Draw) -> Described:
    return draw.pick([50, 25.0, 0, 100, array("float32", (2,), [10, 90]), [1, 99]])


def key(draw: Draw) -> Described:
    return {"key": {"seed": draw.whole(0, 3), "typed": draw.chance(0.5)}}


def seed(draw: Draw) -> Described:
    return draw.pick(
        [0, 1, 42, -1, 2**31, 2**32 + 1, 2**63 - 1, array("int32", (), [3]), array("uint32", (), [3], "scalar")]
    )


def texts(*options: str) -> Callable[[Draw], Described]:
    """One of these texts, seldom one that is none of them."""
    return lambda draw: draw.pick(options) if draw.chance(0.95) else "unknown"


def one_of(*options: Any) -> Callable[[Draw], Described]:
    return lambda draw: draw.pick(options)


def function(*names: str) -> Callable[[Draw], Described]:
    return lambda draw: {"function": draw.pick(names) if draw.chance(0.96) else draw.pick(["raising", "wrong_arity"])}


def tree(draw: Draw) -> Described:
    leaf = draw.pick([1, 2.5, None, any_array(draw)])
    within = {"dict": [["c", tuple_of([1, leaf])]]}
    dicts = ({"dict": [["b", leaf], ["a", [1, 2]]]}, {"dict": [["a", within]]}, {"dict": [[1, 2], ["a", 3]]})
    return draw.pick([leaf, [leaf, 2], tuple_of([leaf, [3, None]]), [], None, tuple_of([]), [[1, 2], [3, 4]], *dicts])


def treedef(draw: Draw) -> Described:
    return {"treedef": draw.pick([[1, 2], tuple_of([1, 2]), {"dict": [["a", 1], ["b", 2]]}, None, 1, [1, [2, 3]]])}


def interval(draw: Draw) -> Described:
    return draw.pick([None, tuple_of([0, 4]), tuple_of([-1.5, 2.5]), [0, 1], tuple_of([1, 1])])


def bins(draw: Draw) -> Described:
    return draw.pick([1, 3, 10, array("float32", (4,), [-2, 0, 1, 4]), [0, 1, 2]])
