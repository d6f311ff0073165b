"""Products of narrow numbers with shared scales, one for each block along the contracting axes.

This is the scheme of the microscaling formats (Open Compute Project, "Microscaling Formats (MX) Specification",
2023): blocks of 32 numbers of 8 bits or less, with a power of two.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import bfloat16, is_differentiable
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..ir.requested_dtypes import resolve_requested_dtype
from ..records.traits import PRODUCT
from ..trace.bind import bind1
from ..trace.jaxpr_trace import stage
from ..trace.source import here
from . import sharding_rules
from .arithmetic import mul
from .complex_numbers import real_dtype
from .conversion import to_dtype
from .dot_product import DimensionNumbers, DotGeneral
from .operand_checks import require_kind
from .operand_values import aval
from .shapes import broadcast_in_dim, full, mapped_in_front, reshape
from .tangent_arithmetic import sum_tangents


class ScaledDot(Operation, name="scaled_dot"):
    """Product of two operands, each multiplied with its block scales.

    It is emitted as the composite that XLA recognizes, so that hardware with scaled products need not expand the
    scales.
    """

    traits = PRODUCT
    dimension_numbers: DimensionNumbers
    preferred_element_type: np.dtype[Any]

    sharding_rule = sharding_rules.product

    @property
    def compute_dtype(self) -> np.dtype[Any]:
        """Return the dtype to compute in, as in JAX: bfloat16, or a wider type where the result has one."""
        result_dtype = self.preferred_element_type
        if result_dtype.kind == "c":
            return real_dtype(result_dtype)
        return result_dtype if result_dtype.kind == "f" and result_dtype.itemsize > bfloat16.itemsize else bfloat16

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y, scale_x, scale_y = operands
        for operand in operands:
            require_kind(self.name, operand.dtype, "bif")
        (contract_x, contract_y), _ = self.dimension_numbers
        (out,) = _dot_general_of(self).abstract_eval([make_aval(x.shape, bfloat16), make_aval(y.shape, bfloat16)])
        _check_scale("lhs", x.shape, scale_x.shape, contract_x)
        _check_scale("rhs", y.shape, scale_y.shape, contract_y)
        return [make_aval(out.shape, self.preferred_element_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        attributes = {
            "dimension_numbers": self.dimension_numbers,
            "preferred_element_type": self.preferred_element_type,
        }
        program = _decomposition(self, tuple(builder.in_avals))
        return builder.call_composite(program, operands, "xla.scaled_dot", attributes, 0)  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return _dot_general_of(self).flops(operands[:2], results) + operands[0].size + operands[1].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # (x s) (y t) moves by (dx s + x ds) (y t) + (x s) (dy t + y dt).
        result = bind1(self, *primals)
        if not is_differentiable(self.preferred_element_type):
            return [result], [ZERO]
        x, y, scale_x, scale_y = primals
        tx, ty, t_scale_x, t_scale_y = tangents
        lhs_tangent = self._scaled_tangent(x, scale_x, tx, t_scale_x, 0)
        rhs_tangent = self._scaled_tangent(y, scale_y, ty, t_scale_y, 1)
        parts = [
            ZERO
            if lhs_tangent is ZERO
            else bind1(_dot_general_of(self), lhs_tangent, self._apply_scale(y, scale_y, 1)),
            ZERO
            if rhs_tangent is ZERO
            else bind1(_dot_general_of(self), self._apply_scale(x, scale_x, 0), rhs_tangent),
        ]
        return [result], [self._result(sum_tangents(parts))]

    def _scaled_tangent(self, x: Any, scale: Any, t: Any, t_scale: Any, side: int) -> Any:
        parts = [
            ZERO if t is ZERO else self._apply_scale(t, scale, side),
            ZERO if t_scale is ZERO else self._apply_scale(x, t_scale, side),
        ]
        return sum_tangents(parts)

    def _apply_scale(self, x: Any, scale: Any, side: int) -> Any:
        """Return an operand times its scales, each broadcast over its block.

        ``side`` is 0 for the left and 1 for the right operand.
        """
        contract, shape = self.dimension_numbers[0][side], aval(x).shape
        blocked_shape: list[int] = []
        scale_axes = []
        for axis, size in enumerate(aval(scale).shape):
            scale_axes.append(len(blocked_shape))
            blocked_shape += (size, shape[axis] // size) if axis in contract else (size,)
        scales = to_dtype(scale, self.compute_dtype)
        scales = reshape(broadcast_in_dim(scales, tuple(blocked_shape), tuple(scale_axes)), shape)
        return mul(to_dtype(x, self.compute_dtype), scales)

    def _result(self, product: Any) -> Any:
        return product if product is ZERO else to_dtype(product, self.preferred_element_type)

    def expand(self, x: Any, y: Any, scale_x: Any, scale_y: Any) -> list[Any]:
        """Return the product, in a list, in operations that every compiler supports."""
        return [
            self._result(
                bind1(_dot_general_of(self), self._apply_scale(x, scale_x, 0), self._apply_scale(y, scale_y, 1))
            )
        ]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if isinstance(a, int))
        (contract_x, contract_y), (batch_x, batch_y) = self.dimension_numbers
        numbers = (
            (tuple(i + 1 for i in contract_x), tuple(i + 1 for i in contract_y)),
            ((0, *(i + 1 for i in batch_x)), (0, *(i + 1 for i in batch_y))),
        )
        mapped = [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
        return [bind1(ScaledDot(numbers, self.preferred_element_type), *mapped)], [0]


def _dot_general_of(operation: ScaledDot) -> DotGeneral:
    return DotGeneral(operation.dimension_numbers, None, operation.compute_dtype)


@functools.lru_cache(maxsize=256)
def _decomposition(operation: ScaledDot, avals: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    return stage(operation.expand, avals, "scaled_dot")


def _check_scale(name: str, shape: Sequence[int], scale: Sequence[int], contract: Sequence[int]) -> None:
    """Raise TypeError unless the shape ``scale`` of the scales fits the shape of their operand.

    ``name`` is ``lhs`` or ``rhs``, for the message; ``contract`` are the operand's contracting axes.
    """
    if len(scale) != len(shape):
        raise TypeError(f"{name}_scale has as many axes as {name}, {len(shape)}, got shape {tuple(scale)}{here()}")
    for axis, (size, blocks) in enumerate(zip(shape, scale, strict=True)):
        if axis not in contract and size != blocks:
            raise TypeError(
                f"{name}_scale has the size of {name} along axes that are not contracted, got {blocks} instead of "
                f"{size} along axis {axis}{here()}"
            )
        if axis in contract and (not blocks or size % blocks or size < 2 * blocks):
            raise TypeError(
                f"{name}_scale has a scale for each block of two or more along contracting axes, got {blocks} for "
                f"{size} along axis {axis}{here()}"
            )


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Return the product of ``lhs * lhs_scale`` and ``rhs * rhs_scale``, where a scale holds for a block of numbers.

    Scales have the shape of their operand, except that a contracting axis is shorter by a whole factor of at least 2,
    the size of a block; None stands for ones. ``dimension_numbers`` are those of ``dot_general``; None stands for the
    matrix product of stacks of matrices. The result has the dtype ``preferred_element_type``, by default bfloat16, and
    is computed in it if that is a wider float, otherwise in bfloat16. Unlike in JAX, derivatives are defined. Hardware
    with scaled products (float8 with scales of float8_e8m0fnu) takes the scales directly.

    Raises TypeError for shapes that do not fit, and for complex operands.

    >>> from xlascope import lax, numpy as jnp
    >>> x = jnp.ones((1, 4), "float8_e4m3fn")
    >>> print(lax.scaled_dot(x, x.T, lhs_scale=jnp.array([[1.0, 3.0]])))
    [[8]]
    """
    x, y = aval(lhs), aval(rhs)
    if dimension_numbers is None:
        if x.ndim < 2 or x.ndim != y.ndim:
            raise TypeError(
                "scaled_dot takes matrices, or stacks of them, where there are no dimension_numbers, got shapes "
                f"{x.shape} and {y.shape}{here()}"
            )
        lead = tuple(range(x.ndim - 2))
        dimension_numbers = ((x.ndim - 1,), (x.ndim - 2,)), (lead, lead)
    (contract_x, contract_y), (batch_x, batch_y) = dimension_numbers
    numbers = (tuple(contract_x), tuple(contract_y)), (tuple(batch_x), tuple(batch_y))
    dtype = bfloat16 if preferred_element_type is None else resolve_requested_dtype(preferred_element_type)
    scale_x = _unit_scales(x, numbers[0][0]) if lhs_scale is None else lhs_scale
    scale_y = _unit_scales(y, numbers[0][1]) if rhs_scale is None else rhs_scale
    return bind1(ScaledDot(numbers, dtype), lhs, rhs, scale_x, scale_y)


def _unit_scales(x: ShapedArray, contract: Sequence[int]) -> Any:
    """Return scales of one, with one block along each contracting axis."""
    sizes = tuple([1 if axis in contract else size for axis, size in enumerate(x.shape)])
    return full(sizes, ml_dtypes.float8_e8m0fnu(1))
