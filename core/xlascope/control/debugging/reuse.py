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
from ...ir.sources import locate, where_text
from ...key_types import is_key
from ...operations.random_keys import ConsumeKey
from ...trace.bind import bind
from ...trace.source import user_frame
from ...trace.state import STATE
from ...trace.values import aval_of
from ...xla.arrays.key_array import KeyArray
from ..checkpoint.remat import Remat
from ..flow.cond import Cond
from ..flow.scan import Scan
from ..flow.while_loop import While
from .faults import undisturbed

#: Maximum number of elements of values that are computed to know which keys are indexed.
_MOST_ELEMENTS = 1024


class Cell:
    """State of one key: the function that consumed it and the user's line, or None."""

    __slots__ = ("use",)

    def __init__(self) -> None:
        self.use: tuple[str, str] | None = None


class _Known(NamedTuple):
    """Tracked knowledge about a value: the cells of keys, the value of numbers; None for unknown."""

    cells: Any = None
    value: Any = None


_NOTHING = _Known()


def check_keys(jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Mark the keys that a call consumes; raise KeyReuseError, and mark none, if one was consumed before."""
    if not _has_keys(jaxpr):
        return
    origin = STATE.origin
    call_frame = user_frame() if origin is None or origin.code is None else (origin.code, origin.lasti)
    tracker = _Following(where_text(locate(*call_frame)))
    tracked_inputs = [_Known(cells_of(x)) if x.__class__ is KeyArray else _Known(None, x) for x in (*consts, *operands)]
    with undisturbed():
        try:
            tracked_results = tracker.program(jaxpr, tracked_inputs)
        except BaseException:
            tracker.forget_from(0)
            raise
    for y, tracked in zip(results, tracked_results, strict=True):
        if y.__class__ is KeyArray:
            y.uses = tracked.cells


def cells_of(keys: KeyArray) -> Any:
    """Return the cells of an array of keys, which are created on first use."""
    if keys.uses is None:
        keys.uses = _new_cells(keys.shape)
    return keys.uses


def _new_cells(shape: tuple[int, ...]) -> Any:
    cells = np.empty(shape, object)
    for index in np.ndindex(*shape):
        cells[index] = Cell()
    return cells


def _has_keys(jaxpr: Jaxpr) -> bool:
    return any(
        any(is_key(x.aval.dtype) for x in (*inputs, *outputs)) or any(_has_keys(b.jaxpr) for b in operation.bodies())
        for operation, inputs, outputs, *_ in jaxpr.raw
    )


class _Following:
    """Propagation of keys through the equations of one call, from the line ``call_location``."""

    def __init__(self, call_location: str) -> None:
        self.here = call_location
        #: The cells that were consumed so far, in order.
        self.used: list[Cell] = []
        #: Within a recomputation: the cells that it consumed, which may have been consumed before; else None.
        self.again: set[Cell] | None = None

    def forget_from(self, count: int) -> list[tuple[Cell, Any]]:
        """Undo all uses after the first ``count`` and return them."""
        undone = [(cell, cell.use) for cell in self.used[count:]]
        for cell, _ in undone:
            cell.use = None
        del self.used[count:]
        return undone

    def program(self, jaxpr: Jaxpr, operands: Sequence[_Known]) -> list[_Known]:
        """Return the tracked results of a program, given its tracked constants and operands."""
        tracked: dict[Any, _Known] = dict(zip((*jaxpr.constvars, *jaxpr.invars), operands, strict=True))

        def lookup(x: Any) -> _Known:
            return _Known(None, x.val) if x.__class__ is Literal else tracked[x]

        for operation, inputs, outputs, code, lasti, _ in jaxpr.raw:
            location = self.here if code is None else where_text(locate(code, lasti))
            results = self._equation(operation, [lookup(x) for x in inputs], outputs, location)
            tracked.update(zip(outputs, results, strict=True))
        return [lookup(x) for x in jaxpr.outvars]

    def _equation(
        self, operation: Operation, operands: Sequence[_Known], outputs: Sequence[Any], location: str
    ) -> Sequence[_Known]:
        if isinstance(operation, ConsumeKey):
            self._use(operands[0].cells, operation.user, location)
            return operands
        if operation.composite:
            results = self._inside(operation, operands)
        elif any(is_key(v.aval.dtype) for v in outputs):
            results = _moved(operation, operands)
        else:
            results = _computed(operation, operands, outputs)
        return [
            _Known(_new_cells(v.aval.shape)) if is_key(v.aval.dtype) and tracked.cells is None else tracked
            for v, tracked in zip(outputs, results or [_NOTHING] * len(outputs), strict=True)
        ]

    def _use(self, cells: Any, user: str, line: str) -> None:
        for cell in cells.flat:
            if self.again is not None and cell not in self.again:
                self.again.add(cell)
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

    def _inside(self, operation: Operation, operands: Sequence[_Known]) -> Sequence[_Known] | None:
        if isinstance(operation, Cond):
            return self._branches(operation.branches, operands[1:])
        if isinstance(operation, Scan):
            return self._rounds(operation, operands)
        if isinstance(operation, While):
            return self._while(operation, operands)
        called_program = operation.whole()
        bodies = operation.bodies()
        body = called_program if called_program is not None else bodies[0] if len(bodies) == 1 else None
        if body is None or len(body.in_avals) != len(operands):
            return None
        if isinstance(operation, Remat) and operation.differentiated:
            return self._again(body, operands)
        return self._closed(body, operands)

    def _again(self, body: ClosedJaxpr, operands: Sequence[_Known]) -> list[_Known]:
        """Track a checkpoint's recomputation, which reuses its keys to compute the same numbers again."""
        outside, self.again = self.again, set()
        try:
            return self._closed(body, operands)
        finally:
            self.again = outside

    def _closed(self, body: ClosedJaxpr, operands: Sequence[_Known]) -> list[_Known]:
        consts = [_Known(cells_of(c)) if c.__class__ is KeyArray else _Known(None, c) for c in body.consts]
        return self.program(body.jaxpr, [*consts, *operands])

    def _branches(self, branches: Sequence[ClosedJaxpr], operands: Sequence[_Known]) -> list[_Known]:
        """Track all branches, of which one runs: the keys that any of them consumes count as consumed afterwards."""
        count, uses, results = len(self.used), {}, []
        for branch in branches:
            results.append(self._closed(branch, operands))
            uses.update(dict(self.forget_from(count)))
        for cell, use in uses.items():
            cell.use = use
            self.used.append(cell)
        return [_in_common(branch_results) for branch_results in zip(*results, strict=True)]

    def _rounds(self, scan: Scan, operands: Sequence[_Known]) -> list[_Known]:
        consts, carry, xs = scan.split(operands)
        order = range(scan.length)[::-1] if scan.reverse else range(scan.length)
        before = len(self.used)
        for i in order[:2]:
            slices = [_NOTHING if x.cells is None else _Known(_row(x.cells, i)) for x in xs]
            results = self._closed(scan.jaxpr, [*consts, *carry, *slices])
            carry = results[: scan.num_carry]
        by_rounds = set(self.used[before:])
        for i in order[2:]:  # each iteration consumes the keys of its own slice
            for x in xs:
                self._use_like(x.cells, order[0], i, by_rounds)
        return [*carry, *[_NOTHING] * (len(scan.jaxpr.out_avals) - len(carry))]

    def _use_like(self, cells: Any, first: int, i: int, used: set[Cell]) -> None:
        if cells is None:
            return
        for first_cell, cell in zip(_row(cells, first).flat, _row(cells, i).flat, strict=True):
            if first_cell in used and first_cell.use is not None:
                self._use(_of_one(cell), *first_cell.use)

    def _while(self, loop: While, operands: Sequence[_Known]) -> list[_Known]:
        cond_consts, body_consts, carry = loop.split(operands)
        for _ in range(2):
            self._closed(loop.cond_jaxpr, [*cond_consts, *carry])
            carry = self._closed(loop.body_jaxpr, [*body_consts, *carry])
        return list(carry)


def _row(cells: Any, i: int) -> Any:
    """Return the cells of a slice along the leading axis, as an array even if it is one cell."""
    row = cells[i : i + 1]
    return row.reshape(row.shape[1:])


def _of_one(cell: Cell) -> Any:
    cells = np.empty((), object)
    cells[()] = cell
    return cells


def _in_common(results: Sequence[_Known]) -> _Known:
    """Return what all branches' results have in common; a key that differs between branches gets a new cell."""
    first, *remaining = results
    if first.cells is None:
        return _NOTHING
    cells = first.cells.copy()
    for index in np.ndindex(*cells.shape):
        if any(tracked.cells is None or tracked.cells[index] is not cells[index] for tracked in remaining):
            cells[index] = Cell()
    return _Known(cells)


# Positions of elements ----------------------------------------------------------------------------------------------


def _moved(operation: Operation, operands: Sequence[_Known]) -> list[_Known] | None:
    """Return the cells of an operation's results, if the operands that determine positions are known."""
    flat: list[Cell] = []
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
    return [_Known(_cells_at(np.asarray(y), flat)) for y in bind(operation, *arguments)]


def _cells_at(numbers: Any, flat: list[Cell]) -> Any:
    """Return the cells with those numbers, new ones for numbers of no cell (filled-in elements)."""
    cells = np.empty(numbers.shape, object)
    for index in np.ndindex(*numbers.shape):
        number = int(numbers[index])
        cells[index] = flat[number] if 0 <= number < len(flat) else Cell()
    return cells


def _computed(operation: Operation, operands: Sequence[_Known], outputs: Sequence[Any]) -> list[_Known] | None:
    """Return the numbers that an operation computes, if its operands are known and small."""
    if operation.effects or not operands or any(x.value is None for x in operands):
        return None
    if sum(v.aval.size for v in outputs) + sum(aval_of(x.value).size for x in operands) > _MOST_ELEMENTS:
        return None
    return [_Known(None, y) for y in bind(operation, *(x.value for x in operands))]
