"""Keys that are used twice: what ``debug_key_reuse`` does with each call.

Every key is followed by a *cell*, which knows who has used it up. Arrays of keys carry the cells of their elements, and
what moves elements about moves their cells: it is run on their numbers. So a key is known again however it was taken
out of an array, and two halves of a split are told apart. In a program the cells go from equation to equation, through
calls into what is called, into each branch of a ``cond`` by itself, and through two rounds of a loop, which finds what
every round would use again. What a program computes places of keys from is not always known: nothing is said then.
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

#: Numbers of so many elements are worked out, to know which keys are taken.
_MOST_ELEMENTS = 1024


class Cell:
    """One key, and who has used it up: the function's name and the user's line."""

    __slots__ = ("use",)

    def __init__(self) -> None:
        self.use: tuple[str, str] | None = None


class _Known(NamedTuple):
    """What is known of a value: the cells of keys, the value of numbers; None where nothing is."""

    cells: Any = None
    value: Any = None


_NOTHING = _Known()


def check_keys(jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Note which keys a call has used up; raises KeyReuseError for one that was used up before, and notes nothing."""
    if not _has_keys(jaxpr):
        return
    origin = STATE.origin
    here = user_frame() if origin is None or origin.code is None else (origin.code, origin.lasti)
    following = _Following(where_text(locate(*here)))
    given = [_Known(cells_of(x)) if x.__class__ is KeyArray else _Known(None, x) for x in (*consts, *operands)]
    with undisturbed():
        try:
            found = following.program(jaxpr, given)
        except BaseException:
            following.forget_from(0)
            raise
    for y, known in zip(results, found, strict=True):
        if y.__class__ is KeyArray:
            y.uses = known.cells


def cells_of(keys: KeyArray) -> Any:
    """The cells of an array of keys, made when somebody first asks for them."""
    if keys.uses is None:
        keys.uses = _new_cells(keys.shape)
    return keys.uses


def _new_cells(shape: tuple[int, ...]) -> Any:
    cells = np.empty(shape, object)
    for place in np.ndindex(*shape):
        cells[place] = Cell()
    return cells


def _has_keys(jaxpr: Jaxpr) -> bool:
    return any(
        any(is_key(x.aval.dtype) for x in (*inputs, *outputs)) or any(_has_keys(b.jaxpr) for b in operation.bodies())
        for operation, inputs, outputs, *_ in jaxpr.raw
    )


