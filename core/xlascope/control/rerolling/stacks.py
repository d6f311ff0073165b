"""Arrays that hold the values which differ between repeats.

They are results that a previous loop has stacked, an array that the program slices, or a new stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Atom, Literal, Var
from ...key_types import is_key
from ...operations.shapes import Reshape, Squeeze
from ...operations.slicing import Slice
from .joining import Joined, joined_in
from .loop import Inside, Loop
from .steps import Step, literal_key


class Results(NamedTuple):
    """Stack of a step's results in all repeats of a loop."""

    loop: int
    result: Inside


class Before(NamedTuple):
    """Stack of a carried value at the start of each repeat of a loop."""

    loop: int
    carried: int


class Slices(NamedTuple):
    """Array of which the program takes slices along the leading axis."""

    array: Var


class Built(NamedTuple):
    """New stack of values, by its number."""

    number: int


Stack = Results | Before | Slices | Built


class Read(NamedTuple):
    """Read of a stack: repeat ``k`` takes the element at ``first + k * step``."""

    stack: Stack
    first: int
    step: int


class Made(NamedTuple):
    """Position of a value that a loop computes: loop, repeat and step result."""

    loop: int
    repeat: int
    result: Inside


class Stacks:
    """The stacks that loops read, and the values that they leave for others.

    By loop: ``reads`` in the order of the varying values; ``stacked``, the results to stack; ``last_results``,
    results that are used of the last repeat; ``extracted``, values that are read from stacks one by one.
    ``new_stacks`` are the values of new stacks. ``concatenations`` has the read of each step that concatenates
    values of a loop, and ``dropped_steps`` the steps that are unused then.
    """

    def __init__(self, steps: Sequence[Step], results: Sequence[Atom], loops: Sequence[Loop]) -> None:
        self.loops = loops
        self.made: dict[int, Made] = {}
        self._types: dict[tuple[int, Inside], ShapedArray] = {}
        for v, loop_value in _made_in(steps, loops):
            self.made[id(v)] = loop_value
            self._types[loop_value.loop, loop_value.result] = v.aval
        self.reads: list[list[Read]] = []
        self.kept: list[dict[Results | Before, None]] = [{} for _ in loops]
        self.last: list[dict[Inside, None]] = [{} for _ in loops]
        self.taken: list[dict[Var, Made]] = [{} for _ in loops]
        self.built: list[tuple[Atom, ...]] = []
        self._slices = dict(_slices_in(steps))
        self._built_at: dict[Any, list[tuple[int, int]]] = {}
        self.joined: dict[int, tuple[Joined, Read]] = {}
        self.spared: set[int] = set()
        self._join(steps, results)
        self._gather(steps, results)

    def result_of(self, stack: Results | Before) -> Inside:
        """Return the result of a loop's steps that a stack holds."""
        result = stack.result if isinstance(stack, Results) else self.loops[stack.loop].carried[stack.carried].result
        assert isinstance(result, Inside)
        return result

    def type_of(self, loop: int, result: Inside) -> ShapedArray:
        """Return the type of a step's result."""
        return self._types[loop, result]

    def _join(self, steps: Sequence[Step], results: Sequence[Atom]) -> None:
        steps_in_loops = {number for loop in self.loops for number in range(loop.begin, loop.end)}
        for number, concatenation in joined_in(steps, results).items() if self.loops else ():
            read = None if number in steps_in_loops else self._found(concatenation.values)
            if read is not None and read.step == 1 and isinstance(read.stack, Results | Before):
                self.kept[read.stack.loop][read.stack] = None
                self.joined[number] = concatenation, read
                self.spared |= concatenation.given - steps_in_loops

    def _gather(self, steps: Sequence[Step], results: Sequence[Atom]) -> None:
        position = 0
        for number, loop in enumerate(self.loops):
            self._need_of(steps, position, loop.begin)
            self._need(loop.same)
            self._need(carry.init for carry in loop.carried)
            self.reads.append([self._read(number, values) for values in loop.differing])
            position = loop.end
        self._need_of(steps, position, len(steps))
        self._need(results)

    def _need_of(self, steps: Sequence[Step], begin: int, end: int) -> None:
        """Mark the inputs of steps outside of loops as used."""
        for number in range(begin, end):
            if number not in self.joined and number not in self.spared:
                self._need(steps[number].inputs)

    def _need(self, values: Iterable[Atom]) -> None:
        """Mark values as used outside of loops."""
        for x in values:
            loop_value = None if isinstance(x, Literal) else self.made.get(id(x))
            if loop_value is None:
                continue
            loop = self.loops[loop_value.loop]
            # A carry has an initial value. Other results start as zeros, which do not exist for keys.
            can_be_last = not is_key(x.aval.dtype) or loop_value.result in {carry.result for carry in loop.carried}
            if loop_value.repeat == loop.repeats - 1 and can_be_last:
                self.last[loop_value.loop][loop_value.result] = None
            else:
                self.kept[loop_value.loop][Results(loop_value.loop, loop_value.result)] = None
                self.taken[loop_value.loop][x] = loop_value  # type: ignore[index]

    def _found(self, values: tuple[Atom, ...], excluded_loop: int = -1) -> Read | None:
        """Return a read of an existing stack with these values, except stacks of one loop; None if there is none."""
        for stack in self._candidates(values[:2]):
            if isinstance(stack, Results | Before) and stack.loop == excluded_loop:
                continue
            first, second = (self._place_in(stack, x) for x in (*values[:2], *values[-1:])[:2])
            if first is None or second is None:
                continue
            step = second - first
            if all(self._place_in(stack, x) == first + k * step for k, x in enumerate(values)):
                return Read(stack, first, step)
        return None

    def _read(self, loop: int, values: tuple[Atom, ...]) -> Read:
        """Return the read for values that differ between repeats, from a new stack if none exists."""
        read = self._found(values, without=loop)
        if read is not None:
            if isinstance(read.stack, Results | Before):
                self.kept[read.stack.loop][read.stack] = None
            elif isinstance(read.stack, Slices):
                self._need([read.stack.array])
            return read
        self._need(values)
        number = len(self.built)
        self.built.append(values)
        for index, x in enumerate(values):
            self._built_at.setdefault(_key(x), []).append((number, index))
        return Read(Built(number), 0, 1)

    def _candidates(self, values: Iterable[Atom]) -> Iterator[Stack]:
        """Yield the stacks that may hold values."""
        for x in values:
            loop_value = self.made.get(id(x))
            if loop_value is not None:
                yield Results(loop_value.loop, loop_value.result)
                carries = enumerate(self.loops[loop_value.loop].carried)
                yield from (Before(loop_value.loop, n) for n, carry in carries if carry.result == loop_value.result)
            if id(x) in self._slices:
                yield Slices(self._slices[id(x)][0])
            yield from (Built(number) for number, _ in self._built_at.get(_key(x), ()))

    def _place_in(self, stack: Stack, x: Atom) -> int | None:
        """Return the index of a value in a stack; None if it is not in it."""
        if isinstance(stack, Built):
            return dict(self._built_at.get(_key(x), ())).get(stack.number)
        if isinstance(stack, Slices):
            array, index = self._slices.get(id(x), (None, 0))
            return index if array is stack.array else None
        loop_value = self.made.get(id(x))
        if isinstance(stack, Results):
            matches = loop_value is not None and (loop_value.loop, loop_value.result) == stack
            return loop_value.repeat if matches else None  # type: ignore[union-attr]
        carry = self.loops[stack.loop].carried[stack.carried]
        if _key(x) == _key(carry.init):
            return 0
        matches = loop_value is not None and (loop_value.loop, loop_value.result) == (stack.loop, carry.result)
        return loop_value.repeat + 1 if matches and loop_value.repeat + 1 < self.loops[stack.loop].repeats else None  # type: ignore[union-attr]


