"""Selections, sorting, segments, histograms."""

from __future__ import annotations

import math
from typing import Any

from .. import kinds
from ..draws import Draw
from ..language import array
from .declaring import Example, an_array, example_of, number_dtype, of


@example_of("lax.select", "lax.select_n")
def _select(draw: Draw) -> Example:
    which = draw.array_of("bool", draw.shape if draw.chance(0.7) else ())
    return of(which, draw.array_of(draw.dtype, draw.shape), draw.array_of(draw.other_dtype(), draw.shape))


@example_of("lax.clamp")
def _clamp(draw: Draw) -> Example:
    low, x, high = (draw.array_of(draw.other_dtype(), draw.shape if draw.chance(0.5) else ()) for _ in range(3))
    return of(low, draw.array_of(draw.dtype, draw.shape) if draw.chance(0.8) else x, high)


@example_of("numpy.partition", "numpy.argpartition", "array.argpartition")
def _partition(draw: Draw) -> Example:
    named = {"axis": kinds.axis(draw)} if draw.chance(0.4) else {}
    return of(draw.array_of(draw.dtype, draw.shape), draw.pick([0, 1, -1, 2, 7]), **named)


@example_of("numpy.polydiv")
def _polydiv(draw: Draw) -> Example:
    divided, divisor = (draw.array_of(draw.other_dtype(), (draw.pick([1, 2, 3, 4]),)) for _ in range(2))
    return of(divided, divisor, **({"trim_leading_zeros": True} if draw.chance(0.2) else {}))


@example_of("lax.sort_key_val")
def _sort_key_val(draw: Draw) -> Example:
    return of(
        draw.array_of(draw.dtype, draw.shape),
        draw.array_of("int32", draw.shape),
        **({"dimension": kinds.axis(draw)} if draw.chance(0.4) else {}),
    )


@example_of("lax.bitcast_convert_type")
def _bitcast(draw: Draw) -> Example:
    return of(
        kinds.any_array(draw),
        draw.pick(["int32", "uint8", "float32", "bfloat16", "int8", "uint32", "float64", "int4", "bool", "complex64"]),
    )


@example_of("numpy.select", "numpy.choose")
def _choose(draw: Draw) -> Example:
    choices = [draw.array_of(draw.other_dtype(), draw.shape) for _ in range(2)]
    if draw.function == "numpy.choose":
        which = array("int32", draw.shape, [draw.whole(0, 2) for _ in range(math.prod(draw.shape))])
        return [which, choices], {"mode": draw.pick(["clip", "wrap", "raise"])} if draw.chance(0.6) else {}, None
    return of(
        [draw.array_of("bool", draw.shape) for _ in range(2)],
        choices,
        *([kinds.number(draw)] if draw.chance(0.4) else []),
    )


@example_of("numpy.vander")
def _vander(draw: Draw) -> Example:
    return of(
        kinds.vector(draw), **({"N": kinds.count(draw), "increasing": kinds.flag(draw)} if draw.chance(0.6) else {})
    )


@example_of("numpy.fill_diagonal")
def _fill_diagonal(draw: Draw) -> Example:
    return of(kinds.matrix(draw), kinds.fill(draw), inplace=False)


@example_of("ops.segment_sum", "ops.segment_prod", "ops.segment_max", "ops.segment_min")
def _segment(draw: Draw) -> Example:
    named = {"num_segments": draw.pick([1, 3, 4])} if draw.chance(0.7) else {}
    return (
        [an_array(draw, *draw.pick([(3,), (3, 2)])), array("int32", (3,), [draw.whole(-1, 3) for _ in range(3)])],
        named,
        None,
    )


@example_of("numpy.histogram", "numpy.histogram_bin_edges")
def _histogram(draw: Draw) -> Example:
    named: dict[str, Any] = {"range": kinds.interval(draw)} if draw.chance(0.3) else {}
    if draw.chance(0.3):
        named["bins"] = kinds.bins(draw)
    if draw.chance(0.2) and draw.function == "numpy.histogram":
        named["density"] = True
    return [an_array(draw, *draw.shape)], named, None


@example_of("numpy.trim_zeros")
def _trim(draw: Draw) -> Example:
    return of(
        array(
            number_dtype(draw),
            (5,),
            [0, 1, 0, 2, 0] if not number_dtype(draw).startswith("c") else [[0, 0], [1, 0], [0, 0], [2, 1], [0, 0]],
            draw.holder(),
        ),
        *([draw.pick(["f", "b", "fb"])] if draw.chance(0.5) else []),
    )


@example_of("dtypes.scalar_type_of", "dtypes.is_python_scalar", "dtypes.dtype")
def _of_value(draw: Draw) -> Example:
    return of(kinds.any_array(draw))


@example_of("numpy.fromstring")
def _fromstring(draw: Draw) -> Example:
    dtype = [{"dtype": draw.pick(["float32", "int32", "uint8"])}] if draw.chance(0.5) else []
    return [draw.pick(["1 2 3", "4", "0 -1"]), *dtype], {"sep": " "}, None
