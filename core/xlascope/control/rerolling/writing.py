"""Rewrite of a program to one with loops: other equations, stacks, loops, and values read from stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray, shaped
from ...ir.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, RawEquation, Var
from ...ir.operation import Operation
from ...operations.shapes import BroadcastInDim, Reshape, Transpose
from ...operations.slicing import Concatenate, Slice
from ...records.op_names import REPEATS, segment_of, stack_of
from .joining import Joined
from .loop import Carried, Differing, Inside, Loop, Operand, Same
from .repeated import Repeated
from .stacks import Before, Built, Read, Results, Slices, Stack, Stacks
from .steps import Step, Steps

#: Name segments of equations without a user's line.
_LOOP, _STACK = REPEATS.split("/")[1], stack_of([])


def written(jaxpr: Jaxpr, steps: Steps, stacks: Stacks) -> Jaxpr:
    """Return the program of steps with repeats replaced by loops."""
    return _Writing(jaxpr, steps, stacks).program()


class _Writing:
    def __init__(self, jaxpr: Jaxpr, steps: Steps, stacks: Stacks) -> None:
        self.jaxpr, self.steps, self.results, self.stacks = jaxpr, steps.steps, steps.results, stacks
        self.raw: list[tuple[RawEquation, str]] = []
        self.numbers = {id(v): step.number for step in steps.steps for v in step.outputs}
        self.variables: dict[Stack, Var] = {}

    def program(self) -> Jaxpr:
        position = 0
        for number, loop in enumerate(self.stacks.loops):
            self._plain(position, loop.begin)
            self._loop(number, loop)
            position = loop.end
        self._plain(position, len(self.steps))
        needed = self._needed()
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

    def _needed(self) -> list[tuple[RawEquation, str]]:
        """Return the equations that results or effects need."""
        used, needed = {id(x) for x in self.results}, []
        for equation, segment in reversed(self.raw):
            operation, inputs, outputs, *_ = equation
            if operation.effects or any(id(v) in used for v in outputs):
                used.update(map(id, inputs))
                needed.append((equation, segment))
        return needed[::-1]

    def _plain(self, begin: int, end: int) -> None:
        """Emit the steps outside of loops."""
        for number in range(begin, end):
            step = self.steps[number]
            if number in self.stacks.joined:
                self._joined(step, *self.stacks.joined[number])
            elif number not in self.stacks.spared:
                self.raw.append((tuple(step[1:7]), segment_of([step.number])))

    def _joined(self, step: Step, concatenation: Joined, read: Read) -> None:
        """Emit a concatenation of a loop's values as a read of the loop's stack."""
        stack, count, name = self.variables[read.stack], len(concatenation.values), segment_of([step.number])
        if (read.first, count) != (0, stack.aval.shape[0]):
            trailing_shape = stack.aval.shape[1:]
            part = Slice((read.first, *(0,) * len(trailing_shape)), (read.first + count, *trailing_shape), None)
            stack = self._value(part, [stack], step, name)
        if concatenation.axis:
            order = [*range(1, concatenation.axis + 1), 0, *range(concatenation.axis + 1, stack.aval.ndim)]
            stack = self._value(Transpose(tuple(order)), [stack], step, name)
        self._add(Reshape(step.outputs[0].aval.shape), [stack], step.outputs, step, name)

    def _loop(self, number: int, loop: Loop) -> None:
        """Emit the equations of a loop, of its stacks and of the values extracted from them."""
        source_step = loop.steps(self.steps, 0)[0]
        finals = [result for result in self.stacks.last[number] if result not in {c.result for c in loop.carried}]
        stacked = list(self.stacks.kept[number])
        body = self._body(loop, number, finals, stacked)
        reads = self.stacks.reads[number]
        arrays = list(dict.fromkeys(self._array(read.stack, source_step) for read in reads))
        reads_by_index = tuple((arrays.index(self.variables[read.stack]), read.first, read.step) for read in reads)
        starts = [self._zeros(self.stacks.type_of(number, result), source_step) for result in finals]
        names = [tuple(map(self._name, stacks)) for stacks in ([read.stack for read in reads], stacked)]
        num_carry = len(loop.carried) + len(finals)
        operation = Repeated(body, loop.repeats, num_carry, len(loop.same), reads_by_index, *names)
        operands = [*loop.same, *(carry.init for carry in loop.carried), *starts, *arrays]
        outputs = [Var(aval) for aval in operation.result_types(tuple(x.aval for x in operands))]
        last = loop.steps(self.steps, loop.repeats - 1)
        assigned: set[Inside] = set()
        for index, result in enumerate([*(carry.result for carry in loop.carried), *finals]):
            if isinstance(result, Inside) and result not in assigned:
                assigned.add(result)
                outputs[index] = last[result.step].outputs[result.result]
        self.variables.update(zip(stacked, outputs[len(outputs) - len(stacked) :], strict=True))
        self._add(operation, operands, outputs, source_step, _LOOP)
        for v, loop_value in self.stacks.taken[number].items():
            self._take(self.variables[Results(number, loop_value.result)], loop_value.repeat, v, source_step)

    def _name(self, stack: Stack) -> str:
        """Return the name of reading or writing a stack: that of the equations that computed its values."""
        values: Sequence[Atom]
        if isinstance(stack, Slices):
            values = [stack.array]
        elif isinstance(stack, Built):
            values = self.stacks.built[stack.number]
        else:
            loop = self.stacks.loops[stack.loop]
            result = self.stacks.result_of(stack)
            repeats = [loop.steps(self.steps, repeat)[result.step] for repeat in range(loop.repeats)]
            return stack_of([step.number for step in repeats])
        return stack_of([self.numbers[id(x)] for x in values if id(x) in self.numbers])

    def _body(
        self, loop: Loop, number: int, finals: Sequence[Inside], stacked: Sequence[Results | Before]
    ) -> ClosedJaxpr:
        """Return the program of one repeat."""
        same = [Var(x.aval) for x in loop.same]
        carry_vars = [Var(carry.init.aval) for carry in loop.carried]
        unused = [Var(self.stacks.type_of(number, final)) for final in finals]
        varying_vars = [Var(values[0].aval) for values in loop.differing]
        inside: dict[Inside, Var] = {}

        def resolve(operand: Operand) -> Atom:
            if isinstance(operand, Inside):
                return inside[operand]
            if isinstance(operand, Same):
                return same[operand.number]
            if isinstance(operand, Carried):
                return carry_vars[operand.number]
            return varying_vars[operand.number] if isinstance(operand, Differing) else operand

        raw, segments = [], []
        repeats = [loop.steps(self.steps, repeat) for repeat in range(loop.repeats)]
        for step_index, step in enumerate(repeats[-1]):
            outputs = [Var(v.aval) for v in step.outputs]
            inside.update((Inside(step_index, i), v) for i, v in enumerate(outputs))
            raw.append((step.operation, tuple(map(resolve, loop.operands[step_index])), outputs, *step[4:7]))
            segments.append(segment_of([repeat[step_index].number for repeat in repeats]))
        results = [
            *(resolve(carry.result) for carry in loop.carried),
            *(inside[final] for final in finals),
            *(inside[s.result] if isinstance(s, Results) else carry_vars[s.carried] for s in stacked),
        ]
        invars = [*same, *carry_vars, *unused, *varying_vars]
        return ClosedJaxpr(Jaxpr((), invars, results, raw, "repeat", segments=segments))

    def _array(self, stack: Stack, source_step: Step) -> Var:
        """Return the variable of a stack, and build the stack if it does not exist."""
        variable = self.variables.get(stack)
        if variable is None:
            variable = stack.array if isinstance(stack, Slices) else self._built(stack, source_step)
            self.variables[stack] = variable
        return variable

    def _built(self, stack: Stack, source_step: Step) -> Var:
        assert isinstance(stack, Built)
        parts = []
        for x in self.stacks.built[stack.number]:
            shape = x.aval.shape
            is_literal = isinstance(x, Literal)
            operation: Operation = BroadcastInDim((1, *shape), ()) if is_literal else Reshape((1, *shape))
            parts.append(self._value(operation, [x], source_step))
        return self._value(Concatenate(0), parts, source_step, self._name(stack))

    def _zeros(self, aval: ShapedArray, source_step: Step) -> Var:
        """Emit the initial value of a result that is not read before the first repeat computes it."""
        zero = Literal(aval.dtype.type(0), shaped((), aval.dtype, aval.weak_type))
        return self._value(BroadcastInDim(aval.shape, ()), [zero], source_step)

    def _take(self, stack: Var, index: int, v: Var, source_step: Step) -> None:
        """Emit the read of one value from a stack."""
        trailing_shape = stack.aval.shape[1:]
        name = stack_of([self.numbers[id(v)]])
        part = self._value(
            Slice((index, *(0,) * len(trailing_shape)), (index + 1, *trailing_shape), None), [stack], source_step, name
        )
        self._add(Reshape(trailing_shape), [part], [v], source_step, name)

    def _value(self, operation: Operation, inputs: Sequence[Atom], source_step: Step, name: str = _STACK) -> Var:
        (aval,) = operation.result_types(tuple(x.aval for x in inputs))
        variable = Var(aval)
        self._add(operation, inputs, [variable], source_step, name)
        return variable

    def _add(
        self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], source_step: Step, segment: str
    ) -> None:
        self.raw.append(((operation, tuple(inputs), outputs, source_step.code, source_step.lasti, None), segment))
