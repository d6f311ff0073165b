"""Differentiation inside of a checked shard_map: tangents that meet values that vary from device to device.

Before an operation mixes a tangent that is the same on all devices with a value that is not, the tangent becomes one
that varies (:class:`~xlascope.operations.varying_axes.PVary`), whose transpose sums over the devices. Outside of such a
shard_map nothing is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.operation import Operation
from ..operations.varying_axes import PVary, missing_axes
from ..trace.jaxpr_trace import emit_each
from ..trace.op_sequence import OpSequence
from ..trace.state import STATE
from ..trace.values import aval_of
from .jvp_trace import JVPTrace, JVPTracer
from .linear_trace import LinearTrace, LinearTracer


class VaryingLinearTrace(LinearTrace):
    """Trace that records operations on its tangents, which vary as the other operands do."""

    __slots__ = ()

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        axes = operation.operand_varying_axes([aval_of(x) for x in operands], STATE.checked_axes)
        if axes:
            operands = [self.make_varying(x, axes) for x in operands]
        return super().bind(operation, operands)

    def emit(self, steps: OpSequence, values: list[Any], used: Sequence[int]) -> None:
        emit_each(self, steps, values, used)

    def make_varying(self, x: Any, axes: Any) -> Any:
        """Return an operand, if it is a tangent of this trace as one that varies along ``axes``."""
        if x.__class__ is not LinearTracer or x._trace is not self:
            return x
        missing = missing_axes(x.aval, axes)
        return super().bind(PVary(missing), [x])[0] if missing else x


class VaryingJVPTrace(JVPTrace):
    """Trace that differentiates each operation, after the tangents of its operands vary as the operands do."""

    __slots__ = ()

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        axes = operation.operand_varying_axes([aval_of(x) for x in operands], STATE.checked_axes)
        if axes:
            operands = [self._make_tangent_varying(x, axes) for x in operands]
        return [self._make_tangent_varying(y, y.aval.varying) for y in super().bind(operation, operands)]

    def _make_tangent_varying(self, x: Any, axes: Any) -> Any:
        if x.__class__ is not JVPTracer or x._trace is not self or self.recorder.__class__ is not VaryingLinearTrace:
            return x
        tangent = self.recorder.make_varying(x.tangent, axes)
        return x if tangent is x.tangent else JVPTracer(self, x.primal, tangent)


def start_jvp_trace(parent: Any, recorder: LinearTrace | None = None) -> JVPTrace:
    """Return a trace that differentiates operations; ``parent`` is the enclosing trace."""
    return (VaryingJVPTrace if STATE.checked_axes else JVPTrace)(parent, recorder)


def start_linear_trace(parent: Any) -> LinearTrace:
    """Return a trace that records operations on tangents; ``parent`` is the enclosing trace."""
    return (VaryingLinearTrace if STATE.checked_axes else LinearTrace)(parent)


__all__ = ["start_jvp_trace", "start_linear_trace"]
