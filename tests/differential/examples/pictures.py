"""Attention, pictures of another size, grids of counts."""

from __future__ import annotations

from typing import Any

from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, example_of


@example_of("nn.dot_product_attention")
def _attention(draw: Draw) -> Example:
    lead, times, heads = draw.pick([(), (2,)]), draw.pick([1, 3]), draw.pick([1, 2])
    dtype = draw.pick(["float32", "float32", "bfloat16"])
    query = draw.array_of(dtype, (*lead, times, heads, 4))
    key, value = (draw.array_of(dtype, (*lead, 3, draw.pick([heads, 1]), 4)) for _ in range(2))
    named: dict[str, Any] = {}
    if draw.chance(0.3):
        named["is_causal"] = True
    if draw.chance(0.3):
        named["mask"] = draw.array_of("bool", (1, 1, times, 3))
    if draw.chance(0.3):
        named["bias"] = draw.array_of("float32", (1, heads, times, 3))
    if draw.chance(0.3):
        named["scale"] = draw.pick([0.5, 1.0])
    if draw.chance(0.2):
        named["local_window_size"] = draw.pick([1, 0])
    if draw.chance(0.2):
        named["return_residual"] = True
    return [query, key, value], named, None


_RESAMPLING = ["linear", "cubic", "lanczos3", "bilinear"]


@example_of("image.resize")
def _resize(draw: Draw) -> Example:
    shape = draw.pick([(3,), (3, 4), (2, 3, 2)])
    wanted = tuple_of([draw.pick([size, 2, 5]) for size in shape])
    named: dict[str, Any] = {"antialias": False} if draw.chance(0.3) else {}
    return [draw.array_of("float32", shape), wanted, draw.pick([*_RESAMPLING, "nearest", "other"])], named, None


@example_of("image.scale_and_translate")
def _scale_and_translate(draw: Draw) -> Example:
    scale, offset = (array("float32", (1,), [draw.pick(some)]) for some in ([0.5, 1.0, 1.5], [0.0, 0.5, -1.0]))
    given = [draw.array_of("float32", (3, 4)), tuple_of([3, 5]), tuple_of([1]), scale, offset, draw.pick(_RESAMPLING)]
    return given, {"antialias": False} if draw.chance(0.3) else {}, None


@example_of("numpy.histogram2d", "numpy.histogramdd")
def _grids(draw: Draw) -> Example:
    named: dict[str, Any] = {"bins": draw.pick([2, [2, 3], 1])} if draw.chance(0.6) else {}
    if draw.chance(0.2):
        named["density"] = True
    if draw.function == "numpy.histogramdd":
        return [draw.array_of("float32", (4, 2))], named, None
    return [draw.array_of("float32", (4,)), draw.array_of("float32", (4,))], named, None


@example_of("numpy.apply_over_axes")
def _over_axes(draw: Draw) -> Example:
    return (
        [{"attribute": "numpy.sum"}, draw.array_of(draw.dtype, (2, 3)), draw.pick([[0], tuple_of([0, 1]), [-1]])],
        {},
        None,
    )
