"""Which arrays hold what differs from repeat to repeat: what a loop before has left, an array that slices are taken of,
or one that is put together for it.
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
    """What a step of a loop gave in each repeat."""

    loop: int
    result: Inside


class Before(NamedTuple):
    """What each repeat of a loop was given by the one before."""

    loop: int
    carried: int


class Slices(NamedTuple):
    """An array of which slices along the leading axis are taken."""

    array: Var


class Built(NamedTuple):
    """Values that are put together, by their number."""

    number: int


Stack = Results | Before | Slices | Built


class Read(NamedTuple):
    """Repeat ``k`` takes what stands at ``first + k * step`` in a stack."""

    stack: Stack
    first: int
    step: int


class Made(NamedTuple):
    """Where a value comes from that a loop makes."""

    loop: int
    repeat: int
    result: Inside


class Stacks:
    """The stacks that loops need, and what they leave for others: ``reads`` by loop, in the order of what differs;
    ``kept``, by loop, what is stacked; ``last``, by loop, results that others need of the last repeat; ``taken``, by
    loop, the values that are taken out of stacks one by one; and the values that are put together, ``built``.
    ``joined`` says of steps that join values of a loop where these stand, and ``spared`` which steps nobody needs then.
    """

    def __init__(self, steps: Sequence[Step], results: Sequence[Atom], loops: Sequence[Loop]) -> None:
        self.loops = loops
        self.made: dict[int, Made] = {}
        self._types: dict[tuple[int, Inside], ShapedArray] = {}
        for v, made in _made_in(steps, loops):
            self.made[id(v)] = made
            self._types[made.loop, made.result] = v.aval
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
        """The result of a loop's steps that a stack holds."""
        found = stack.result if isinstance(stack, Results) else self.loops[stack.loop].carried[stack.carried].result
        assert isinstance(found, Inside)
        return found

    def type_of(self, loop: int, result: Inside) -> ShapedArray:
        """The type of what a step of a loop gives."""
        return self._types[loop, result]

    def _join(self, steps: Sequence[Step], results: Sequence[Atom]) -> None:
        within = {number for loop in self.loops for number in range(loop.begin, loop.end)}
        for number, joined in joined_in(steps, results).items() if self.loops else ():
            read = None if number in within else self._found(joined.values)
            if read is not None and read.step == 1 and isinstance(read.stack, Results | Before):
                self.kept[read.stack.loop][read.stack] = None
                self.joined[number] = joined, read
                self.spared |= joined.given - within

    def _gather(self, steps: Sequence[Step], results: Sequence[Atom]) -> None:
        at = 0
        for number, loop in enumerate(self.loops):
            self._need_of(steps, at, loop.begin)
            self._need(loop.same)
            self._need(carry.init for carry in loop.carried)
            self.reads.append([self._read(number, values) for values in loop.differing])
            at = loop.end
        self._need_of(steps, at, len(steps))
        self._need(results)

    def _need_of(self, steps: Sequence[Step], begin: int, end: int) -> None:
        """Steps outside of loops use values."""
        for number in range(begin, end):
            if number not in self.joined and number not in self.spared:
                self._need(steps[number].inputs)

    def _need(self, values: Iterable[Atom]) -> None:
        """Somebody outside of loops uses values."""
        for x in values:
            made = None if isinstance(x, Literal) else self.made.get(id(x))
            if made is None:
                continue
            loop = self.loops[made.loop]
            # A carry has a value to begin with. Other results would begin with zeros, which keys have not.
            can_be_last = not is_key(x.aval.dtype) or made.result in {carry.result for carry in loop.carried}
            if made.repeat == loop.repeats - 1 and can_be_last:
                self.last[made.loop][made.result] = None
            else:
                self.kept[made.loop][Results(made.loop, made.result)] = None
                self.taken[made.loop][x] = made  # type: ignore[index]

    def _found(self, values: tuple[Atom, ...], without: int = -1) -> Read | None:
        """Where values stand in a stack that is there, but for those of one loop."""
        for stack in self._candidates(values[:2]):
            if isinstance(stack, Results | Before) and stack.loop == without:
                continue
            first, second = (self._place_in(stack, x) for x in (*values[:2], *values[-1:])[:2])
            if first is None or second is None:
                continue
            step = second - first
            if all(self._place_in(stack, x) == first + k * step for k, x in enumerate(values)):
                return Read(stack, first, step)
        return None

    def _read(self, loop: int, values: tuple[Atom, ...]) -> Read:
        """The stack of which a loop reads values that differ."""
        found = self._found(values, without=loop)
        if found is not None:
            if isinstance(found.stack, Results | Before):
                self.kept[found.stack.loop][found.stack] = None
            elif isinstance(found.stack, Slices):
                self._need([found.stack.array])
            return found
        self._need(values)
        number = len(self.built)
        self.built.append(values)
        for place, x in enumerate(values):
            self._built_at.setdefault(_key(x), []).append((number, place))
        return Read(Built(number), 0, 1)

    def _candidates(self, values: Iterable[Atom]) -> Iterator[Stack]:
        """The stacks that may hold values."""
        for x in values:
            made = self.made.get(id(x))
            if made is not None:
                yield Results(made.loop, made.result)
                carried = enumerate(self.loops[made.loop].carried)
                yield from (Before(made.loop, n) for n, carry in carried if carry.result == made.result)
            if id(x) in self._slices:
                yield Slices(self._slices[id(x)][0])
            yield from (Built(number) for number, _ in self._built_at.get(_key(x), ()))

    def _place_in(self, stack: Stack, x: Atom) -> int | None:
        """Where a value stands in a stack; None where it does not."""
        if isinstance(stack, Built):
            return dict(self._built_at.get(_key(x), ())).get(stack.number)
        if isinstance(stack, Slices):
            array, place = self._slices.get(id(x), (None, 0))
            return place if array is stack.array else None
        made = self.made.get(id(x))
        if isinstance(stack, Results):
            there = made is not None and (made.loop, made.result) == stack
            return made.repeat if there else None  # type: ignore[union-attr]
        carry = self.loops[stack.loop].carried[stack.carried]
        if _key(x) == _key(carry.init):
            return 0
        there = made is not None and (made.loop, made.result) == (stack.loop, carry.result)
        return made.repeat + 1 if there and made.repeat + 1 < self.loops[stack.loop].repeats else None  # type: ignore[union-attr]


