"""The program with loops: equations as before, stacks put together, loops, and values taken out of stacks."""

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

#: What equations that are no user's are called.
_LOOP, _STACK = REPEATS.split("/")[1], stack_of([])


def written(jaxpr: Jaxpr, steps: Steps, stacks: Stacks) -> Jaxpr:
    """The program of steps, of which some are repeats of loops."""
    return _Writing(jaxpr, steps, stacks).program()


class _Writing:
    def __init__(self, jaxpr: Jaxpr, steps: Steps, stacks: Stacks) -> None:
        self.jaxpr, self.steps, self.results, self.stacks = jaxpr, steps.steps, steps.results, stacks
        self.raw: list[tuple[RawEquation, str]] = []
        self.numbers = {id(v): step.number for step in steps.steps for v in step.outputs}
        self.variables: dict[Stack, Var] = {}

    def program(self) -> Jaxpr:
        at = 0
        for number, loop in enumerate(self.stacks.loops):
            self._plain(at, loop.begin)
            self._loop(number, loop)
            at = loop.end
        self._plain(at, len(self.steps))
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
        """The equations that results or effects need."""
        used, found = {id(x) for x in self.results}, []
        for equation, segment in reversed(self.raw):
            operation, inputs, outputs, *_ = equation
            if operation.effects or any(id(v) in used for v in outputs):
                used.update(map(id, inputs))
                found.append((equation, segment))
        return found[::-1]

    def _plain(self, begin: int, end: int) -> None:
        """Steps outside of loops."""
        for number in range(begin, end):
            step = self.steps[number]
            if number in self.stacks.joined:
                self._joined(step, *self.stacks.joined[number])
            elif number not in self.stacks.spared:
                self.raw.append((tuple(step[1:7]), segment_of([step.number])))

    def _joined(self, step: Step, joined: Joined, read: Read) -> None:
        """Values of a loop that are joined: they stand in its stack already."""
        stack, count, name = self.variables[read.stack], len(joined.values), segment_of([step.number])
        if (read.first, count) != (0, stack.aval.shape[0]):
            rest = stack.aval.shape[1:]
            part = Slice((read.first, *(0,) * len(rest)), (read.first + count, *rest), None)
            stack = self._value(part, [stack], step, name)
        if joined.axis:
            order = [*range(1, joined.axis + 1), 0, *range(joined.axis + 1, stack.aval.ndim)]
            stack = self._value(Transpose(tuple(order)), [stack], step, name)
        self._add(Reshape(step.outputs[0].aval.shape), [stack], step.outputs, step, name)

    def _loop(self, number: int, loop: Loop) -> None:
        """The equations of a loop, and of what it needs and leaves."""
        line = loop.steps(self.steps, 0)[0]
        finals = [each for each in self.stacks.last[number] if each not in {c.result for c in loop.carried}]
        kept = list(self.stacks.kept[number])
        body = self._body(loop, number, finals, kept)
        reads = self.stacks.reads[number]
        arrays = list(dict.fromkeys(self._array(read.stack, line) for read in reads))
        places = tuple((arrays.index(self.variables[read.stack]), read.first, read.step) for read in reads)
        starts = [self._zeros(self.stacks.type_of(number, each), line) for each in finals]
        names = [tuple(map(self._name, stacks)) for stacks in ([read.stack for read in reads], kept)]
        carried = len(loop.carried) + len(finals)
        operation = Repeated(body, loop.repeats, carried, len(loop.same), places, *names)
        operands = [*loop.same, *(carry.init for carry in loop.carried), *starts, *arrays]
        outputs = [Var(aval) for aval in operation.result_types(tuple(x.aval for x in operands))]
        last = loop.steps(self.steps, loop.repeats - 1)
        known: set[Inside] = set()
        for place, each in enumerate([*(carry.result for carry in loop.carried), *finals]):
            if isinstance(each, Inside) and each not in known:
                known.add(each)
                outputs[place] = last[each.step].outputs[each.result]
        self.variables.update(zip(kept, outputs[len(outputs) - len(kept) :], strict=True))
        self._add(operation, operands, outputs, line, _LOOP)
        for v, made in self.stacks.taken[number].items():
            self._take(self.variables[Results(number, made.result)], made.repeat, v, line)

    def _name(self, stack: Stack) -> str:
        """What reading or writing a stack is called: by the equations that made what is in it."""
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

    def _body(self, loop: Loop, number: int, finals: Sequence[Inside], kept: Sequence[Results | Before]) -> ClosedJaxpr:
        """The program of one repeat."""
        same = [Var(x.aval) for x in loop.same]
        carried = [Var(carry.init.aval) for carry in loop.carried]
        unused = [Var(self.stacks.type_of(number, each)) for each in finals]
        differing = [Var(values[0].aval) for values in loop.differing]
        inside: dict[Inside, Var] = {}

        def value(operand: Operand) -> Atom:
            if isinstance(operand, Inside):
                return inside[operand]
            if isinstance(operand, Same):
                return same[operand.number]
            if isinstance(operand, Carried):
                return carried[operand.number]
            return differing[operand.number] if isinstance(operand, Differing) else operand

        raw, segments = [], []
        repeats = [loop.steps(self.steps, repeat) for repeat in range(loop.repeats)]
        for place, step in enumerate(repeats[-1]):
            outputs = [Var(v.aval) for v in step.outputs]
            inside.update((Inside(place, i), v) for i, v in enumerate(outputs))
            raw.append((step.operation, tuple(map(value, loop.operands[place])), outputs, *step[4:7]))
            segments.append(segment_of([repeat[place].number for repeat in repeats]))
        results = [
            *(value(carry.result) for carry in loop.carried),
            *(inside[each] for each in finals),
            *(inside[s.result] if isinstance(s, Results) else carried[s.carried] for s in kept),
        ]
        invars = [*same, *carried, *unused, *differing]
        return ClosedJaxpr(Jaxpr((), invars, results, raw, "repeat", segments=segments))

    def _array(self, stack: Stack, line: Step) -> Var:
        """The variable of a stack, put together where that has not been done."""
        found = self.variables.get(stack)
        if found is None:
            found = stack.array if isinstance(stack, Slices) else self._built(stack, line)
            self.variables[stack] = found
        return found

    def _built(self, stack: Stack, line: Step) -> Var:
        assert isinstance(stack, Built)
        parts = []
        for x in self.stacks.built[stack.number]:
            shape = x.aval.shape
            spread = isinstance(x, Literal)
            operation: Operation = BroadcastInDim((1, *shape), ()) if spread else Reshape((1, *shape))
            parts.append(self._value(operation, [x], line))
        return self._value(Concatenate(0), parts, line, self._name(stack))

    def _zeros(self, aval: ShapedArray, line: Step) -> Var:
        """Where a value begins that nobody uses before it is there."""
        zero = Literal(aval.dtype.type(0), shaped((), aval.dtype, aval.weak_type))
        return self._value(BroadcastInDim(aval.shape, ()), [zero], line)

    def _take(self, stack: Var, place: int, v: Var, line: Step) -> None:
        """Take a value out of a stack."""
        rest = stack.aval.shape[1:]
        name = stack_of([self.numbers[id(v)]])
        part = self._value(Slice((place, *(0,) * len(rest)), (place + 1, *rest), None), [stack], line, name)
        self._add(Reshape(rest), [part], [v], line, name)

    def _value(self, operation: Operation, inputs: Sequence[Atom], line: Step, name: str = _STACK) -> Var:
        (aval,) = operation.result_types(tuple(x.aval for x in inputs))
        found = Var(aval)
        self._add(operation, inputs, [found], line, name)
        return found

    def _add(
        self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], line: Step, segment: str
    ) -> None:
        self.raw.append(((operation, tuple(inputs), outputs, line.code, line.lasti, None), segment))
