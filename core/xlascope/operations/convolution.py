"""Convolutions: kernels that slide over arrays, in any layout, with strides, dilations and groups."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..ir.requested_dtypes import resolve_requested_dtype
from ..ir.user_frames import user_line, where_text
from ..records.traits import KERNEL, PRODUCT
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute, int64_array
from . import sharding_rules
from .complex_numbers import real_dtype
from .conversion import to_dtype
from .convolution_checks import check_groups, check_sum_type
from .convolution_dims import ConvDimensionNumbers, conv_dimension_numbers
from .convolution_groups import merge_batch_axis, move_groups, split_batch_axis
from .convolution_on_cpu import emit_convolution
from .integer_arguments import whole_number, whole_numbers
from .operand_checks import is_linear, require_kind, require_one_dtype, type_of
from .operand_values import aval, typed_scalar
from .precision import Precisions, pair_of, precision_config, precision_of
from .shapes import broadcast_in_dim
from .slicing import rev
from .tangent_arithmetic import bilinear_taylor_rule, sum_tangents
from .window_shapes import (
    Pairs,
    dilated_size,
    explicit_padding,
    padding_pairs,
    parse_padding_word,
    per_axis_factors,
    window_shape,
)


class ConvGeneralDilated(Operation, name="conv_general_dilated"):
    """out[n, o, p] = Σ lhs[n, i, s p + d k - low] rhs[o, i, k] over features i and kernel positions k.

    s is window_strides, d rhs_dilation, and lhs has lhs_dilation - 1 zeros between its elements. With
    feature_group_count, each group of the input features i contributes to one group of the output features o; with
    batch_group_count the same holds for groups of the batch.
    """

    traits = PRODUCT | KERNEL
    window_strides: tuple[int, ...]
    padding: Pairs
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    dimension_numbers: ConvDimensionNumbers
    feature_group_count: int
    batch_group_count: int
    precision: Precisions
    preferred_element_type: np.dtype[Any] | None

    taylor_rule = bilinear_taylor_rule

    sharding_rule = sharding_rules.convolve

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, w = operands
        require_one_dtype(self.name, x, w)
        require_kind(self.name, x.dtype, "bifc")
        check_groups(self.name, x.shape, w.shape, self)
        dtype = self.preferred_element_type or x.dtype
        check_sum_type(self.name, x.dtype, dtype)
        lhs, rhs, out = self.dimension_numbers
        sizes, kernel = [x.shape[axis] for axis in lhs[2:]], [w.shape[axis] for axis in rhs[2:]]
        for size, dilation, (low, high) in zip(sizes, self.lhs_dilation, self.padding, strict=True):
            if low + high + dilated_size(size, dilation) < 0:
                raise ValueError(f"{self.name}: padding {self.padding} takes more from shape {x.shape} than there is")
        spatial = window_shape(sizes, kernel, self.window_strides, self.padding, self.lhs_dilation, self.rhs_dilation)
        axis_sizes = dict(zip(out, (x.shape[lhs[0]] // self.batch_group_count, w.shape[rhs[0]], *spatial), strict=True))
        return [make_aval(tuple(axis_sizes[axis] for axis in range(x.ndim)), dtype, x.weak_type and w.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x, w), (out,) = operands, builder.out_avals
        if not out.size or any(not operand_aval.size for operand_aval in builder.in_avals):
            return [builder.broadcast(builder.constant(0, make_aval((), out.dtype)), out)]
        # XLA's partitioner leaves out the sum over devices where groups of the batch are summed over a sharded axis.
        may_lose_sums = builder.is_partitioned and self.batch_group_count > 1
        if builder.platform == "cpu" or may_lose_sums:
            written = emit_convolution(builder, self, operands)
            if written is not None:
                return written
        attributes = {name: attribute(text) for name, text in self._attributes.items()}
        strides = ("window_strides", "lhs_dilation", "rhs_dilation")
        attributes.update({name: int64_array(getattr(self, name)) for name in strides})
        if dtype_kind(out.dtype) != "c":
            return builder.emit("stablehlo.convolution", operands, attributes)  # type: ignore[no-any-return]
        return [_emit_complex(builder, x, w, attributes)]

    @functools.cached_property
    def _attributes(self) -> dict[str, str]:
        """Return the text of StableHLO attributes, by name."""
        lhs, rhs, out = (
            _stablehlo_spec(spec, first) for spec, first in zip(self.dimension_numbers, ("bf", "oi", "bf"), strict=True)
        )
        rank = len(self.padding)
        pairs = ", ".join(f"[{low}, {high}]" for low, high in self.padding)
        dense = f"[{pairs}]" if rank else ""
        return {
            "dimension_numbers": f"#stablehlo.conv<{lhs}x{rhs}->{out}>",
            "padding": f"dense<{dense}> : tensor<{rank}x2xi64>",
            "feature_group_count": f"{self.feature_group_count} : i64",
            "batch_group_count": f"{self.batch_group_count} : i64",
            "precision_config": precision_config(self.precision),
        }

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        _, rhs, _ = self.dimension_numbers
        return 2 * results[0].size * math.prod(operands[1].shape[axis] for axis in rhs[1:])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, w), (tx, tw) = primals, tangents
        parts = [ZERO if tx is ZERO else bind1(self, tx, w), ZERO if tw is ZERO else bind1(self, x, tw)]
        return [bind1(self, x, w)], [sum_tangents(parts)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, w) = cotangents, operands
        dtype = aval(ct).dtype  # wider than the operands' when preferred_element_type is
        ct_x = ct_w = None
        if is_linear(x):
            ct_x = _as_dtype(self._transpose_lhs(ct, _as_dtype(w, dtype), type_of(x).shape), x.aval.dtype)
        if is_linear(w):
            ct_w = _as_dtype(self._transpose_rhs(ct, _as_dtype(x, dtype), type_of(w).shape), w.aval.dtype)
        return [ct_x, ct_w]

    def _sizes(self, lhs: Sequence[int], rhs: Sequence[int], out: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return, for each spatial axis, the dilated sizes of lhs, kernel and result, given the three shapes."""
        specs = [spec[2:] for spec in self.dimension_numbers]
        holes = (self.lhs_dilation, self.rhs_dilation, self.window_strides)
        return [
            (dilated_size(lhs[i], a), dilated_size(rhs[j], b), dilated_size(out[k], c))
            for i, j, k, a, b, c in zip(*specs, *holes, strict=True)
        ]

    def _transpose_lhs(self, ct: Any, w: Any, shape: tuple[int, ...]) -> Any:
        # Each element of lhs is met by kernels that end with it to kernels that start with it: the cotangent, with
        # holes for the strides and a kernel less one around it, is convolved with the reversed kernel, in which the
        # two sorts of features change places. Low padding K - 1 - low puts it in place, the high one gives it lhs's
        # size: L = low' + O + high' - K + 1.
        lhs, rhs, out = self.dimension_numbers
        sizes = self._sizes(shape, aval(w).shape, aval(ct).shape)
        padding = tuple((k - 1 - low, n + low - o) for (n, k, o), (low, _) in zip(sizes, self.padding, strict=True))
        # Grouped input features give grouped output features. Each part of a grouped batch has own features: they come
        # out one group after the other as features, and become parts of the batch.
        groups = max(self.feature_group_count, self.batch_group_count)
        reversed_kernel = rev(w, rhs[2:]) if len(rhs) > 2 else w
        reversed_kernel = move_groups(reversed_kernel, rhs[0], rhs[1], groups)
        numbers = ConvDimensionNumbers(out, (rhs[1], rhs[0], *rhs[2:]), lhs)
        back = ConvGeneralDilated(
            self.lhs_dilation, padding, self.window_strides, self.rhs_dilation, numbers, groups, 1, self.precision, None
        )
        result = bind1(back, ct, reversed_kernel)
        return move_groups(result, lhs[1], lhs[0], self.batch_group_count)

    def _transpose_rhs(self, ct: Any, x: Any, shape: tuple[int, ...]) -> Any:
        # ct_rhs[o, i, k] = Σ lhs[n, i, s p + d k - low] ct[n, o, p] over n and p: lhs is convolved with the cotangent;
        # strides and dilation, batch and features, and their groups change places. The high padding gives it the
        # kernel's size: K = L + low + high' - O + 1.
        lhs, rhs, out = self.dimension_numbers
        sizes = self._sizes(aval(x).shape, shape, aval(ct).shape)
        padding = tuple((low, o + k - 1 - n - low) for (n, k, o), (low, _) in zip(sizes, self.padding, strict=True))
        numbers = ConvDimensionNumbers(
            (lhs[1], lhs[0], *lhs[2:]), (out[1], out[0], *out[2:]), (rhs[1], rhs[0], *rhs[2:])
        )
        back = ConvGeneralDilated(
            self.rhs_dilation,
            padding,
            self.lhs_dilation,
            self.window_strides,
            numbers,
            self.batch_group_count,
            self.feature_group_count,
            self.precision,
            None,
        )
        return bind1(back, x, ct)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # The mapped axis becomes part of an axis whose indices do not meet those of the other operand: of the batch,
        # or of the features that come out. Where both operands are mapped, the examples are groups of a convolution.
        (x, w), (axis_x, axis_w) = operands, axes
        lhs, rhs, out = self.dimension_numbers
        size = aval(w).shape[axis_w] if axis_x is NOT_MAPPED else aval(x).shape[axis_x]
        if not size:
            return [self._empty_result(operands, axes)], [0]
        features, batches = self.feature_group_count, self.batch_group_count
        if axis_w is NOT_MAPPED:
            result = bind1(self, merge_batch_axis(x, axis_x, lhs[0], batches), w)
            return [split_batch_axis(result, out[0], size, 1)], [0]
        if axis_x is NOT_MAPPED:
            groups = max(features, batches)
            result = bind1(self, x, merge_batch_axis(w, axis_w, rhs[0], groups))
            return [split_batch_axis(result, out[1], size, groups)], [0]
        if batches > 1:
            x, batches = merge_batch_axis(x, axis_x, lhs[0], 1), batches * size
        else:
            x, features = merge_batch_axis(x, axis_x, lhs[1], 1), features * size
        return [
            split_batch_axis(
                bind1(self.with_groups(features, batches), x, merge_batch_axis(w, axis_w, rhs[0], 1)), out[1], size, 1
            )
        ], [0]

    def with_groups(self, features: int, batches: int) -> ConvGeneralDilated:
        """Return the same convolution with ``features`` feature groups and ``batches`` batch groups."""
        return ConvGeneralDilated(
            self.window_strides,
            self.padding,
            self.lhs_dilation,
            self.rhs_dilation,
            self.dimension_numbers,
            features,
            batches,
            self.precision,
            self.preferred_element_type,
        )

    def _empty_result(self, operands: Sequence[Any], axes: Sequence[Any]) -> Any:
        """Return the result for a batch of size 0, whose batch axis is in front."""
        types = [aval(x) for x in operands]
        example_avals = [
            t if axis is NOT_MAPPED else make_aval((*t.shape[:axis], *t.shape[axis + 1 :]), t.dtype)
            for t, axis in zip(types, axes, strict=True)
        ]
        (out,) = self.abstract_eval(example_avals)
        return broadcast_in_dim(typed_scalar(0, out.dtype), (0, *out.shape), ())