class _Following:
    """Follows keys through the equations of one call, from the line ``here``."""

    def __init__(self, here: str) -> None:
        self.here = here
        #: The cells that were used up meanwhile, in order.
        self.used: list[Cell] = []
        #: Within what computes something again: the cells that it used up, which may have been before; else None.
        self.again: set[Cell] | None = None

    def forget_from(self, count: int) -> list[tuple[Cell, Any]]:
        """Take back all uses but the first ``count``; returns them."""
        taken = [(cell, cell.use) for cell in self.used[count:]]
        for cell, _ in taken:
            cell.use = None
        del self.used[count:]
        return taken

    def program(self, jaxpr: Jaxpr, operands: Sequence[_Known]) -> list[_Known]:
        """What is known of a program's results, given its constants and operands."""
        found: dict[Any, _Known] = dict(zip((*jaxpr.constvars, *jaxpr.invars), operands, strict=True))

        def known(x: Any) -> _Known:
            return _Known(None, x.val) if x.__class__ is Literal else found[x]

        for operation, inputs, outputs, code, lasti, _ in jaxpr.raw:
            place = self.here if code is None else where_text(locate(code, lasti))
            results = self._equation(operation, [known(x) for x in inputs], outputs, place)
            found.update(zip(outputs, results, strict=True))
        return [known(x) for x in jaxpr.outvars]

    def _equation(
        self, operation: Operation, operands: Sequence[_Known], outputs: Sequence[Any], place: str
    ) -> Sequence[_Known]:
        if isinstance(operation, ConsumeKey):
            self._use(operands[0].cells, operation.user, place)
            return operands
        if operation.composite:
            results = self._inside(operation, operands)
        elif any(is_key(v.aval.dtype) for v in outputs):
            results = _moved(operation, operands)
        else:
            results = _computed(operation, operands, outputs)
        return [
            _Known(_new_cells(v.aval.shape)) if is_key(v.aval.dtype) and known.cells is None else known
            for v, known in zip(outputs, results or [_NOTHING] * len(outputs), strict=True)
        ]

    def _use(self, cells: Any, user: str, place: str) -> None:
        for cell in cells.flat:
            if self.again is not None and cell not in self.again:
                self.again.add(cell)
                if cell.use is not None:  # the same numbers a second time
                    continue
            if cell.use is not None:
                before, there = cell.use
                raise KeyReuseError(
                    f"a key is used up by random.{user}{place}, and was by random.{before}{there} before: what comes "
                    "of both is not independent. Split it first (key, now = random.split(key)), or fold a number in; "
                    "where the same numbers are wanted again, use random.clone(key)."
                )
            cell.use = user, place
            self.used.append(cell)

    # What operations hold -------------------------------------------------------------------------------------------

    def _inside(self, operation: Operation, operands: Sequence[_Known]) -> Sequence[_Known] | None:
        if isinstance(operation, Cond):
            return self._branches(operation.branches, operands[1:])
        if isinstance(operation, Scan):
            return self._rounds(operation, operands)
        if isinstance(operation, While):
            return self._while(operation, operands)
        whole = operation.whole()
        bodies = operation.bodies()
        body = whole if whole is not None else bodies[0] if len(bodies) == 1 else None
        if body is None or len(body.in_avals) != len(operands):
            return None
        if isinstance(operation, Remat) and operation.differentiated:
            return self._again(body, operands)
        return self._closed(body, operands)

    def _again(self, body: ClosedJaxpr, operands: Sequence[_Known]) -> list[_Known]:
        """What a checkpoint computes again from the same keys gives the same numbers: no key is used twice by it."""
        outside, self.again = self.again, set()
        try:
            return self._closed(body, operands)
        finally:
            self.again = outside

    def _closed(self, body: ClosedJaxpr, operands: Sequence[_Known]) -> list[_Known]:
        consts = [_Known(cells_of(c)) if c.__class__ is KeyArray else _Known(None, c) for c in body.consts]
        return self.program(body.jaxpr, [*consts, *operands])

    def _branches(self, branches: Sequence[ClosedJaxpr], operands: Sequence[_Known]) -> list[_Known]:
        """One of the branches runs: what any of them uses up may be used up afterwards."""
        count, uses, results = len(self.used), {}, []
        for branch in branches:
            results.append(self._closed(branch, operands))
            uses.update(dict(self.forget_from(count)))
        for cell, use in uses.items():
            cell.use = use
            self.used.append(cell)
        return [_in_common(each) for each in zip(*results, strict=True)]

    def _rounds(self, scan: Scan, operands: Sequence[_Known]) -> list[_Known]:
        consts, carry, xs = scan.split(operands)
        order = range(scan.length)[::-1] if scan.reverse else range(scan.length)
        before = len(self.used)
        for i in order[:2]:
            slices = [_NOTHING if x.cells is None else _Known(_row(x.cells, i)) for x in xs]
            results = self._closed(scan.jaxpr, [*consts, *carry, *slices])
            carry = results[: scan.num_carry]
        by_rounds = set(self.used[before:])
        for i in order[2:]:  # each round uses up its own
            for x in xs:
                self._use_like(x.cells, order[0], i, by_rounds)
        return [*carry, *[_NOTHING] * (len(scan.jaxpr.out_avals) - len(carry))]

    def _use_like(self, cells: Any, first: int, i: int, used: set[Cell]) -> None:
        if cells is None:
            return
        for one, other in zip(_row(cells, first).flat, _row(cells, i).flat, strict=True):
            if one in used and one.use is not None:
                self._use(_of_one(other), *one.use)

    def _while(self, loop: While, operands: Sequence[_Known]) -> list[_Known]:
        cond_consts, body_consts, carry = loop.split(operands)
        for _ in range(2):
            self._closed(loop.cond_jaxpr, [*cond_consts, *carry])
            carry = self._closed(loop.body_jaxpr, [*body_consts, *carry])
        return list(carry)


def _row(cells: Any, i: int) -> Any:
    """The cells of a slice along the leading axis, as an array also where it is one cell."""
    row = cells[i : i + 1]
    return row.reshape(row.shape[1:])


def _of_one(cell: Cell) -> Any:
    cells = np.empty((), object)
    cells[()] = cell
    return cells


def _in_common(results: Sequence[_Known]) -> _Known:
    """What is known whichever branch ran: a key that may be one or another is followed no further."""
    first, *others = results
    if first.cells is None:
        return _NOTHING
    cells = first.cells.copy()
    for place in np.ndindex(*cells.shape):
        if any(other.cells is None or other.cells[place] is not cells[place] for other in others):
            cells[place] = Cell()
    return _Known(cells)


# Where elements go --------------------------------------------------------------------------------------------------


def _moved(operation: Operation, operands: Sequence[_Known]) -> list[_Known] | None:
    """The cells of an operation's results, where the operands that say what moves are known."""
    flat: list[Cell] = []
    given: list[Any] = []
    for cells, value in operands:
        if cells is not None:
            given.append(np.arange(len(flat), len(flat) + cells.size, dtype=np.int32).reshape(cells.shape))
            flat += cells.flat
        elif value is not None:
            given.append(value)
        else:
            return None
    if not flat:
        return None
    return [_Known(_cells_at(np.asarray(y), flat)) for y in bind(operation, *given)]


def _cells_at(numbers: Any, flat: list[Cell]) -> Any:
    """The cells of those numbers, new ones where a number is none of a cell's (it was filled in)."""
    cells = np.empty(numbers.shape, object)
    for place in np.ndindex(*numbers.shape):
        number = int(numbers[place])
        cells[place] = flat[number] if 0 <= number < len(flat) else Cell()
    return cells


def _computed(operation: Operation, operands: Sequence[_Known], outputs: Sequence[Any]) -> list[_Known] | None:
    """The numbers that an operation gives, where its operands are known and it is quickly done."""
    if operation.effects or not operands or any(x.value is None for x in operands):
        return None
    if sum(v.aval.size for v in outputs) + sum(aval_of(x.value).size for x in operands) > _MOST_ELEMENTS:
        return None
    return [_Known(None, y) for y in bind(operation, *(x.value for x in operands))]
