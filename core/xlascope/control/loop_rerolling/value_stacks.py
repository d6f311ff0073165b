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
from .concatenations import Concatenation, find_concatenations
from .loop_ir import Loop, RepeatResult
from .normalized_steps import RerollStep, literal_key


class ResultStack(NamedTuple):
    """Stack of one result of a loop's body in all repeats; ``loop`` is the index of the loop."""

    loop: int
    result: RepeatResult


class CarryStack(NamedTuple):
    """Stack of carry number ``carried`` at the start of each repeat; ``loop`` is the index of the loop."""

    loop: int
    carried: int


class SlicedArray(NamedTuple):
    """Array of the program that serves as a stack, because the program takes its slices along the leading axis."""

    array: Var


class NewStack(NamedTuple):
    """Stack that has to be built from single values: ``Stacks.new_stacks[number]``."""

    number: int


Stack = ResultStack | CarryStack | SlicedArray | NewStack


class StackRead(NamedTuple):
    """Read of one stack by a loop: repeat ``k`` takes the element at index ``first + k * step``."""

    stack: Stack
    first: int
    step: int


class LoopValue(NamedTuple):
    """Place where a value is computed: index of the loop, index of the repeat, and result of a step."""

    loop: int
    repeat: int
    result: RepeatResult


class Stacks:
    """Stacks that loops read and write, and uses of their values after the loops.

    Indexed by loop: ``reads``, one for each varying value; ``stacked``, the stacks to write; ``last_results``,
    results whose value in the last repeat is used; ``extracted``, variables that are read from stacks one by one.
    ``new_stacks`` are the values of new stacks. ``concatenations`` has, by step, the concatenations that become a
    read of a stack, and ``dropped_steps`` the steps that are unused then. ``results`` are the program's results.
    """

    def __init__(self, steps: Sequence[RerollStep], results: Sequence[Atom], loops: Sequence[Loop]) -> None:
        self.loops = loops
        self.loop_values: dict[int, LoopValue] = {}
        self._types: dict[tuple[int, RepeatResult], ShapedArray] = {}
        for v, loop_value in _loop_values_of(steps, loops):
            self.loop_values[id(v)] = loop_value
            self._types[loop_value.loop, loop_value.result] = v.aval
        self.reads: list[list[StackRead]] = []
        self.stacked: list[dict[ResultStack | CarryStack, None]] = [{} for _ in loops]
        self.last_results: list[dict[RepeatResult, None]] = [{} for _ in loops]
        self.extracted: list[dict[Var, LoopValue]] = [{} for _ in loops]
        self.new_stacks: list[tuple[Atom, ...]] = []
        self._slices = dict(_find_slices(steps))
        self._positions_in_new_stacks: dict[Any, list[tuple[int, int]]] = {}
        self.concatenations: dict[int, tuple[Concatenation, StackRead]] = {}
        self.dropped_steps: set[int] = set()
        self._use_concatenations(steps, results)
        self._collect(steps, results)

    def result_of(self, stack: ResultStack | CarryStack) -> RepeatResult:
        """Return the result of a loop's body whose values a stack holds."""
        result = (
            stack.result if isinstance(stack, ResultStack) else self.loops[stack.loop].carries[stack.carried].result
        )
        assert isinstance(result, RepeatResult)
        return result

    def type_of(self, loop: int, result: RepeatResult) -> ShapedArray:
        """Return the type of a result of the body of the loop with index ``loop``."""
        return self._types[loop, result]

    def _use_concatenations(self, steps: Sequence[RerollStep], results: Sequence[Atom]) -> None:
        """Find the concatenations outside of loops that are a stack of a loop, and have the loop write that stack."""
        steps_in_loops = {number for loop in self.loops for number in range(loop.begin, loop.end)}
        for number, concatenation in find_concatenations(steps, results).items() if self.loops else ():
            read = None if number in steps_in_loops else self._find_read(concatenation.values)
            if read is not None and read.step == 1 and isinstance(read.stack, ResultStack | CarryStack):
                self.stacked[read.stack.loop][read.stack] = None
                self.concatenations[number] = concatenation, read
                self.dropped_steps |= concatenation.expanding_steps - steps_in_loops

    def _collect(self, steps: Sequence[RerollStep], results: Sequence[Atom]) -> None:
        """Determine the reads of all loops, and which values of loops are used outside of them; store both here.

        ``steps`` are all steps of the program, ``results`` its results.
        """
        position = 0
        for number, loop in enumerate(self.loops):
            self._require_inputs(steps, position, loop.begin)
            self._require(loop.invariants)
            self._require(carry.init for carry in loop.carries)
            self.reads.append([self._get_read(number, values) for values in loop.varying])
            position = loop.end
        self._require_inputs(steps, position, len(steps))
        self._require(results)

    def _require_inputs(self, steps: Sequence[RerollStep], begin: int, end: int) -> None:
        """Mark the inputs of the steps in ``range(begin, end)``, outside of loops, as used."""
        for number in range(begin, end):
            if number not in self.concatenations and number not in self.dropped_steps:
                self._require(steps[number].inputs)

    def _require(self, values: Iterable[Atom]) -> None:
        """Mark values as used outside of loops.

        A value of the last repeat becomes one of ``last_results`` if possible; another one is stacked and extracted.
        """
        for x in values:
            loop_value = None if isinstance(x, Literal) else self.loop_values.get(id(x))
            if loop_value is None:
                continue
            loop = self.loops[loop_value.loop]
            # A carry has an initial value. Other results start as zeros, which do not exist for keys.
            can_be_last = not is_key(x.aval.dtype) or loop_value.result in {carry.result for carry in loop.carries}
            if loop_value.repeat == loop.repeats - 1 and can_be_last:
                self.last_results[loop_value.loop][loop_value.result] = None
            else:
                self.stacked[loop_value.loop][ResultStack(loop_value.loop, loop_value.result)] = None
                self.extracted[loop_value.loop][x] = loop_value  # type: ignore[index]

    def _find_read(self, values: tuple[Atom, ...], excluded_loop: int = -1) -> StackRead | None:
        """Return a read of an existing stack that yields ``values``; None if there is none.

        Stacks that the loop with index ``excluded_loop`` writes are not considered.
        """
        for stack in self._candidates(values[:2]):
            if isinstance(stack, ResultStack | CarryStack) and stack.loop == excluded_loop:
                continue
            first, second = (self._index_in(stack, x) for x in (*values[:2], *values[-1:])[:2])
            if first is None or second is None:
                continue
            step = second - first
            if all(self._index_in(stack, x) == first + k * step for k, x in enumerate(values)):
                return StackRead(stack, first, step)
        return None

    def _get_read(self, loop: int, values: tuple[Atom, ...]) -> StackRead:
        """Return the read that yields ``values``, one for each repeat of a loop; add a new stack if none has them."""
        read = self._find_read(values, excluded_loop=loop)
        if read is not None:
            if isinstance(read.stack, ResultStack | CarryStack):
                self.stacked[read.stack.loop][read.stack] = None
            elif isinstance(read.stack, SlicedArray):
                self._require([read.stack.array])
            return read
        self._require(values)
        number = len(self.new_stacks)
        self.new_stacks.append(values)
        for index, x in enumerate(values):
            self._positions_in_new_stacks.setdefault(_key(x), []).append((number, index))
        return StackRead(NewStack(number), 0, 1)

    def _candidates(self, values: Iterable[Atom]) -> Iterator[Stack]:
        """Yield the existing stacks that hold at least one of some values."""
        for x in values:
            loop_value = self.loop_values.get(id(x))
            if loop_value is not None:
                yield ResultStack(loop_value.loop, loop_value.result)
                carries = enumerate(self.loops[loop_value.loop].carries)
                yield from (CarryStack(loop_value.loop, n) for n, carry in carries if carry.result == loop_value.result)
            if id(x) in self._slices:
                yield SlicedArray(self._slices[id(x)][0])
            yield from (NewStack(number) for number, _ in self._positions_in_new_stacks.get(_key(x), ()))

    def _index_in(self, stack: Stack, x: Atom) -> int | None:
        """Return the index of a value in a stack; None if the stack does not hold it."""
        if isinstance(stack, NewStack):
            return dict(self._positions_in_new_stacks.get(_key(x), ())).get(stack.number)
        if isinstance(stack, SlicedArray):
            array, index = self._slices.get(id(x), (None, 0))
            return index if array is stack.array else None
        loop_value = self.loop_values.get(id(x))
        if isinstance(stack, ResultStack):
            matches = loop_value is not None and (loop_value.loop, loop_value.result) == stack
            return loop_value.repeat if matches else None  # type: ignore[union-attr]
        carry = self.loops[stack.loop].carries[stack.carried]
        if _key(x) == _key(carry.init):
            return 0
        matches = loop_value is not None and (loop_value.loop, loop_value.result) == (stack.loop, carry.result)
        return loop_value.repeat + 1 if matches and loop_value.repeat + 1 < self.loops[stack.loop].repeats else None  # type: ignore[union-attr]


