"""Detection of random keys that are used twice: the check that ``debug_key_reuse`` does of each call.

Every key has a *cell*, which records the function that consumed it. Arrays of keys carry the cells of their
elements, and an operation that moves elements moves their cells: it is run on the cells' numbers. So a key is
recognized however it was taken out of an array, and the two halves of a split are different keys. In a
program the cells are propagated from equation to equation, into called programs, into each branch of a
``cond`` separately, and through two iterations of a loop, which finds the keys that every iteration would
reuse. If the positions of keys depend on unknown values, nothing is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import KeyReuseError
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal
from ...ir.operation import Operation
from ...ir.user_frames import locate, where_text
from ...key_types import is_key
from ...operations.random_keys import ConsumeKey
from ...trace.bind import bind
from ...trace.source import user_frame
from ...trace.state import STATE
from ...trace.values import aval_of
from ...xla.arrays.key_array import KeyArray
from ..checkpoint.remat import Remat
from ..flow.cond_op import Cond
from ..flow.scan_op import Scan
from ..flow.while_op import While
from .faults import eager_without_checks

#: Maximum number of elements of values that are computed to know which keys are indexed.
_MAX_COMPUTED_ELEMENTS = 1024


class KeyCell:
    """State of one random key, shared by all arrays that contain the key.

    ``use`` is None, or the random function that consumed the key and the user's line.
    """

    __slots__ = ("use",)

    def __init__(self) -> None:
        self.use: tuple[str, str] | None = None


class _TrackedValue(NamedTuple):
    """Facts known about a value of a program.

    ``cells`` is an array with the :class:`KeyCell` of each key, or None for a value without keys; ``value`` is the
    concrete value of other arrays, or None if it is unknown.
    """

    cells: Any = None
    value: Any = None


_UNTRACKED = _TrackedValue()


def check_keys(jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Mark the keys that a call consumes; raise KeyReuseError, and mark none, if one was consumed before.

    The call runs ``jaxpr`` with ``consts`` and ``operands``. Arrays of keys among its ``results`` get the cells of
    their keys.
    """
    if not _has_keys(jaxpr):
        return
    origin = STATE.origin
    call_frame = user_frame() if origin is None or origin.code is None else (origin.code, origin.lasti)
    tracker = _KeyTracker(where_text(locate(*call_frame)))
    tracked_inputs = [
        _TrackedValue(cells_of(x)) if x.__class__ is KeyArray else _TrackedValue(None, x) for x in (*consts, *operands)
    ]
    with eager_without_checks():
        try:
            tracked_results = tracker.track_program(jaxpr, tracked_inputs)
        except BaseException:
            tracker.undo_uses_from(0)
            raise
    for y, tracked in zip(results, tracked_results, strict=True):
        if y.__class__ is KeyArray:
            y.uses = tracked.cells


def cells_of(keys: KeyArray) -> Any:
    """Return the cells of an array of keys, an object array of its shape; they are created on first use."""
    if keys.uses is None:
        keys.uses = _new_cells(keys.shape)
    return keys.uses


def _new_cells(shape: tuple[int, ...]) -> Any:
    cells = np.empty(shape, object)
    for index in np.ndindex(*shape):
        cells[index] = KeyCell()
    return cells


def _has_keys(jaxpr: Jaxpr) -> bool:
    """Return whether a program, or a program that it holds, has operands or results that are keys."""
    return any(
        any(is_key(x.aval.dtype) for x in (*inputs, *outputs)) or any(_has_keys(b.jaxpr) for b in operation.bodies())
        for operation, inputs, outputs, *_ in jaxpr.raw
    )


