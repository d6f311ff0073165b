"""Vectorization: values with a mapped axis, each operation applied by its ``batch_rule``.

A mapped axis may have a name. Collectives over it are evaluated by the trace that maps over it, whether or
not their operands are mapped; so are the programs held by other operations (a jitted call, a loop) that
contain such collectives. The rules of those operations read the name from ``STATE.batch`` while they run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

from ..ir.atoms import NO_LINE
from ..ir.avals import ShapedArray, make_aval, with_varying_axes
from ..ir.explicit_sharding import with_explicit_axis, without_explicit_axis
from ..ir.markers import NOT_MAPPED
from ..ir.operation import Operation
from ..lru_cache import FastLRUCache
from ..operations.collectives import CollectiveOperation, axis_names_of
from ..runtime.boot import enable_x64, settings_of_traces, trace_settings
from ..trace.jaxpr_trace import emit_each, emit_each_at
from ..trace.op_sequence import OpSequence
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.trace_cache import ARRAY_TYPES
from ..trace.trace_recording import (
    NOT_RECORDABLE,
    RecordedTrace,
    find_trace,
    operand_key,
    record_trace,
    replay_trace,
)
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.execution.eager import execute


class BatchTracer(TracerBase):
    """Tracer for one example of a batch: ``value`` holds all examples, which lie along its axis ``axis``."""

    __slots__ = ("_trace", "aval", "axis", "value")

    def __init__(self, trace: BatchTrace, value: Any, axis: int) -> None:
        self._trace = trace
        self.value = value
        self.axis = axis
        batch_aval = aval_of(value)
        self.aval = remove_axis(batch_aval, axis)

    def inner(self) -> Any:
        return self.value


ARRAY_TYPES.add(BatchTracer)
_new_tracer: Callable[[type[BatchTracer]], BatchTracer] = object.__new__


class _BatchedSequence(NamedTuple):
    """Batched form of a sequence of operations.

    ``outputs`` has for each value that is used after the sequence: its index among the values of the
    sequence, its index among the values of ``recorded``, its batch axis, and the type of one example.
    """

    recorded: RecordedTrace
    outputs: tuple[tuple[int, int, Any, ShapedArray], ...]


#: The entry for operations whose rules have to run.
_NOT_RECORDED: Final = _BatchedSequence(NOT_RECORDABLE, ())


class BatchTrace:
    """Trace that applies each operation to all examples at once; ``parent`` is the enclosing trace."""

    __slots__ = ("alive", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True

    def emit(self, steps: OpSequence, values: list[Any], used: Sequence[int]) -> None:
        """Apply the operations of a sequence, by its recorded batched form, and append their results to ``values``.

        ``values`` are at first the inputs of the sequence; ``used`` are the indices of those inputs that
        operations use.
        """
        origin = STATE.origin
        if origin is None:
            code, lasti = user_frame(2)
        else:
            if origin.lasti == NO_LINE:
                origin = with_line(origin, 3)
            code, lasti = origin.code, origin.lasti
        self.emit_at(steps, values, used, code, lasti, origin)

    def emit_at(
        self, steps: OpSequence, values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
    ) -> None:
        """Apply the operations of a sequence like :meth:`emit`, at a given user line.

        ``code`` and ``lasti`` are the line: a code object and the offset of an instruction. ``origin`` is the
        full origin, if it is not None.
        """
        parent = self.parent
        inputs: list[Any] = []
        kinds: list[Any] = [enable_x64.value, trace_settings.value and settings_of_traces()]
        mapped = False
        for i in steps.input_indices:
            x = values[i]
            if x.__class__ is BatchTracer and x._trace is self:
                kinds.append(x.axis)
                x = x.value
                mapped = True
            inputs.append(x)
            kinds.append(x.aval if x.__class__ in ARRAY_TYPES else operand_key(x))
        if not mapped:
            if parent is not None:
                parent.emit_at(steps, values, used, code, lasti, origin)
            else:
                _run_eagerly(steps, values)
            return
        key = tuple(kinds)  # inlined find_trace key
        entry = steps.batched_traces.get(key) or steps.batched_traces.promote(key)
        if entry is None:
            entry = steps.batched_traces.insert(key, _record_batched(self, steps, inputs, values))
        if entry is _NOT_RECORDED:
            emit_each_at(self, steps, values, used, code, lasti, origin)
            return
        recorded, outputs = entry
        inputs += recorded.literals if self.staging else recorded.constants
        if parent is not None:
            parent.emit_at(recorded.steps, inputs, recorded.used_operands, code, lasti, origin)
        else:
            _run_eagerly(recorded.steps, inputs)
        values += [None] * (steps.value_count - steps.input_count)
        for index, result, axis, aval in outputs:
            if axis is NOT_MAPPED:
                values[index] = inputs[result]
            else:
                values[index] = tracer = _new_tracer(BatchTracer)
                tracer._trace = self
                tracer.value = inputs[result]
                tracer.axis = axis
                tracer.aval = aval

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results: tracers of this trace where they differ between examples."""
        if operation.stage_rule is not None:  # its function may close over mapped values
            return operation.stage_rule(self, operands)
        values: list[Any] = []
        axes: list[Any] = []
        mapped = False
        for x in operands:
            if x.__class__ is BatchTracer and x._trace is self:
                values.append(x.value)
                axes.append(x.axis)
                mapped = True
            else:
                values.append(x)
                axes.append(NOT_MAPPED)
        if not mapped:
            return execute(operation, values) if self.parent is None else self.parent.bind(operation, values)
        previous = STATE.trace
        try:
            STATE.trace = self.parent
            results, out_axes = _apply_batch_rule(operation, values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def _run_eagerly(steps: OpSequence, values: list[Any]) -> None:
    """Run the operations of a sequence on the device and append their results to ``values``."""
    for operation, operands_in, _ in steps:
        values += execute(operation, operands_in(values))


def _record_batched(
    trace: BatchTrace, steps: OpSequence, inputs: Sequence[Any], values: Sequence[Any]
) -> _BatchedSequence:
    """Record the batched form of a sequence, for inputs with the types and batch axes of the given ones.

    ``values`` are the inputs of the sequence, ``inputs`` those that operations use, with all examples. The
    result is ``_NOT_RECORDED`` if an operation cannot be recorded.
    """
    if not all(operation.is_recordable and operation.stage_rule is None for operation, _, _ in steps):
        return _NOT_RECORDED
    outputs: list[tuple[Any, ShapedArray]] = []

    def rule(operands: Sequence[Any]) -> list[Any]:
        inner = BatchTrace(STATE.trace)
        numbered: list[Any] = [None] * steps.input_count
        for i in steps.constant_indices:
            numbered[i] = values[i]
        for i, x in zip(steps.input_indices, operands, strict=True):
            y = values[i]
            numbered[i] = BatchTracer(inner, x, y.axis) if y.__class__ is BatchTracer and y._trace is trace else x
        emit_each(inner, steps, numbered, ())
        results = [numbered[i] for i in steps.output_indices]
        owned = [y.__class__ is BatchTracer and y._trace is inner for y in results]
        outputs[:] = [(y.axis if is_own else NOT_MAPPED, aval_of(y)) for y, is_own in zip(results, owned, strict=True)]
        return [y.value if is_own else y for y, is_own in zip(results, owned, strict=True)]

    recorded = record_trace(FastLRUCache(1), None, rule, inputs)
    if recorded is NOT_RECORDABLE:
        return _NOT_RECORDED
    slots = zip(steps.output_indices, recorded.result_indices, outputs, strict=True)
    return _BatchedSequence(recorded, tuple((index, result, axis, aval) for index, result, (axis, aval) in slots))


def _apply_batch_rule(operation: Operation, values: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the results of an operation's ``batch_rule`` and their batch axes, by its recorded operations if possible.

    ``values`` are the operands with all examples; ``axes`` has the batch axis of each, or ``NOT_MAPPED``.
    """
    if not operation.is_recordable:
        return operation.batch_rule(values, axes)

    key, recorded = find_trace(operation.batch_cache, (*map(operand_key, values), *axes))
    if recorded is None:

        def rule(operands: Sequence[Any]) -> list[Any]:
            results, out_axes = operation.batch_rule(operands, axes)
            return [*results, *out_axes]

        recorded = record_trace(operation.batch_cache, key, rule, values)
    if recorded is NOT_RECORDABLE:
        return operation.batch_rule(values, axes)
    flat = replay_trace(recorded, values)
    half = len(flat) // 2
    return flat[:half], flat[half:]


class NamedBatchTrace(BatchTrace):
    """Trace that maps over an axis with a name and evaluates the collectives over it; ``size`` is the axis's size."""

    __slots__ = ("name", "size")
    emit = emit_each  # an operation may be a collective over the axis
    emit_at = emit_each_at

    def __init__(self, parent: Any, name: Hashable, size: int) -> None:
        super().__init__(parent)
        self.name = name
        self.size = size

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results, tracers of this trace where they differ between examples.

        Collectives over the axis are evaluated here, also for operands that all examples share.
        """
        if isinstance(operation, CollectiveOperation) and self.name in operation.axes:
            return self._apply_collective(operation, operands)
        if not operation.composite:
            return super().bind(operation, operands)
        previous = STATE.batch
        try:
            STATE.batch = self
            if any(self.name in axis_names_of(body) for body in operation.bodies()):
                return self._run_rule(operation.batch_rule, *self._split_operands(operands))
            return super().bind(operation, operands)
        finally:
            STATE.batch = previous

    def _apply_collective(self, operation: CollectiveOperation, operands: Sequence[Any]) -> list[Any]:
        """Return the results of a collective over the axis, by simpler operations or by its own rule."""
        operation.abstract_eval([aval_of(x) for x in operands])  # raises for operands of wrong types
        previous = STATE.trace
        try:
            STATE.trace = self
            simpler = operation.decompose(operands)
        finally:
            STATE.trace = previous
        if simpler is not None:
            return simpler
        rule = functools.partial(operation.carry_out, name=self.name, size=self.size)
        return self._run_rule(rule, *self._split_operands(operands))

    def _split_operands(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        owned = [x.__class__ is BatchTracer and x._trace is self for x in operands]
        return (
            [x.value if is_own else x for x, is_own in zip(operands, owned, strict=True)],
            [x.axis if is_own else NOT_MAPPED for x, is_own in zip(operands, owned, strict=True)],
        )

    def _run_rule(self, rule: Callable[..., Any], values: list[Any], axes: list[Any]) -> list[Any]:
        previous = STATE.trace
        try:
            STATE.trace = self.parent
            results, out_axes = rule(values, axes)
        finally:
            STATE.trace = previous
        return [y if a is NOT_MAPPED else BatchTracer(self, y, a) for y, a in zip(results, out_axes, strict=True)]


def current_rule_axis() -> tuple[Hashable, int] | None:
    """Return the name and size of the axis that the running ``batch_rule`` of a composite operation maps over.

    None when the axis has no name. A rule that batches a function later, after it has returned, has to store
    the result and pass it to :func:`batch` then.
    """
    trace: NamedBatchTrace | None = STATE.batch
    # A rule binds to the enclosing trace, which may batch as well but is not the one that STATE.batch names.
    return (trace.name, trace.size) if trace is not None and trace.parent is STATE.trace else None


def batch_size(operands: Sequence[Any], axes: Sequence[Any]) -> int:
    """Return the number of examples, for a ``batch_rule``: the size of the operands' batch axes.

    If no operand is mapped, because a program that the operation holds uses the named axis, it is the size of
    that axis.
    """
    for x, axis in zip(operands, axes, strict=True):
        if axis is not NOT_MAPPED:
            return int(aval_of(x).shape[axis])
    named_axis = current_rule_axis()
    if named_axis is None:
        raise AssertionError("a batch_rule runs without a mapped operand and without a named axis")
    return named_axis[1]


def remove_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """Return the type of one example of a batch whose type is ``aval`` and whose batch axis is ``axis``."""
    example_aval = make_aval(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype, aval.weak_type)
    if aval.varying:
        example_aval = with_varying_axes(example_aval, aval.varying)
    return example_aval if aval.explicit is None else without_explicit_axis(aval, axis, example_aval)


def insert_axis(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    """Return the type of a batch of ``size`` examples of type ``aval``, with ``axis`` as its batch axis."""
    batch_aval = make_aval((*aval.shape[:axis], size, *aval.shape[axis:]), aval.dtype, aval.weak_type)
    if aval.varying:
        batch_aval = with_varying_axes(batch_aval, aval.varying)
    return batch_aval if aval.explicit is None else with_explicit_axis(aval, axis, batch_aval)