def _stablehlo_spec(spec: Sequence[int], first: str) -> str:
    """Format a specification for StableHLO, a letter or number for each axis: ``[b, 0, 1, f]``.

    ``first`` has the letters of the first two axes of ``spec``; the others are numbered.
    """
    letter_by_axis = dict(zip(spec, (*first, *map(str, range(len(spec) - 2))), strict=True))
    return "[" + ", ".join(letter_by_axis[axis] for axis in range(len(spec))) + "]"


def _emit_complex(builder: Any, x: Any, w: Any, attributes: dict[str, Any]) -> Any:
    """Return the MLIR value of a complex convolution, computed from real ones, the only ones XLA supports.

    ``x`` and ``w`` are the MLIR operands, ``attributes`` those of the StableHLO convolution.
    """
    (aval_x, aval_w), (out,) = builder.in_avals, builder.out_avals
    real = make_aval(out.shape, real_dtype(out.dtype))

    def part(name: str, value: Any, type_: ShapedArray) -> Any:
        return builder.emit1(f"stablehlo.{name}", [value], make_aval(type_.shape, real_dtype(type_.dtype)))

    def product(of_x: str, of_w: str) -> Any:
        return builder.emit1("stablehlo.convolution", [part(of_x, x, aval_x), part(of_w, w, aval_w)], real, attributes)

    difference = builder.emit1("stablehlo.subtract", [product("real", "real"), product("imag", "imag")], real)
    total = builder.emit1("stablehlo.add", [product("real", "imag"), product("imag", "real")], real)
    return builder.emit1("stablehlo.complex", [difference, total], out)