class _KeyTracker:
    """Tracker of random keys through the equations of one call.

    ``call_location`` describes the user's line of the call, for equations without a line of their own.
    """

    def __init__(self, call_location: str) -> None:
        self.call_location = call_location
        #: The cells that were consumed so far, in order.
        self.used: list[KeyCell] = []
        #: Within a recomputation: the cells that it consumed, which may have been consumed before; else None.
        self.recomputed_cells: set[KeyCell] | None = None

    def undo_uses_from(self, count: int) -> list[tuple[KeyCell, Any]]:
        """Unmark all keys consumed after the first ``count``; return pairs of a cell and its removed use."""
        undone = [(cell, cell.use) for cell in self.used[count:]]
        for cell, _ in undone:
            cell.use = None
        del self.used[count:]
        return undone

    def track_program(self, jaxpr: Jaxpr, operands: Sequence[_TrackedValue]) -> list[_TrackedValue]:
        """Return the tracked results of a program, given its tracked constants and operands."""
        tracked: dict[Any, _TrackedValue] = dict(zip((*jaxpr.constvars, *jaxpr.invars), operands, strict=True))

        def lookup(x: Any) -> _TrackedValue:
            return _TrackedValue(None, x.val) if x.__class__ is Literal else tracked[x]

        for operation, inputs, outputs, code, lasti, _ in jaxpr.raw:
            location = self.call_location if code is None else where_text(locate(code, lasti))
            results = self._track_equation(operation, [lookup(x) for x in inputs], outputs, location)
            tracked.update(zip(outputs, results, strict=True))
        return [lookup(x) for x in jaxpr.outvars]

    def _track_equation(
        self, operation: Operation, operands: Sequence[_TrackedValue], outputs: Sequence[Any], location: str
    ) -> Sequence[_TrackedValue]:
        """Return the tracked results of one equation, and mark the keys that it consumes.

        ``outputs`` are the equation's variables; ``location`` describes its line for messages.
        """
        if isinstance(operation, ConsumeKey):
            self._mark_used(operands[0].cells, operation.user, location)
            return operands
        if operation.composite:
            results = self._track_composite(operation, operands)
        elif any(is_key(v.aval.dtype) for v in outputs):
            results = _move_cells(operation, operands)
        else:
            results = _compute_values(operation, operands, outputs)
        return [
            _TrackedValue(_new_cells(v.aval.shape)) if is_key(v.aval.dtype) and tracked.cells is None else tracked
            for v, tracked in zip(outputs, results or [_UNTRACKED] * len(outputs), strict=True)
        ]

    def _mark_used(self, cells: Any, user: str, line: str) -> None:
        """Mark keys as consumed by ``random.<user>``; raise KeyReuseError for a key that was consumed before.

        ``cells`` is an array with the :class:`KeyCell` of each key. ``line`` is text about the user's line, for
        messages. Within a recomputation each key may be consumed once more.
        """
        for cell in cells.flat:
            if self.recomputed_cells is not None and cell not in self.recomputed_cells:
                self.recomputed_cells.add(cell)
                if cell.use is not None:  # the same numbers a second time
                    continue
            if cell.use is not None:
                before, where = cell.use
                raise KeyReuseError(
                    f"a key is used up by random.{user}{line}, and was by random.{before}{where} before: what comes "
                    "of both is not independent. Split it first (key, now = random.split(key)), or fold a number in; "
                    "where the same numbers are wanted again, use random.clone(key)."
                )
            cell.use = user, line
            self.used.append(cell)

    # Composite operations -------------------------------------------------------------------------------------------

    def _track_composite(
        self, operation: Operation, operands: Sequence[_TrackedValue]
    ) -> Sequence[_TrackedValue] | None:
        """Return the tracked results of an operation that holds programs; None if they are unknown."""
        if isinstance(operation, Cond):
            return self._track_branches(operation.branches, operands[1:])
        if isinstance(operation, Scan):
            return self._track_scan(operation, operands)
        if isinstance(operation, While):
            return self._track_while(operation, operands)
        called_program = operation.as_single_program()
        bodies = operation.bodies()
        body = called_program if called_program is not None else bodies[0] if len(bodies) == 1 else None
        if body is None or len(body.in_avals) != len(operands):
            return None
        if isinstance(operation, Remat) and operation.differentiated:
            return self._track_recomputation(body, operands)
        return self._track_closed_jaxpr(body, operands)

    def _track_recomputation(self, body: ClosedJaxpr, operands: Sequence[_TrackedValue]) -> list[_TrackedValue]:
        """Return the tracked results of a checkpoint's recomputation, whose second use of a key is no error.

        It uses the keys of the forward pass again to compute the same numbers. ``body`` is the checkpointed program.
        """
        outside, self.recomputed_cells = self.recomputed_cells, set()
        try:
            return self._track_closed_jaxpr(body, operands)
        finally:
            self.recomputed_cells = outside

    def _track_closed_jaxpr(self, body: ClosedJaxpr, operands: Sequence[_TrackedValue]) -> list[_TrackedValue]:
        consts = [
            _TrackedValue(cells_of(c)) if c.__class__ is KeyArray else _TrackedValue(None, c) for c in body.consts
        ]
        return self.track_program(body.jaxpr, [*consts, *operands])

    def _track_branches(
        self, branches: Sequence[ClosedJaxpr], operands: Sequence[_TrackedValue]
    ) -> list[_TrackedValue]:
        """Return the tracked results of a choice between branches, of which one runs.

        ``operands`` are those of the branches, without the index. The keys that any branch consumes count as consumed
        afterwards.
        """
        count, uses, results = len(self.used), {}, []
        for branch in branches:
            results.append(self._track_closed_jaxpr(branch, operands))
            uses.update(dict(self.undo_uses_from(count)))
        for cell, use in uses.items():
            cell.use = use
            self.used.append(cell)
        return [_merge_branches(branch_results) for branch_results in zip(*results, strict=True)]

    def _track_scan(self, scan: Scan, operands: Sequence[_TrackedValue]) -> list[_TrackedValue]:
        """Track two iterations of a scan; return its tracked results.

        Keys in the slices of later iterations are marked like those in the slice of the first.
        """
        consts, carry, xs = scan.split_operands(operands)
        order = range(scan.length)[::-1] if scan.reverse else range(scan.length)
        before = len(self.used)
        for i in order[:2]:
            slices = [_UNTRACKED if x.cells is None else _TrackedValue(_row(x.cells, i)) for x in xs]
            results = self._track_closed_jaxpr(scan.jaxpr, [*consts, *carry, *slices])
            carry = results[: scan.num_carry]
        by_rounds = set(self.used[before:])
        for i in order[2:]:  # each iteration consumes the keys of its own slice
            for x in xs:
                self._mark_used_like(x.cells, order[0], i, by_rounds)
        return [*carry, *[_UNTRACKED] * (len(scan.jaxpr.out_avals) - len(carry))]

    def _mark_used_like(self, cells: Any, first: int, i: int, used: set[KeyCell]) -> None:
        """Mark a key in slice ``i`` as consumed if the key at its position in slice ``first`` was, and is in ``used``.

        ``cells`` is the array with the :class:`KeyCell` of each key, sliced along its leading axis, or None for an
        array without keys. Raises KeyReuseError for a key that was consumed before.
        """
        if cells is None:
            return
        for first_cell, cell in zip(_row(cells, first).flat, _row(cells, i).flat, strict=True):
            if first_cell in used and first_cell.use is not None:
                self._mark_used(_as_array(cell), *first_cell.use)

    def _track_while(self, loop: While, operands: Sequence[_TrackedValue]) -> list[_TrackedValue]:
        """Return the tracked carry of a while loop after two iterations.

        Two of them find the keys that every iteration would consume again.
        """
        cond_consts, body_consts, carry = loop.split_operands(operands)
        for _ in range(2):
            self._track_closed_jaxpr(loop.cond_jaxpr, [*cond_consts, *carry])
            carry = self._track_closed_jaxpr(loop.body_jaxpr, [*body_consts, *carry])
        return list(carry)


