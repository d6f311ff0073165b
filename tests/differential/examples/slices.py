"""Slices, gathers, updates, indices."""

from __future__ import annotations

import math
from typing import Any

from .. import kinds
from ..draws import Draw
from ..indices import index
from ..language import Described, array, tuple_of
from .declaring import Example, an_array, example_of, fn, of


def _numbers(path: str, fields: dict[str, list[int]]) -> Described:
    return {"make": {"attribute": path, "kwargs": {name: tuple_of(value) for name, value in fields.items()}}}


@example_of("lax.index_take")
def _index_take(draw: Draw) -> Example:
    axes = draw.pick([(0,), (1,), (0, 1), (1, 2)])
    indices = [array("int32", (2,), [draw.whole(-1, 2) for _ in range(2)]) for _ in axes]
    return of(an_array(draw, 3, 4, 2), indices, tuple_of(list(axes)))


@example_of("lax.gather")
def _gather(draw: Draw) -> Example:
    fields = {"offset_dims": [1], "collapsed_slice_dims": [0], "start_index_map": [0]}
    numbers = _numbers("lax.GatherDimensionNumbers", fields)
    indices = array("int32", (2, 1), [draw.whole(-1, 4) for _ in range(2)])
    named: dict[str, Any] = {"mode": draw.pick([None, "clip", "fill", "promise_in_bounds"])} if draw.chance(0.5) else {}
    if draw.chance(0.2):
        named["fill_value"] = draw.pick([0, 7, -1.5])
    return [an_array(draw, 3, 2), indices, numbers, tuple_of([1, 2])], named, None