def _key(x: Atom) -> Any:
    return literal_key(x) if isinstance(x, Literal) else id(x)


def _made_in(steps: Sequence[Step], loops: Sequence[Loop]) -> Iterator[tuple[Var, Made]]:
    """The values that loops make."""
    for number, loop in enumerate(loops):
        for repeat in range(loop.repeats):
            for place, step in enumerate(loop.steps(steps, repeat)):
                yield from ((v, Made(number, repeat, Inside(place, i))) for i, v in enumerate(step.outputs))


def _slices_in(steps: Sequence[Step]) -> Iterator[tuple[int, tuple[Var, int]]]:
    """The values that are one slice along the leading axis of an array, without that axis, and which one."""
    cut: dict[int, tuple[Var, int]] = {}
    for step in steps:
        operation, (x, *_) = step.operation, step.inputs or (None,)
        if isinstance(operation, Slice) and isinstance(x, Var) and x.aval.shape:
            begin, end, shape = operation.start_indices, operation.limit_indices, x.aval.shape
            whole = not any(begin[1:]) and end[1:] == shape[1:] and set(operation.strides or (1,)) == {1}
            if whole and end[0] == begin[0] + 1:
                cut[id(step.outputs[0])] = x, begin[0]
        elif isinstance(operation, Squeeze | Reshape) and id(x) in cut:
            array, place = cut[id(x)]
            if step.outputs[0].aval.shape == array.aval.shape[1:]:
                yield id(step.outputs[0]), (array, place)