def _row(cells: Any, i: int) -> Any:
    """Return the cells of slice ``i`` along the leading axis, as an array even for a single cell."""
    row = cells[i : i + 1]
    return row.reshape(row.shape[1:])


def _as_array(cell: KeyCell) -> Any:
    cells = np.empty((), object)
    cells[()] = cell
    return cells


def _merge_branches(results: Sequence[_TrackedValue]) -> _TrackedValue:
    """Return the tracked value of one result of a cond, given its tracked values in each of the branches.

    A key that is not the same in all branches gets a new cell.
    """
    first, *remaining = results
    if first.cells is None:
        return _UNTRACKED
    cells = first.cells.copy()
    for index in np.ndindex(*cells.shape):
        if any(tracked.cells is None or tracked.cells[index] is not cells[index] for tracked in remaining):
            cells[index] = KeyCell()
    return _TrackedValue(cells)


# Positions of elements ----------------------------------------------------------------------------------------------


def _move_cells(operation: Operation, operands: Sequence[_TrackedValue]) -> list[_TrackedValue] | None:
    """Return the tracked results of an operation that moves keys, such as indexing or reshaping.

    The operation is run on the numbers of the cells. Returns None if an operand that determines positions is unknown.
    """
    flat: list[KeyCell] = []
    arguments: list[Any] = []
    for cells, value in operands:
        if cells is not None:
            arguments.append(np.arange(len(flat), len(flat) + cells.size, dtype=np.int32).reshape(cells.shape))
            flat += cells.flat
        elif value is not None:
            arguments.append(value)
        else:
            return None
    if not flat:
        return None
    return [_TrackedValue(_cells_at(np.asarray(y), flat)) for y in bind(operation, *arguments)]


def _cells_at(numbers: Any, flat: list[KeyCell]) -> Any:
    """Return an array of the cells whose indices in ``flat`` are the elements of ``numbers``.

    An element that is no such index, such as a fill value, gets a new cell.
    """
    cells = np.empty(numbers.shape, object)
    for index in np.ndindex(*numbers.shape):
        number = int(numbers[index])
        cells[index] = flat[number] if 0 <= number < len(flat) else KeyCell()
    return cells


def _compute_values(
    operation: Operation, operands: Sequence[_TrackedValue], outputs: Sequence[Any]
) -> list[_TrackedValue] | None:
    """Return the tracked results of an operation without keys, computed if its operands are known and small.

    Returns None if they are not, or if the operation has effects.
    """
    if operation.effects or not operands or any(x.value is None for x in operands):
        return None
    if sum(v.aval.size for v in outputs) + sum(aval_of(x.value).size for x in operands) > _MAX_COMPUTED_ELEMENTS:
        return None
    return [_TrackedValue(None, y) for y in bind(operation, *(x.value for x in operands))]
