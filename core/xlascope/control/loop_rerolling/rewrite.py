"""Rewrite of a program to one with loops: other equations, stacks, loops, and values read from stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray, make_aval
from ...ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, RawEquation, Var
from ...ir.operation import Operation
from ...operations.shapes import BroadcastInDim, Reshape, Transpose
from ...operations.slicing import Concatenate, Slice
from ...records.op_names import REPEATS, segment_of, stack_of
from .concatenations import Concatenation
from .loop_ir import CarriedValue, Invariant, Loop, Operand, RepeatResult, Varying
from .normalized_steps import NormalizedSteps, RerollStep
from .repeat_op import RepeatLoop
from .value_stacks import CarryStack, NewStack, ResultStack, SlicedArray, Stack, StackRead, Stacks

#: Name segments of equations without a user's line.
_LOOP_SEGMENT, _STACK_SEGMENT = REPEATS.split("/")[1], stack_of([])


def rewrite_with_loops(jaxpr: Jaxpr, steps: NormalizedSteps, stacks: Stacks) -> Jaxpr:
    """Return the program of ``steps``, in which the loops of ``stacks`` replace their repeats.

    ``jaxpr`` is the original program, whose operands, constants and name are kept.
    """
    return _LoopRewriter(jaxpr, steps, stacks).build()


class _LoopRewriter:
    """Builder of one program with loops; :meth:`build` returns it.

    ``raw`` has the equations emitted so far with their op name segments, ``numbers`` the equation index that computes
    a value (by the value's id), ``variables`` the variables of the stacks that exist already.
    """

    def __init__(self, jaxpr: Jaxpr, steps: NormalizedSteps, stacks: Stacks) -> None:
        self.jaxpr, self.steps, self.results, self.stacks = jaxpr, steps.steps, steps.results, stacks
        self.raw: list[tuple[RawEquation, str]] = []
        self.numbers = {id(v): step.number for step in steps.steps for v in step.outputs}
        self.variables: dict[Stack, Var] = {}

    def build(self) -> Jaxpr:
        """Return the program in which loops replace the repeats."""
        position = 0
        for number, loop in enumerate(self.stacks.loops):
            self._emit_steps(position, loop.begin)
            self._emit_loop(number, loop)
            position = loop.end
        self._emit_steps(position, len(self.steps))
        needed = self._drop_unused()
        jaxpr = self.jaxpr
        return Jaxpr(
            jaxpr.constvars,
            jaxpr.invars,
            self.results,
            [equation for equation, _ in needed],
            jaxpr.name,
            lambda: jaxpr.argument_names,
            [segment for _, segment in needed],
        )

    def _drop_unused(self) -> list[tuple[RawEquation, str]]:
        """Return the emitted equations (and their op name segments) that have effects or that results depend on."""
        used, needed = {id(x) for x in self.results}, []
        for equation, segment in reversed(self.raw):
            operation, inputs, outputs, *_ = equation
            if operation.effects or any(id(v) in used for v in outputs):
                used.update(map(id, inputs))
                needed.append((equation, segment))
        return needed[::-1]

    def _emit_steps(self, begin: int, end: int) -> None:
        """Emit the steps outside of loops with indices in ``range(begin, end)``."""
        for number in range(begin, end):
            step = self.steps[number]
            if number in self.stacks.concatenations:
                self._emit_concatenation(step, *self.stacks.concatenations[number])
            elif number not in self.stacks.dropped_steps:
                self.raw.append((tuple(step[1:7]), segment_of([step.number])))

    def _emit_concatenation(self, step: RerollStep, concatenation: Concatenation, read: StackRead) -> None:
        """Emit a step that concatenates values of a loop as ``read``, a read of the stack that has these values."""
        stack, count, name = self.variables[read.stack], len(concatenation.values), segment_of([step.number])
        if (read.first, count) != (0, stack.aval.shape[0]):
            trailing_shape = stack.aval.shape[1:]
            part = Slice((read.first, *(0,) * len(trailing_shape)), (read.first + count, *trailing_shape), None)
            stack = self._emit_value(part, [stack], step, name)
        if concatenation.axis:
            order = [*range(1, concatenation.axis + 1), 0, *range(concatenation.axis + 1, stack.aval.ndim)]
            stack = self._emit_value(Transpose(tuple(order)), [stack], step, name)
        self._emit(Reshape(step.outputs[0].aval.shape), [stack], step.outputs, step, name)

    def _emit_loop(self, number: int, loop: Loop) -> None:
        """Emit loop ``number``, its new stacks before it, and reads of values from its stacks after it."""
        source_step = loop.steps_of_repeat(self.steps, 0)[0]
        finals = [
            result for result in self.stacks.last_results[number] if result not in {c.result for c in loop.carries}
        ]
        stacked = list(self.stacks.stacked[number])
        body = self._build_body(loop, number, finals, stacked)
        reads = self.stacks.reads[number]
        arrays = list(dict.fromkeys(self._stack_variable(read.stack, source_step) for read in reads))
        reads_by_index = tuple((arrays.index(self.variables[read.stack]), read.first, read.step) for read in reads)
        starts = [self._emit_zeros(self.stacks.type_of(number, result), source_step) for result in finals]
        names = [tuple(map(self._stack_name, stacks)) for stacks in ([read.stack for read in reads], stacked)]
        num_carry = len(loop.carries) + len(finals)
        operation = RepeatLoop(body, loop.repeats, num_carry, len(loop.invariants), reads_by_index, *names)
        operands = [*loop.invariants, *(carry.init for carry in loop.carries), *starts, *arrays]
        outputs = [Var(aval) for aval in operation.result_types(tuple(x.aval for x in operands))]
        last = loop.steps_of_repeat(self.steps, loop.repeats - 1)
        assigned: set[RepeatResult] = set()
        for index, result in enumerate([*(carry.result for carry in loop.carries), *finals]):
            if isinstance(result, RepeatResult) and result not in assigned:
                assigned.add(result)
                outputs[index] = last[result.step].outputs[result.result]
        self.variables.update(zip(stacked, outputs[len(outputs) - len(stacked) :], strict=True))
        self._emit(operation, operands, outputs, source_step, _LOOP_SEGMENT)
        for v, loop_value in self.stacks.extracted[number].items():
            self._extract(self.variables[ResultStack(number, loop_value.result)], loop_value.repeat, v, source_step)

    def _stack_name(self, stack: Stack) -> str:
        """Return the op name segment for reading or writing a stack: that of the equations that computed its values."""
        values: Sequence[Atom]
        if isinstance(stack, SlicedArray):
            values = [stack.array]
        elif isinstance(stack, NewStack):
            values = self.stacks.new_stacks[stack.number]
        else:
            loop = self.stacks.loops[stack.loop]
            result = self.stacks.result_of(stack)
            repeats = [loop.steps_of_repeat(self.steps, repeat)[result.step] for repeat in range(loop.repeats)]
            return stack_of([step.number for step in repeats])
        return stack_of([self.numbers[id(x)] for x in values if id(x) in self.numbers])

    def _build_body(
        self, loop: Loop, number: int, finals: Sequence[RepeatResult], stacked: Sequence[ResultStack | CarryStack]
    ) -> ClosedJaxpr:
        """Return the program of one repeat of the loop with index ``number``.

        It takes invariants, carry, ``finals`` (ignored) and varying values. It returns the carry, the results
        ``finals``, of which the last repeat's are used after the loop, and the values for the stacks in ``stacked``.
        """
        same = [Var(x.aval) for x in loop.invariants]
        carry_vars = [Var(carry.init.aval) for carry in loop.carries]
        unused = [Var(self.stacks.type_of(number, final)) for final in finals]
        varying_vars = [Var(values[0].aval) for values in loop.varying]
        inside: dict[RepeatResult, Var] = {}

        def resolve(operand: Operand) -> Atom:
            if isinstance(operand, RepeatResult):
                return inside[operand]
            if isinstance(operand, Invariant):
                return same[operand.number]
            if isinstance(operand, CarriedValue):
                return carry_vars[operand.number]
            return varying_vars[operand.number] if isinstance(operand, Varying) else operand

        raw, segments = [], []
        repeats = [loop.steps_of_repeat(self.steps, repeat) for repeat in range(loop.repeats)]
        for step_index, step in enumerate(repeats[-1]):
            outputs = [Var(v.aval) for v in step.outputs]
            inside.update((RepeatResult(step_index, i), v) for i, v in enumerate(outputs))
            raw.append((step.operation, tuple(map(resolve, loop.operands[step_index])), outputs, *step[4:7]))
            segments.append(segment_of([repeat[step_index].number for repeat in repeats]))
        results = [
            *(resolve(carry.result) for carry in loop.carries),
            *(inside[final] for final in finals),
            *(inside[s.result] if isinstance(s, ResultStack) else carry_vars[s.carried] for s in stacked),
        ]
        invars = [*same, *carry_vars, *unused, *varying_vars]
        return ClosedJaxpr(Jaxpr((), invars, results, raw, "repeat", segments=segments))

    def _stack_variable(self, stack: Stack, source_step: RerollStep) -> Var:
        """Return the variable of a stack, and emit the equations that build the stack if it does not exist.

        ``source_step`` is the step whose user line these equations get.
        """
        variable = self.variables.get(stack)
        if variable is None:
            variable = stack.array if isinstance(stack, SlicedArray) else self._build_stack(stack, source_step)
            self.variables[stack] = variable
        return variable

    def _build_stack(self, stack: Stack, source_step: RerollStep) -> Var:
        assert isinstance(stack, NewStack)
        parts = []
        for x in self.stacks.new_stacks[stack.number]:
            shape = x.aval.shape
            is_literal = isinstance(x, Literal)
            operation: Operation = BroadcastInDim((1, *shape), ()) if is_literal else Reshape((1, *shape))
            parts.append(self._emit_value(operation, [x], source_step))
        return self._emit_value(Concatenate(0), parts, source_step, self._stack_name(stack))

    def _emit_zeros(self, aval: ShapedArray, source_step: RerollStep) -> Var:
        """Emit zeros of type ``aval``: the initial value of a result that no repeat reads from the carry."""
        zero = Literal(aval.dtype.type(0), make_aval((), aval.dtype, aval.weak_type))
        return self._emit_value(BroadcastInDim(aval.shape, ()), [zero], source_step)

    def _extract(self, stack: Var, index: int, v: Var, source_step: RerollStep) -> None:
        """Emit the read of ``stack[index]`` into variable ``v``, with the user line of ``source_step``."""
        trailing_shape = stack.aval.shape[1:]
        name = stack_of([self.numbers[id(v)]])
        part = self._emit_value(
            Slice((index, *(0,) * len(trailing_shape)), (index + 1, *trailing_shape), None), [stack], source_step, name
        )
        self._emit(Reshape(trailing_shape), [part], [v], source_step, name)

    def _emit_value(
        self, operation: Operation, inputs: Sequence[Atom], source_step: RerollStep, name: str = _STACK_SEGMENT
    ) -> Var:
        (aval,) = operation.result_types(tuple(x.aval for x in inputs))
        variable = Var(aval)
        self._emit(operation, inputs, [variable], source_step, name)
        return variable

    def _emit(
        self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], source_step: RerollStep, segment: str
    ) -> None:
        self.raw.append(((operation, tuple(inputs), outputs, source_step.code, source_step.lasti, None), segment))