def _key(x: Atom) -> Any:
    return literal_key(x) if isinstance(x, Literal) else id(x)


def _loop_values_of(steps: Sequence[RerollStep], loops: Sequence[Loop]) -> Iterator[tuple[Var, LoopValue]]:
    """Yield each variable that a loop computes, with its position."""
    for number, loop in enumerate(loops):
        for repeat in range(loop.repeats):
            for step_index, step in enumerate(loop.steps_of_repeat(steps, repeat)):
                yield from (
                    (v, LoopValue(number, repeat, RepeatResult(step_index, i))) for i, v in enumerate(step.outputs)
                )


def _find_slices(steps: Sequence[RerollStep]) -> Iterator[tuple[int, tuple[Var, int]]]:
    """Yield (id of a value, (array, index)) for each value that is ``array[index]``."""
    slices: dict[int, tuple[Var, int]] = {}
    for step in steps:
        operation, (x, *_) = step.operation, step.inputs or (None,)
        if isinstance(operation, Slice) and isinstance(x, Var) and x.aval.shape:
            begin, end, shape = operation.start_indices, operation.limit_indices, x.aval.shape
            is_leading_slice = not any(begin[1:]) and end[1:] == shape[1:] and set(operation.strides or (1,)) == {1}
            if is_leading_slice and end[0] == begin[0] + 1:
                slices[id(step.outputs[0])] = x, begin[0]
        elif isinstance(operation, Squeeze | Reshape) and id(x) in slices:
            array, index = slices[id(x)]
            if step.outputs[0].aval.shape == array.aval.shape[1:]:
                yield id(step.outputs[0]), (array, index)
