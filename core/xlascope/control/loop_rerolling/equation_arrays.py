"""Steps of a program as arrays, in the order and with the kinds of :func:`~.normalized_steps.normalize_steps`.

Most programs have no loop that is worth it, and a large program is not turned into steps to find that out: NumPy
merges, orders and numbers its equations ten times as fast.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray
from ...ir.jaxpr import Jaxpr, Literal, RawEquation
from ...operations.slicing import Slice
from .loop_ir import bytes_of
from .normalized_steps import RESHAPES, OperationTable, RerollStep, literal_key
from .repeated_regions import RepeatedRegion, number_by_appearance, stable_order

#: Equations with more operands are numbered one by one.
_MAX_COLUMNS = 4
#: Numbers of rows stay below it, so that they do not overflow.
_MAX_NUMBER = 1 << 62


class EquationArrays:
    """Steps of a program as arrays: ``order`` has the index of each step's equation, ``operations`` their facts.

    ``kinds`` are equal for steps that may be the same step of a loop's body, and ``kinds_with_operands`` if they take
    the same operands of the program as well. Variables, literals and types are keys by identity.
    """

    def __init__(self, jaxpr: Jaxpr, operations: OperationTable) -> None:
        self.operations = operations
        self._read(jaxpr.raw)
        #: Whether each equation has no effects, and no result depends on it.
        self.is_dead = self._find_dead(jaxpr)
        #: The first equal equation of each equation.
        self.representatives = self._merge_duplicates()
        self.order = self._hoist(jaxpr)

    def _read(self, equations: Sequence[RawEquation]) -> None:
        """Set the arrays of equations that do not depend on which are merged."""
        self.equations, count = equations, len(equations)
        operations, inputs, outputs = (list(map(operator.itemgetter(part), equations)) for part in range(3))
        self.counts = np.fromiter(map(len, inputs), np.int64, count)
        self.offsets = np.concatenate(([0], np.cumsum(self.counts)))
        self.output_counts = np.fromiter(map(len, outputs), np.int64, count)
        output_offsets = np.concatenate(([0], np.cumsum(self.output_counts)))
        #: The number of the first result of each equation, and of all results.
        self.first_outputs, self.result_count = output_offsets[:-1], int(output_offsets[-1])
        #: The values of all results and after them of all other operands, one of each: their indices are their numbers.
        self.values = list(itertools.chain.from_iterable(outputs))
        self._result_numbers = dict(zip(self.values, itertools.count()))
        self.codes = self._number_operands(list(itertools.chain.from_iterable(inputs)))
        self.is_literal = np.zeros(len(self.values), np.bool_)
        self.is_literal[self.result_count :] = [x.__class__ is Literal for x in self.values[self.result_count :]]
        ids = list(map(id, operations))
        different = dict(zip(ids, operations, strict=True))
        rows = dict(zip(different, itertools.count()))
        facts = np.array(
            [(*self.operations.add(x), x.__class__ is Slice, x.__class__ in RESHAPES) for x in different.values()],
            np.int64,
        )[np.fromiter(map(rows.__getitem__, ids), np.int64, count)]
        self.operation_numbers = facts[:, 0]
        self.has_effects, self.can_merge, self.is_unique, self.is_slice, self.is_reshape = facts[:, 1:].T.astype(bool)

    def _number_operands(self, atoms: Sequence[Any]) -> np.ndarray:
        """Return the number of the value of each operand, and extend ``values`` with those that are no results."""
        numbers, values = self._result_numbers, self.values
        codes = np.fromiter(map(numbers.get, atoms, itertools.repeat(-1)), np.int64, len(atoms))
        outside = np.flatnonzero(codes < 0)
        numbers_of_atoms: dict[Any, int] = {}
        literals: dict[Any, int] = {}
        for x in map(atoms.__getitem__, outside.tolist()):
            if x in numbers_of_atoms:
                continue
            numbers_of_atoms[x] = number = (
                len(values) if x.__class__ is not Literal else literals.setdefault(literal_key(x), len(values))
            )
            if number == len(values):
                values.append(x)
        codes[outside] = [numbers_of_atoms[atoms[position]] for position in outside.tolist()]
        return codes

    def _find_dead(self, jaxpr: Jaxpr) -> np.ndarray:
        """Return for each equation whether it has no effects and no result depends on it."""
        uses = np.bincount(self.codes, minlength=self.result_count)[: self.result_count]
        numbers = self._result_numbers
        uses[[numbers[v] for v in jaxpr.outvars if v in numbers]] += 1
        count = len(self.equations)
        owners = np.repeat(np.arange(count), self.output_counts)
        used_results = np.bincount(owners[uses > 0], minlength=count)
        is_dead: np.ndarray = (used_results == 0) & ~self.has_effects
        pending = np.flatnonzero(is_dead).tolist()
        while pending:
            number = pending.pop()
            for code in self.codes[self.offsets[number] : self.offsets[number + 1]].tolist():
                if code >= self.result_count:
                    continue
                uses[code] -= 1
                owner = int(owners[code])
                used_results[owner] -= not uses[code]
                if not (uses[code] or used_results[owner] or self.has_effects[owner]):
                    is_dead[owner] = True
                    pending.append(owner)
        return is_dead

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

    def _merge_duplicates(self) -> np.ndarray:
        """Return the first equal equation of each; operands get the numbers of its results."""
        count = len(self.equations)
        rows = self._number_rows(self.operation_numbers, self.codes)
        dead = np.flatnonzero(self.is_dead)
        rows[dead] = int(rows.max(initial=0)) + 1 + np.arange(len(dead))
        _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        representatives = np.where(self.can_merge, first[inverse], np.arange(count))
        if (representatives == np.arange(count)).all():
            return representatives
        merging = _DuplicateMerging(self, representatives)
        merging.run()
        replaced = np.arange(len(self.values))
        replaced[list(merging.replaced)] = list(merging.replaced.values())
        self.codes = replaced[self.codes]
        return representatives

    def _hoist(self, jaxpr: Jaxpr) -> np.ndarray:
        """Return the indices of the equations that stay, those that come first in front."""
        copies = np.bincount(self.representatives[~self.is_dead], minlength=len(self.equations))
        offsets, codes = self.offsets, self.codes
        is_kept = copies > 0
        slices = np.flatnonzero(self.is_slice & is_kept)
        arrays, slice_counts = np.unique(codes[offsets[slices]], return_counts=True)
        of_sliced = set(arrays[slice_counts > 1].tolist())
        is_candidate = copies > 1
        if of_sliced:
            is_candidate |= (self.is_slice | self.is_reshape) & is_kept
        available: set[int] = set()
        outside = {*jaxpr.constvars, *jaxpr.invars}
        slice_codes: set[int] = set()
        early: list[int] = []
        for number in np.flatnonzero(is_candidate).tolist():
            operands = codes[offsets[number] : offsets[number + 1]].tolist()
            if self.is_slice[number]:
                is_slice = operands[0] in of_sliced
            else:
                is_slice = bool(self.is_reshape[number]) and operands[0] in slice_codes
            if (is_slice or copies[number] > 1) and all(
                code in available or self.is_literal[code] or self.values[code] in outside for code in operands
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
    def _avals(self) -> dict[ShapedArray, int]:
        """Return the types of all values, with numbers from 0 on."""
        return dict(zip(dict.fromkeys(map(operator.attrgetter("aval"), self.values)), itertools.count()))

    @functools.cached_property
    def _aval_numbers(self) -> np.ndarray:
        """Return the number of the type of each operand."""
        avals = map(operator.attrgetter("aval"), self.values)
        numbers = np.fromiter(map(self._avals.__getitem__, avals), np.int64, len(self.values))
        of_operands: np.ndarray = numbers[self.codes]
        return of_operands

    @functools.cached_property
    def kinds_with_operands(self) -> np.ndarray:
        """Return a number for each step, equal for steps of equal kinds that take the same operands of the program."""
        kinds = np.zeros(len(self.equations), np.int64)  # those of dropped equations stay 0
        kinds[self.order] = self.kinds
        is_outside = (self.codes >= self.result_count) & ~self.is_literal[self.codes]
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
        producers[self.is_literal[codes]] = -2
        sizes = np.array([bytes_of(aval) for aval in self._avals], np.float64)  # in the order of their numbers
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


class _DuplicateMerging:
    """Merging of equations that become equal when the results of equal ones get the same numbers.

    ``representatives`` has the first of the equations that are equal to each as they are, and is changed in place.
    ``replaced`` has the numbers of results that others stand for. Only equations that take values of several equal
    equations are looked at, from the first to the last.
    """

    def __init__(self, arrays: EquationArrays, representatives: np.ndarray) -> None:
        self.arrays, self.representatives = arrays, representatives
        self.replaced: dict[int, int] = {}
        #: By operation and operands, the first equation of those that have been looked at.
        self.first: dict[tuple[int, ...], int] = {}
        self.pending: list[int] = []
        #: The equations that are, or have been, pending, or that nothing needs.
        self.found = set(np.flatnonzero(arrays.is_dead).tolist())
        codes = arrays.codes
        self.codes, self.offsets = codes.tolist(), arrays.offsets.tolist()
        self.operation_numbers = arrays.operation_numbers.tolist()
        #: The equations that take each value, those of one value after those of another, and where these begin.
        owners = np.repeat(np.arange(len(arrays.equations)), arrays.counts)
        self.all_users = owners[stable_order(codes)].tolist()
        self.users_begin = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=arrays.result_count)))).tolist()

    def run(self) -> None:
        """Merge all equations that are equal."""
        duplicates = np.flatnonzero(self.representatives != np.arange(len(self.representatives)))
        for number in duplicates.tolist():
            self.replace(number, int(self.representatives[number]), -1)
        while self.pending:
            number = heapq.heappop(self.pending)
            first = self.first.setdefault(self.key(number), number)
            if first != number and self.arrays.can_merge[number] and first != self.representatives[number]:
                self.representatives[number] = first
                self.replace(number, first, number)

    def key(self, number: int) -> tuple[int, ...]:
        """Return what is equal for equal equations: the operation's number and those of the operands."""
        codes, replaced = self.codes[self.offsets[number] : self.offsets[number + 1]], self.replaced
        return self.operation_numbers[number], *[replaced.get(code, code) for code in codes]

    def replace(self, number: int, first: int, now: int) -> None:
        """Let the results of an equation have the numbers of the ``first`` equal one's.

        The equations that take results of either are to be looked at; those before ``now`` are as they are.
        """
        arrays = self.arrays
        results, by = int(arrays.first_outputs[number]), int(arrays.first_outputs[first])
        for index in range(int(arrays.output_counts[number])):
            self.replaced[results + index] = by + index
            for user in (*self.users(results + index), *self.users(by + index)):
                if user in self.found:
                    continue
                self.found.add(user)
                if user > now:
                    heapq.heappush(self.pending, user)
                else:
                    self.first.setdefault(self.key(user), user)

    def users(self, code: int) -> list[int]:
        """Return the equations that take a value, by its number."""
        users: list[int] = self.all_users[self.users_begin[code] : self.users_begin[code + 1]]
        return users


def _number(values: np.ndarray) -> np.ndarray:
    """Return numbers from 0 on, equal where values are equal."""
    return np.unique(values, return_inverse=True)[1]
