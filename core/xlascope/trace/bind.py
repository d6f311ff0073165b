"""Entry point of every operation: dispatch to the current trace, or run on the device when there is none."""

from __future__ import annotations

from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation, Primitive
from ..xla.arrays import array_members  # noqa: F401  (gives arrays their face)
from ..xla.execution.call_cache import set_tracer_class
from ..xla.execution.eager import execute, execute_single, require_live_operands
from ..xla.system.hooks import HOOKS
from . import methods  # noqa: F401  (gives arrays and tracers their methods)
from .operand_coercion import unwrap_operand
from .state import STATE
from .tracer import TracerBase, leaked_error
from .values import aval_of


def _concrete_aval(x: Any) -> ShapedArray:
    """Return the type of an operand of an operation that runs outside of any trace.

    Raises UnexpectedTracerError for a tracer: its trace has ended.
    """
    if isinstance(x, TracerBase):
        raise leaked_error(x)
    return aval_of(x)


HOOKS.operand_aval, HOOKS.unwrap_operand = _concrete_aval, unwrap_operand
set_tracer_class(TracerBase)


def bind(operation: Operation, *operands: Any) -> list[Any]:
    """Apply an operation under the current trace, or run it on the device; return the list of its results."""
    trace = STATE.trace
    if trace is None:
        return execute(operation, operands)
    results: list[Any] = trace.bind(operation, operands)
    return results


def bind1(operation: Operation, *operands: Any) -> Any:
    """Apply an operation that has one result, like :func:`bind`, and return the result."""
    trace = STATE.trace
    if trace is not None:
        return trace.bind(operation, operands)[0]
    function = operation.eager_function
    if function is None:
        return execute_single(operation, operands)
    try:  # inlined execute_single, here and below
        return function(*operands)
    except ValueError as error:
        require_live_operands(error, operation, operands)
        raise


def bind_inexact(operation: Operation, x: Any) -> Any:
    """Apply a unary operation with one result to a floating-point or complex operand and return the result.

    A Python int is converted to float first.
    """
    if x.__class__ is int:
        x = float(x)
    trace = STATE.trace
    if trace is not None:
        return trace.bind(operation, (x,))[0]
    function = operation.eager_function
    if function is None:
        return execute_single(operation, (x,))
    try:
        return function(x)
    except ValueError as error:
        require_live_operands(error, operation, (x,))
        raise


Primitive.binder = staticmethod(bind)