def _key(x: Atom) -> Any:
    return literal_key(x) if isinstance(x, Literal) else id(x)


def _made_in(steps: Sequence[Step], loops: Sequence[Loop]) -> Iterator[tuple[Var, Made]]:
    """Yield the values that loops compute, with their positions."""
    for number, loop in enumerate(loops):
        for repeat in range(loop.repeats):
            for step_index, step in enumerate(loop.steps(steps, repeat)):
                yield from ((v, Made(number, repeat, Inside(step_index, i))) for i, v in enumerate(step.outputs))


def _slices_in(steps: Sequence[Step]) -> Iterator[tuple[int, tuple[Var, int]]]:
    """Yield the values that are one slice along the leading axis of an array, with the array and the index."""
    cut: dict[int, tuple[Var, int]] = {}
    for step in steps:
        operation, (x, *_) = step.operation, step.inputs or (None,)
        if isinstance(operation, Slice) and isinstance(x, Var) and x.aval.shape:
            begin, end, shape = operation.start_indices, operation.limit_indices, x.aval.shape
            is_leading_slice = not any(begin[1:]) and end[1:] == shape[1:] and set(operation.strides or (1,)) == {1}
            if is_leading_slice and end[0] == begin[0] + 1:
                cut[id(step.outputs[0])] = x, begin[0]
        elif isinstance(operation, Squeeze | Reshape) and id(x) in cut:
            array, index = cut[id(x)]
            if step.outputs[0].aval.shape == array.aval.shape[1:]:
                yield id(step.outputs[0]), (array, index)