def _as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if aval(x).dtype == dtype else to_dtype(x, dtype)


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return the convolution of ``lhs`` with the kernel ``rhs``, along any number of spatial axes.

    The kernel slides over ``lhs`` without being flipped, and products are summed. ``lhs`` has a batch axis, a feature
    axis and spatial axes; ``rhs`` an axis of output features, one of input features and spatial axes; in this order or
    as ``dimension_numbers`` say: three strings, for lhs, rhs and the result, such as ``("NHWC", "HWIO", "NHWC")``, or
    :class:`ConvDimensionNumbers`. The kernel moves by ``window_strides``. ``padding`` is "VALID", "SAME", "SAME_LOWER"
    or (low, high) for each spatial axis; negative numbers crop. ``lhs_dilation`` and ``rhs_dilation`` of d put d - 1
    zeros between neighbours. With ``feature_group_count`` groups, each group of input features contributes to one group
    of output features; with ``batch_group_count`` groups, each group of the batch does. Operands have one dtype; sums
    are computed and returned in ``preferred_element_type`` if that is given.

    Raises TypeError for operands of different dtypes or ranks, ValueError for sizes that do not fit, for padding by
    name together with ``lhs_dilation`` (:func:`conv_transpose` has it), and for strides, dilations or numbers of groups
    below 1; all name the argument.

    >>> from xlascope import lax, numpy as jnp
    >>> image, kernel = jnp.ones((1, 1, 4, 4)), jnp.ones((1, 1, 3, 3))
    >>> print(lax.conv_general_dilated(image, kernel, (1, 1), "SAME")[0, 0])
    [[4. 6. 6. 4.]
     [6. 9. 9. 6.]
     [6. 9. 9. 6.]
     [4. 6. 6. 4.]]
    """
    operation = build_convolution(
        (aval(lhs).shape, aval(rhs).shape),
        dimension_numbers,
        window_strides,
        padding,
        (lhs_dilation, rhs_dilation),
        (feature_group_count, batch_group_count),
        _precision(precision),
        None if preferred_element_type is None else resolve_requested_dtype(preferred_element_type),
    )
    return bind1(operation, lhs, rhs)


def build_convolution(
    shapes: tuple[Sequence[int], Sequence[int]],
    dimension_numbers: Any,
    window_strides: Any,
    padding: Any,
    dilations: tuple[Any, Any] = (None, None),
    groups: tuple[Any, Any] = (1, 1),
    precision: Precisions = None,
    dtype: np.dtype[Any] | None = None,
) -> ConvGeneralDilated:
    """Build the operation for operands of two shapes from arguments as users write them.

    ``shapes`` are those of lhs and rhs, ``dilations`` are (lhs_dilation, rhs_dilation), ``groups`` are
    (feature_group_count, batch_group_count), ``dtype`` is preferred_element_type. Raises the errors of
    :func:`conv_general_dilated` for invalid arguments.
    """
    name = "of conv_general_dilated"
    x, w = shapes
    numbers = conv_dimension_numbers(x, w, dimension_numbers)
    rank = len(x) - 2
    if rank < 0:
        raise ValueError(f"lhs and rhs {name} have at least two axes, got shapes {x} and {w}{where_text(user_line())}")
    strides = per_axis_factors(whole_numbers(window_strides, f"window_strides {name}"), rank, f"window_strides {name}")
    of_lhs = per_axis_factors(dilations[0], rank, f"lhs_dilation {name}")
    of_rhs = per_axis_factors(dilations[1], rank, f"rhs_dilation {name}")
    if isinstance(padding, str):
        word = parse_padding_word(padding, f"padding {name}")
        if any(dilation != 1 for dilation in of_lhs):
            raise ValueError(
                f"padding {name} is (low, high) for each axis where there is an lhs_dilation, got {padding!r} with "
                f"{of_lhs}{where_text(user_line())}; conv_transpose takes it by name"
            )
        kernel = [dilated_size(w[axis], d) for axis, d in zip(numbers.rhs_spec[2:], of_rhs, strict=True)]
        pairs = explicit_padding([x[axis] for axis in numbers.lhs_spec[2:]], kernel, strides, word)
    else:
        pairs = padding_pairs(padding, rank, f"padding {name}")
    features, batches = groups
    return ConvGeneralDilated(
        strides,
        pairs,
        of_lhs,
        of_rhs,
        numbers,
        whole_number(features, f"feature_group_count {name}"),
        whole_number(batches, f"batch_group_count {name}"),
        precision,
        dtype,
    )


def _precision(precision: Any) -> Precisions:
    return pair_of(precision_of(precision))  # algorithms are for products of matrices
