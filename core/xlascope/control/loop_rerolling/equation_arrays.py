"""Steps of a program as arrays, in the order and with the kinds of :func:`~.normalized_steps.normalize_steps`.

Most programs have no loop that is worth it, and a large program is not turned into steps to find that out: NumPy
merges, orders and numbers its equations ten times as fast.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Jaxpr, Literal, RawEquation
from ...operations.slicing import Slice
from .loop_ir import bytes_of
from .normalized_steps import RESHAPES, OperationTable, RerollStep, find_needed, literal_key
from .repeated_regions import RepeatedRegion, number_by_appearance

#: Equations with more operands are numbered one by one.
_MAX_COLUMNS = 4
#: Rounds in which equations are dropped or merged: one more than there are such equations that depend on each other.
_MAX_ROUNDS = 40
#: Numbers of rows stay below it, so that they do not overflow.
_MAX_NUMBER = 1 << 62


class EquationArrays:
    """Steps of a program as arrays: ``numbers`` has the index of each step's equation, ``operations`` their facts.

    ``kinds`` are equal for steps that may be the same step of a loop's body, and ``kinds_with_operands`` if they take
    the same operands of the program as well. ``merged`` is False for a program in which too many equal equations depend
    on each other: then the arrays are not complete.
    """

    def __init__(self, jaxpr: Jaxpr, operations: OperationTable) -> None:
        self.operations = operations
        self._read(jaxpr.raw)
        #: The indices of the equations in the program.
        self.numbers = self._find_needed(jaxpr)
        if len(self.numbers) < len(jaxpr.raw):
            self._select(self.numbers)
        count = len(self.equations)
        self.representatives = np.arange(count)
        self.merged = self._merge_duplicates()
        self.order = self._hoist(jaxpr)

    def _read(self, equations: Sequence[RawEquation]) -> None:
        """Set the arrays of equations that do not depend on which are merged."""
        self.equations, count = equations, len(equations)
        operations, inputs, outputs, *_ = zip(*equations, strict=True)
        ids = list(map(id, operations))
        for operation in dict(zip(ids, operations, strict=True)).values():
            self.operations.add(operation)
        self.atoms = list(itertools.chain.from_iterable(inputs))
        self.counts = np.fromiter(map(len, inputs), np.int64, count)
        self.offsets = np.concatenate(([0], np.cumsum(self.counts)))
        self.output_counts = np.fromiter(map(len, outputs), np.int64, count)
        self.output_offsets = np.concatenate(([0], np.cumsum(self.output_counts)))
        #: The number of the first result of each equation, and of all results.
        self.first_outputs, self.result_count = self.output_offsets[:-1], int(self.output_offsets[-1])
        self.codes, self.is_literal = self._number_values(list(itertools.chain.from_iterable(outputs)))
        rows = {key: row for row, key in enumerate(self.operations)}
        facts = np.array(list(self.operations.values()), np.int64).reshape(-1, 4)
        facts = facts[np.fromiter(map(rows.__getitem__, ids), np.int64, count)]
        self.operation_numbers = facts[:, 0]
        self.has_effects, self.can_merge, self.is_unique = facts[:, 1:].T.astype(np.bool_)

    def _find_needed(self, jaxpr: Jaxpr) -> np.ndarray:
        """Return the indices of the equations that have effects or that results depend on."""
        output_count, count = int(self.output_offsets[-1]), len(self.equations)
        owners = np.repeat(np.arange(count), self.output_counts)
        results = set(map(id, jaxpr.outvars))
        is_dead = np.zeros(count, np.bool_)
        may_be_dead = ~self.has_effects
        for _ in range(_MAX_ROUNDS):
            used = self.codes[np.repeat(~is_dead, self.counts)] if is_dead.any() else self.codes
            is_used = np.bincount(used, minlength=output_count)[:output_count] > 0
            unused = may_be_dead & ~is_dead & (np.bincount(owners[is_used], minlength=count) == 0)
            for number in np.flatnonzero(unused).tolist():
                if results.isdisjoint(map(id, self.equations[number][2])):
                    is_dead[number] = True
                else:
                    unused[number] = may_be_dead[number] = False
            if not unused.any():
                return np.flatnonzero(~is_dead)
        return np.array(find_needed(jaxpr, self.operations), np.int64)

    def _select(self, needed: np.ndarray) -> None:
        """Drop all equations but those with these indices; the numbers of values stay."""
        is_needed = np.zeros(len(self.equations), np.bool_)
        is_needed[needed] = True
        positions = np.flatnonzero(np.repeat(is_needed, self.counts))
        self.atoms = [self.atoms[position] for position in positions.tolist()]
        self.codes, self.is_literal = self.codes[positions], self.is_literal[positions]
        self.equations = [self.equations[number] for number in needed.tolist()]
        self.counts, self.output_counts = self.counts[needed], self.output_counts[needed]
        self.first_outputs = self.first_outputs[needed]
        self.offsets = np.concatenate(([0], np.cumsum(self.counts)))
        self.operation_numbers, self.has_effects = self.operation_numbers[needed], self.has_effects[needed]
        self.can_merge, self.is_unique = self.can_merge[needed], self.is_unique[needed]

    def _number_values(self, outputs: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return a number for the value of each operand, equal for equal values, and whether it is a literal.

        ``outputs`` are the results of all equations. Their indices are their numbers, others come after.
        """
        atoms, count = self.atoms, len(outputs)
        numbers: dict[int, int] = dict(zip(map(id, outputs), range(count), strict=True))
        codes = np.fromiter(map(numbers.get, map(id, atoms), itertools.repeat(-1)), np.int64, len(atoms))
        is_literal = np.zeros(len(atoms), np.bool_)
        keys: dict[Any, int] = {}
        literals: dict[int, Any] = {}
        for position in np.flatnonzero(codes < 0).tolist():
            x = atoms[position]
            key: Any = id(x)
            if x.__class__ is Literal:
                is_literal[position] = True
                key = literals.get(id(x)) or literals.setdefault(id(x), literal_key(x))
            codes[position] = count + keys.setdefault(key, len(keys))
        return codes, is_literal

    def _number_rows(self, first: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return a number for each equation, equal where ``first`` and the entries of its operands are equal.

        ``first`` has a number for each equation, ``columns`` a number for each operand; both are not negative.
        """
        rows, width = first, min(_MAX_COLUMNS, int(self.counts.max(initial=0)))
        base, limit = int(columns.max(initial=0)) + 2, int(rows.max(initial=0)) + 1
        for column in range(width):
            has_column = self.counts > column
            entries = np.zeros(len(first), np.int64)
            entries[has_column] = columns[self.offsets[:-1][has_column] + column] + 1
            if limit * base >= _MAX_NUMBER:
                rows = _number(rows)
                limit = int(rows.max(initial=0)) + 1
            rows, limit = rows * base + entries, limit * base
        wide = np.flatnonzero(self.counts > _MAX_COLUMNS)
        if len(wide):
            rows = _number(rows)
            numbers: dict[Any, int] = {}
            begin, offsets = int(rows.max()) + 1, self.offsets
            for row in wide.tolist():
                key = int(rows[row]), columns[offsets[row] : offsets[row + 1]].tobytes()
                rows[row] = begin + numbers.setdefault(key, len(numbers))
        return rows

    def _merge_duplicates(self) -> bool:
        """Set the first equal equation of each, and return whether all are found; operands get its results' numbers."""
        count = len(self.equations)
        original = self.codes
        for _ in range(_MAX_ROUNDS):
            rows = self._number_rows(self.operation_numbers, self.codes)
            _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
            representatives = np.where(self.can_merge, first[inverse], np.arange(count))
            if np.array_equal(representatives, self.representatives):
                return True
            self.representatives = representatives
            replaced = np.arange(max(int(original.max(initial=0)) + 1, self.result_count))
            duplicates = np.flatnonzero(representatives != np.arange(count))
            for index in range(int(self.output_counts.max(initial=0))):
                several = duplicates[self.output_counts[duplicates] > index]
                replaced[self.first_outputs[several] + index] = self.first_outputs[representatives[several]] + index
            self.codes = replaced[original]
        return False

    def _hoist(self, jaxpr: Jaxpr) -> np.ndarray:
        """Return the indices of the equations that stay, those that come first in front."""
        copies = np.bincount(self.representatives, minlength=len(self.equations))
        equations, offsets, codes = self.equations, self.offsets, self.codes
        classes = [equation[0].__class__ for equation in equations]
        is_kept = copies > 0
        slices = [n for n, operation in enumerate(classes) if operation is Slice and is_kept[n]]
        arrays, slice_counts = np.unique(codes[offsets[slices]], return_counts=True)
        of_sliced = set(arrays[slice_counts > 1].tolist())
        is_candidate = copies > 1
        is_candidate[slices] = True
        is_candidate[[n for n, operation in enumerate(classes) if operation in RESHAPES and is_kept[n]]] = True
        first_outside = self.result_count
        available: set[int] = set()
        slice_codes: set[int] = set()
        early: list[int] = []
        outside = set(map(id, (*jaxpr.constvars, *jaxpr.invars)))
        for number in np.flatnonzero(is_candidate).tolist():
            begin, end = int(offsets[number]), int(offsets[number + 1])
            operands = codes[begin:end].tolist()
            if classes[number] is Slice:
                is_slice = operands[0] in of_sliced
            else:
                is_slice = classes[number] in RESHAPES and operands[0] in slice_codes
            if (is_slice or copies[number] > 1) and all(
                code in available
                or (code >= first_outside and (self.is_literal[begin + n] or id(self.atoms[begin + n]) in outside))
                for n, code in enumerate(operands)
            ):
                results = range(
                    int(self.first_outputs[number]), int(self.first_outputs[number] + self.output_counts[number])
                )
                available.update(results)
                if is_slice:
                    slice_codes.update(results)
                early.append(number)
        is_kept[early] = False
        return np.concatenate((np.array(early, np.int64), np.flatnonzero(is_kept)))

    @functools.cached_property
    def kinds(self) -> np.ndarray:
        """Return a number for each step, equal for steps that may be the same step of a loop's body."""
        rows = self._number_rows(self.operation_numbers, self._aval_numbers)
        unique = np.flatnonzero(self.is_unique)
        rows[unique] = int(rows.max(initial=0)) + 1 + np.arange(len(unique))
        return number_by_appearance(rows[self.order])[0]

    @functools.cached_property
    def _avals(self) -> list[ShapedArray]:
        """Return the types of all operands."""
        return list(map(operator.attrgetter("aval"), self.atoms))

    @functools.cached_property
    def _aval_numbers(self) -> np.ndarray:
        """Return a number for the type of each operand."""
        ids = list(map(id, self._avals))
        numbers = dict(zip(dict.fromkeys(ids), itertools.count(), strict=False))
        return np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids))

    @functools.cached_property
    def kinds_with_operands(self) -> np.ndarray:
        """Return a number for each step, equal for steps of equal kinds that take the same operands of the program."""
        kinds = np.zeros(len(self.equations), np.int64)  # those of dropped equations stay 0
        kinds[self.order] = self.kinds
        is_outside = (self.codes >= self.result_count) & ~self.is_literal
        numbers: dict[Any, int] = {}
        first = int(kinds.max(initial=0)) + 1
        steps = np.searchsorted(self.offsets, np.flatnonzero(is_outside), side="right") - 1
        for step, positions in itertools.groupby(
            zip(steps.tolist(), self.codes[is_outside].tolist(), strict=True), key=operator.itemgetter(0)
        ):
            key = int(kinds[step]), *[code for _, code in positions]
            kinds[step] = first + numbers.setdefault(key, len(numbers))
        ordered: np.ndarray = kinds[self.order]
        return ordered

    def step(self, index: int) -> RerollStep:
        """Return the step with an index, as if it stood for a single equation."""
        number = int(self.order[index])
        operation, inputs, outputs, code, lasti, origin = self.equations[number]
        return RerollStep(number, operation, tuple(inputs), outputs, code, lasti, origin)

    @functools.cached_property
    def _ordered_operands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the operands in the order of the steps.

        These are the offsets of the steps, the numbers of the operands' values, the steps that compute them (-1: none,
        and -2 for literals), and their bytes.
        """
        counts = self.counts[self.order]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        positions = np.repeat(self.offsets[:-1][self.order] - offsets[:-1], counts) + np.arange(offsets[-1])
        codes = self.codes[positions]
        step_of = np.empty(len(self.equations), np.int64)
        step_of[self.order] = np.arange(len(self.order))
        owners = np.zeros(self.result_count, np.int64)
        for index in range(int(self.output_counts.max(initial=0))):
            several = np.flatnonzero(self.output_counts > index)
            owners[self.first_outputs[several] + index] = several
        is_inside = codes < self.result_count
        producers = np.full(len(codes), -1)
        producers[is_inside] = step_of[owners[codes[is_inside]]]
        producers[self.is_literal[positions]] = -2
        different = {id(aval): aval for aval in self._avals}  # in the order of their numbers
        sizes = np.array([bytes_of(aval) for aval in different.values()], np.float64)
        return offsets, codes, producers, sizes[self._aval_numbers[positions]]

    def min_copied_bytes(self, region: RepeatedRegion) -> float:
        """Return a lower bound of the bytes that each repeat of a loop in a region takes from outside of it alone.

        These are values that no step of the region computes and that two successive repeats do not share.
        """
        offsets, codes, producers, sizes = self._ordered_operands
        begin, end = int(offsets[region.begin]), int(offsets[region.end])
        stride = int(offsets[region.begin + region.period]) - begin
        if not stride or (end - begin) < 2 * stride:
            return 0.0
        codes, producers, sizes = codes[begin:end], producers[begin:end], sizes[begin:end]
        is_outside = (producers < region.begin) & (producers != -2)
        differs = np.zeros(len(codes), np.bool_)
        differs[:-stride] = is_outside[:-stride] & is_outside[stride:] & (codes[:-stride] != codes[stride:])
        _, inverse, uses = np.unique(codes[differs], return_inverse=True, return_counts=True)
        weights = np.zeros(len(codes) + 1)
        weights[1:][differs] = sizes[differs] / uses[inverse]  # a value that is used several times is copied once
        before = np.cumsum(weights)
        starts = offsets[region.begin : region.end - 2 * region.period + 1] - begin
        return float((before[starts + stride] - before[starts]).min())


def _number(values: np.ndarray) -> np.ndarray:
    """Return numbers from 0 on, equal where values are equal."""
    return np.unique(values, return_inverse=True)[1]
