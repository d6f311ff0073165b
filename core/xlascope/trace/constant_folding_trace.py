"""The trace inside of ``ensure_compile_time_eval``: what is known is computed now, the rest is traced as outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.operation import Operation
from ..xla.execution.eager import execute
from .jaxpr_trace import emit_each, emit_each_at
from .op_sequence import OpSequence
from .state import STATE
from .tracer import TracerBase


class ConstantFoldingTrace:
    """Trace that executes operations on known operands, and hands those with traced operands to its ``parent``."""

    __slots__ = ("alive", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging = False
        self.alive = True

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation: now if no operand is traced, else under the enclosing trace; return its results."""
        is_traced = any(isinstance(x, TracerBase) for x in operands)
        previous = STATE.trace, STATE.origin
        try:
            if is_traced:
                STATE.trace = self.parent
                results: list[Any] = self.parent.bind(operation, operands)
                return results
            STATE.trace = STATE.origin = None
            return execute(operation, operands)
        finally:
            STATE.trace, STATE.origin = previous

    def emit(self, steps: OpSequence, values: list[Any], used: Sequence[int]) -> None:
        """Apply the operations of a sequence one by one, and append their results to ``values``, at first its inputs.

        ``used`` are the indices of the inputs that operations use.
        """
        emit_each(self, steps, values, used)

    def emit_at(
        self, steps: OpSequence, values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
    ) -> None:
        """Apply the operations of a sequence like :meth:`emit`, at a given user line.

        ``code`` and ``lasti`` are the line: a code object and the offset of an instruction. ``origin`` is the full
        origin, if it is not None.
        """
        emit_each_at(self, steps, values, used, code, lasti, origin)
