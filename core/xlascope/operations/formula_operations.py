"""Elementwise functions that compilers lack: programs of other operations that appear as one operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import ClosedJaxpr
from ..ir.operation import Operation
from ..runtime.boot import enable_x64
from ..trace.bind import bind
from ..trace.jaxpr_trace import stage
from ..trace.source import here
from . import sharding_rules
from .conversion import convert_element_type, to_dtype
from .elementwise import align, stretch_values
from .operand_checks import broadcast_shape

Formula = Callable[..., Any]


def emit_formula(builder: Any, formula: Formula, operands: Sequence[Any], double: bool = False) -> list[Any]:
    """Emit an elementwise function of operands of one floating-point dtype; return the MLIR results.

    ``formula`` computes it by other operations, on arrays of float32, or float64 for float64 operands. ``operands`` are
    the MLIR operands of the current equation. ``double`` computes float32 results in float64, and rounds once.
    """
    (out,) = builder.out_avals
    if double and out.dtype == np.float32:
        program = _stage_in_double(formula, out.shape, len(operands), None)
        return builder.call_formula(program, list(stretch_values(builder, operands)))  # type: ignore[no-any-return]
    program = _stage_formula(formula, out.shape, out.dtype, len(operands))
    return builder.call_formula(program, list(stretch_values(builder, operands)))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=256)
def _stage_formula(formula: Formula, shape: tuple[int, ...], dtype: np.dtype[Any], count: int) -> ClosedJaxpr:
    """Return the jaxpr of a formula of ``count`` arrays of that shape and dtype, computed in float32 at least."""
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)

    def formula_in_wide_dtype(*xs: Any) -> list[Any]:
        widened = xs if dtype == wide else [to_dtype(x, wide) for x in xs]
        result = formula(*widened)
        return [result if dtype == wide else to_dtype(result, dtype)]

    return stage(formula_in_wide_dtype, [make_aval(shape, dtype)] * count, formula.__name__)


# In double precision ------------------------------------------------------------------------------------------------


class InDouble(Operation, name="in_double"):
    """Elementwise function of float32, computed in float64 and rounded once.

    It is for formulas that lose too many digits in single precision. ``formula`` takes float64 arrays and the relative
    error that it may leave, and returns ``results`` arrays; ``enable_x64`` is set while it is staged. The operation has
    no derivative: its caller defines one.
    """

    formula: Formula
    results: int = 1

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        shape = operands[0].shape
        for x in operands:
            if x.dtype != np.float32:
                raise TypeError(f"{self.name} takes float32, got {x.dtype}{here()}")
            shape = broadcast_shape(self.name, shape, x.shape)
        weak = all(x.weak_type for x in operands)
        return [make_aval(shape, np.dtype(np.float32), weak)] * self.results

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        program = _stage_in_double(self.formula, builder.out_avals[0].shape, len(operands), _MAX_RELATIVE_ERROR)
        return builder.call_formula(program, list(stretch_values(builder, operands)))  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError(f"{self.name} has no derivative: give its formula a rule by custom_jvp{here()}")

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *align(operands, axes)), [0] * self.results


def compute_in_double(formula: Formula, *xs: Any, results: int = 1) -> list[Any]:
    """Evaluate a formula of the float32 arrays ``xs`` in double precision and return the rounded results.

    ``formula`` takes the arrays in float64 and the relative error that it may leave; it returns ``results`` arrays.
    """
    return bind(_cached_operation(formula, results), *xs)


#: A relative error that is invisible once a number is rounded to single precision.
_MAX_RELATIVE_ERROR = 2.0**-34


@functools.cache
def _cached_operation(formula: Formula, results: int) -> InDouble:
    return InDouble(formula, results)  # operations that hold functions are compared by identity


@functools.lru_cache(maxsize=256)
def _stage_in_double(formula: Formula, shape: tuple[int, ...], count: int, error: float | None) -> ClosedJaxpr:
    """Return the jaxpr of a formula of ``count`` float32 arrays of that shape, computed in float64.

    ``error`` is the relative error that the formula may leave, its last argument; None passes no such argument.
    """

    def formula_in_double(*xs: Any) -> list[Any]:
        wide = [convert_element_type(x, np.float64) for x in xs]
        value = formula(*wide) if error is None else formula(*wide, error)
        return [convert_element_type(y, np.float32) for y in (value if isinstance(value, (list, tuple)) else [value])]

    was_wide = enable_x64.swap_local(True)
    try:
        return stage(formula_in_double, [make_aval(shape, np.dtype(np.float32))] * count, formula.__name__)
    finally:
        enable_x64.swap_local(was_wide)
