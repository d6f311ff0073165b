"""Windows that slide: convolutions, reductions of windows."""

from __future__ import annotations

from typing import Any

from ..draws import Draw
from ..language import Described, tuple_of
from .declaring import Example, an_array, example_of, of

_PADDINGS: list[Any] = [
    "SAME",
    "VALID",
    "same",
    "SAME_LOWER",
    [[0, 0]],
    [[1, 2]],
    [[-1, 1]],
    [[2, 0]],
    "FULL",
    [[0, 0], [1, 1]],
]


def several(*items: Described) -> Described:
    return tuple_of(items)


def _counts(draw: Draw) -> Described:
    return several(draw.pick([1, 1, 2, 3])) if draw.chance(0.97) else draw.pick([1, several(0), several(1, 1)])


def _operands(draw: Draw, groups: int = 1, batches: int = 1) -> tuple[Described, Described]:
    """A signal and a kernel with the features in front."""
    features = 2 if draw.chance(0.95) else 3
    dtype = draw.other_dtype()
    signal = an_array(draw, 2 * batches, 2 * groups, draw.pick([3, 4, 5]), dtype=dtype)
    return signal, an_array(draw, 2 * groups * batches, features, draw.pick([1, 2, 3]), dtype=dtype)


def _more(draw: Draw, *names: str) -> dict[str, Described]:
    more: dict[str, Described] = {}
    for name in names:
        if draw.chance(0.3):
            more[name] = _counts(draw)
    if draw.chance(0.2):
        more["precision"] = draw.pick([None, "highest"])
    return more


@example_of("lax.conv", "lax.conv_with_general_padding", "lax.conv_general_dilated")
def _conv(draw: Draw) -> Example:
    general = draw.function.endswith("dilated")
    groups, batches = draw.pick([(1, 1), (1, 1), (2, 1), (1, 2)]) if general else (1, 1)
    signal, kernel = _operands(draw, groups, batches)
    if draw.function.endswith("general_padding"):
        dilations = [None if draw.chance(0.5) else _counts(draw) for _ in range(2)]
        return [signal, kernel, _counts(draw), draw.pick(_PADDINGS), *dilations], {}, None
    more = _more(draw, *(("lhs_dilation", "rhs_dilation") if general else ()))
    if general and (groups, batches) != (1, 1):
        more |= {"feature_group_count": groups, "batch_group_count": batches}
    if general and draw.chance(0.3):
        more["dimension_numbers"] = several("NCH", "OIH", draw.pick(["NHC", "NCH", "CHN", "NCW"]))
    return [signal, kernel, _counts(draw), draw.pick(_PADDINGS)], more, None


@example_of("lax.conv_transpose")
def _conv_transpose(draw: Draw) -> Example:
    dtype = draw.other_dtype()
    flipped = draw.chance(0.3)
    signal = an_array(draw, 2, draw.pick([2, 3, 4]), 3, dtype=dtype)
    kernel = an_array(draw, draw.pick([1, 2, 3]), *((2, 3) if flipped else (3, 2)), dtype=dtype)
    more = _more(draw, "rhs_dilation")
    if flipped or draw.chance(0.2):
        more["transpose_kernel"] = flipped
    if draw.chance(0.2):
        more["use_consistent_padding"] = True
    return [signal, kernel, _counts(draw), draw.pick(_PADDINGS)], more, None


@example_of("lax.conv_general_dilated_patches")
def _patches(draw: Draw) -> Example:
    signal = an_array(draw, 2, 2, draw.pick([3, 4]))
    more = _more(draw, "lhs_dilation", "rhs_dilation")
    return [signal, several(draw.pick([1, 2, 3])), _counts(draw), draw.pick(_PADDINGS)], more, None


@example_of("lax.conv_general_dilated_local")
def _local(draw: Draw) -> Example:
    dtype = draw.other_dtype()
    signal, kernel = an_array(draw, 2, 2, 4, dtype=dtype), an_array(draw, 3, 4, draw.pick([3, 3, 3, 2]), dtype=dtype)
    return of(signal, kernel, several(1), "VALID", several(2))


_LAYOUTS = [
    ("NHC", "HIO", "NHC"),
    ("NCH", "OIH", "NCH"),
    ("NCH", "OIH", "NHC"),
    ("NCH", "OIW", "NCH"),
    ("NN", "OI", "NC"),
]


@example_of("lax.conv_dimension_numbers", "lax.conv_general_permutations")
def _numbers(draw: Draw) -> Example:
    layout = several(*draw.pick(_LAYOUTS))
    if draw.function.endswith("permutations"):
        return of(layout)
    shape = several(*draw.pick([(2, 3, 4), (2, 3, 4), (2, 3)]))
    return of(shape, several(4, 3, 3), layout if draw.chance(0.7) else None)


@example_of("lax.conv_shape_tuple", "lax.conv_general_shape_tuple", "lax.conv_transpose_shape_tuple")
def _shapes(draw: Draw) -> Example:
    plain = draw.function.endswith("conv_shape_tuple")
    transposed = draw.function.endswith("transpose_shape_tuple")
    kernel = (4, 3, 3)
    args = [
        several(2, 3, 8),
        several(*kernel),
        _counts(draw),
        draw.pick(_PADDINGS[:1] + _PADDINGS[1:] * (not transposed)),
    ]
    return of(*args) if plain else of(*args, several("NCH", "OIH", draw.pick(["NHC", "NCH"])))


@example_of("lax.padtype_to_pads")
def _pads(draw: Draw) -> Example:
    return of(several(8), several(draw.pick([1, 2, 3])), _counts(draw), draw.pick(_PADDINGS))


@example_of("lax.reduce_window_shape_tuple")
def _window_shape(draw: Draw) -> Example:
    return (
        [several(8), several(draw.pick([1, 2, 3])), _counts(draw), draw.pick(_PADDINGS[4:8])],
        _dilations(draw),
        None,
    )


def _dilations(draw: Draw) -> dict[str, Described]:
    return {name: _counts(draw) for name in ("base_dilation", "window_dilation") if draw.chance(0.3)}


_COMPUTATIONS = ["add", "add", "max", "max", "min", "mul"]
_STARTS = {"add": 0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}


@example_of("lax.reduce", "lax.reduce_window")
def _reduce(draw: Draw) -> Example:
    how = draw.pick(_COMPUTATIONS)
    dtype = (
        draw.pick(["float32", "float32", "float16", "bfloat16", "complex64"]) if how in ("add", "mul") else "float32"
    )
    start: Described = _STARTS[how] if draw.chance(0.9) else 2.0
    if how in ("add", "mul") and draw.chance(0.3):
        dtype, start = "int32", int(_STARTS[how])
    operand = an_array(draw, 3, 4, dtype=dtype)
    computation: Described = {"attribute": f"lax.{how}"}
    if draw.function == "lax.reduce":
        return of(
            operand, start, computation, draw.pick([several(0), several(1), several(0, 1), several(), several(5), 0])
        )
    padding = draw.pick(["SAME", "VALID", "SAME_LOWER", [[0, 1], [1, 0]], [[-1, 1], [0, 2]], "FULL"])
    windows = several(*(draw.pick([1, 2, 3]) for _ in range(2))) if draw.chance(0.95) else several(2)
    named: dict[str, Described] = {}
    for name in ("window_strides", "base_dilation", "window_dilation"):
        if draw.chance(0.4):
            named[name] = several(draw.pick([1, 2]), draw.pick([1, 2, 3]))
    if draw.chance(0.6):
        named["padding"] = padding
    return [operand, start, computation, windows], named, None
