"""Entry point of every operation: dispatch to the current trace, or run on the device when there is none."""

from __future__ import annotations

from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation, Primitive
from ..xla.arrays import arrays  # noqa: F401  (gives arrays their face)
from ..xla.running.call_cache import set_tracer_class
from ..xla.running.eager import run, run1
from ..xla.system.hooks import HOOKS
from . import methods  # noqa: F401  (gives arrays and tracers their methods)
from .gate import opened
from .state import STATE
from .tracer import Tracer, leaked_error
from .values import aval_of


def _concrete_aval(x: Any) -> ShapedArray:
    """Return the type of an operand of an eager operation; raise for a tracer, which has escaped its function."""
    if isinstance(x, Tracer):
        raise leaked_error(x)
    return aval_of(x)


HOOKS.operand_aval, HOOKS.opened = _concrete_aval, opened
set_tracer_class(Tracer)


def bind(operation: Operation, *operands: Any) -> list[Any]:
    """Apply an operation to operands and return the list of its results."""
    trace = STATE.trace
    if trace is None:
        return run(operation, operands)
    results: list[Any] = trace.bind(operation, operands)
    return results


def bind1(operation: Operation, *operands: Any) -> Any:
    """Apply an operation that has one result, and return it."""
    trace = STATE.trace
    if trace is None:
        return run1(operation, operands)
    return trace.bind(operation, operands)[0]


def bind_inexact(operation: Operation, x: Any) -> Any:
    """Apply a unary operation to floating-point operands; a Python int is converted to float first."""
    operands = (float(x) if x.__class__ is int else x,)
    trace = STATE.trace
    if trace is None:
        return run1(operation, operands)
    return trace.bind(operation, operands)[0]


Primitive.binder = staticmethod(bind)