@example_of(
    "lax.scatter",
    "lax.scatter_add",
    "lax.scatter_sub",
    "lax.scatter_mul",
    "lax.scatter_min",
    "lax.scatter_max",
    "lax.scatter_apply",
)
def _scatter(draw: Draw) -> Example:
    fields = {"update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0]}
    numbers = _numbers("lax.ScatterDimensionNumbers", fields)
    indices = array("int32", (2, 1), [draw.whole(-1, 4) for _ in range(2)])
    named = {"mode": draw.pick([None, "clip", "fill", "drop"])} if draw.chance(0.4) else {}
    operand = an_array(draw, 3, 2)
    if draw.function == "lax.scatter_apply":
        return [operand, indices, fn("square"), numbers], {**named, "update_shape": tuple_of([2, 2])}, None
    return [operand, indices, an_array(draw, 2, 2, dtype=operand["array"]["dtype"]), numbers], named, None


@example_of("lax.slice")
def _slice(draw: Draw) -> Example:
    starts = [draw.whole(0, size) for size in draw.shape]
    limits = [draw.whole(start, size) for start, size in zip(starts, draw.shape, strict=True)]
    args: list[Described] = [
        kinds.any_array(draw) if draw.chance(0.1) else draw.array_of(draw.dtype, draw.shape),
        tuple_of(starts),
        tuple_of(limits),
    ]
    return of(*args, *([tuple_of([draw.whole(1, 2) for _ in draw.shape])] if draw.chance(0.4) else []))


@example_of("lax.slice_in_dim", "lax.dynamic_slice_in_dim", "lax.index_in_dim")
def _slice_in_dim(draw: Draw) -> Example:
    operand = draw.array_of(draw.dtype, draw.pick([(3,), (3, 2), (5,)]))
    if draw.function == "lax.index_in_dim":
        return of(operand, draw.pick([0, 1, -1, 3]), *([draw.pick([0, -1])] if draw.chance(0.5) else []))
    return of(
        operand,
        draw.pick([0, 1, -2]),
        draw.pick([2, 1, 3, -1]),
        **({"axis": draw.pick([0, -1])} if draw.chance(0.4) else {}),
    )


@example_of("lax.dynamic_slice", "lax.dynamic_update_slice")
def _dynamic(draw: Draw) -> Example:
    operand = draw.array_of(draw.dtype, draw.shape)
    starts: list[Described] = [
        draw.pick([0, 1, -1, 2, array("int32", (), [1]), array("uint8", (), [1])]) for _ in draw.shape
    ]
    sizes = [draw.whole(0, size) for size in draw.shape]
    form = (
        starts
        if draw.chance(0.5)
        else tuple_of(starts)
        if draw.chance(0.7)
        else array("int32", (draw.rank,), [0] * draw.rank)
    )
    if draw.function == "lax.dynamic_slice":
        return of(operand, form, tuple_of(sizes))
    return of(operand, draw.array_of(draw.dtype, sizes), form)


@example_of("lax.dynamic_update_slice_in_dim", "lax.dynamic_update_index_in_dim")
def _update_in_dim(draw: Draw) -> Example:
    update = an_array(draw, *([2] if "slice" in draw.function else []), dtype=draw.dtype)
    return of(
        draw.array_of(draw.dtype, (3,)),
        update,
        draw.pick([0, 1, -1, array("int32", (), [1])]),
        draw.pick([0, -1, 0, 1]),
    )


@example_of("array.__getitem__")
def _getitem(draw: Draw) -> Example:
    return of(draw.array_of(draw.dtype, draw.shape, "device"), index(draw))


@example_of(
    "array.at.set",
    "array.at.add",
    "array.at.multiply",
    "array.at.mul",
    "array.at.divide",
    "array.at.power",
    "array.at.min",
    "array.at.max",
    "array.at.subtract",
)
def _update(draw: Draw) -> Example:
    named = {"mode": draw.pick([None, "clip", "drop", "fill", "promise_in_bounds"])} if draw.chance(0.2) else {}
    value = kinds.number(draw) if draw.chance(0.6) else draw.array_of(draw.other_dtype(), ())
    return [draw.array_of(draw.dtype, draw.shape, "device"), index(draw), value], named, None


@example_of("array.at.apply")
def _apply(draw: Draw) -> Example:
    return of(draw.array_of(draw.dtype, draw.shape, "device"), index(draw), fn("square"))


@example_of("array.at.get")
def _get(draw: Draw) -> Example:
    named = {"mode": draw.pick([None, "clip", "drop", "fill", "promise_in_bounds"])} if draw.chance(0.4) else {}
    if draw.chance(0.3):
        named["fill_value"] = draw.pick([0, 7, -1.5, math.nan])
    return [draw.array_of(draw.dtype, draw.shape, "device"), index(draw)], named, None


@example_of("array.at")
def _at(draw: Draw) -> Example:
    return of(draw.array_of(draw.dtype, draw.shape, "device"))


@example_of("numpy.take_along_axis")
def _take_along(draw: Draw) -> Example:
    shape = draw.pick([(3,), (2, 3), (0,)])
    indices = array("int32", shape, [draw.whole(-2, 3) for _ in range(math.prod(shape))])
    return of(an_array(draw, *shape), indices, draw.pick([0, -1, None] if len(shape) == 1 else [0, 1, -1]))


@example_of("numpy.put_along_axis")
def _put_along(draw: Draw) -> Example:
    shape = draw.pick([(3,), (2, 3), (0,)])
    indices = array("int32", shape, [draw.whole(-2, 3) for _ in range(math.prod(shape))])
    axis = draw.pick([0, -1, None] if len(shape) == 1 else [0, 1, -1])
    return of(an_array(draw, *shape), indices, an_array(draw, *shape), axis, inplace=draw.weighted({False: 8, True: 1}))


@example_of("numpy.ravel_multi_index")
def _ravel_multi(draw: Draw) -> Example:
    coordinates = [array("int32", (3,), [draw.whole(0, 2) for _ in range(3)]) for _ in range(2)]
    named = {"mode": draw.pick(["clip", "wrap", "raise"])} if draw.chance(0.6) else {}
    return [tuple_of(coordinates), tuple_of([3, 4])], named, None


@example_of("numpy.insert")
def _insert(draw: Draw) -> Example:
    return of(
        an_array(draw, 3),
        draw.pick([0, 1, -1, [0, 2], {"slice": [0, 2, None]}, array("int32", (1,), [1], "numpy")]),
        kinds.scalar_or_array(draw),
    )


@example_of("numpy.delete")
def _delete(draw: Draw) -> Example:
    return of(
        an_array(draw, *draw.pick([(3,), (2, 3)])),
        draw.pick([0, 1, -1, [0, 1], {"slice": [0, 2, None]}, array("int32", (1,), [1], "numpy"), 7]),
    )


@example_of("numpy.ix_")
def _ix(draw: Draw) -> Example:
    return [kinds.vector(draw) for _ in range(draw.whole(1, 3))], {}, None
