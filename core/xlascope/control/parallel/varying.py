"""Whether a result can be the same on all devices along an axis, as a spec says that it is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ...ir.jaxpr import ClosedJaxpr, Literal
from ...ir.operation import Operation
from ...operations.collectives import Collective, PMax, PMin, PSum, axis_names_of
from ...operations.exchanges import AllGather, AxisIndex, PBroadcast

#: The axes along which a value may differ from device to device; None where nobody can tell.
Axes = frozenset[Hashable] | None

_MAKING_EQUAL = (PSum, PMax, PMin, AllGather, PBroadcast)
_NONE: frozenset[Hashable] = frozenset()


def varying_axes(program: ClosedJaxpr, operands: Sequence[Axes]) -> list[Axes]:
    """For each result the axes along which it may differ, for operands that may along those."""
    known: dict[int, Axes] = {id(v): each for v, each in zip(program.jaxpr.invars, operands, strict=True)}
    known.update((id(v), _NONE) for v in program.jaxpr.constvars)
    for operation, inputs, outputs, *_ in program.jaxpr.raw:
        given = [_NONE if x.__class__ is Literal else known[id(x)] for x in inputs]
        known.update((id(v), each) for v, each in zip(outputs, _through(operation, given, len(outputs)), strict=True))
    return [_NONE if x.__class__ is Literal else known[id(x)] for x in program.jaxpr.outvars]


def _through(operation: Operation, given: Sequence[Axes], count: int) -> Sequence[Axes]:
    body: Any = operation.whole()
    if body is not None:
        return varying_axes(body, given)
    together = _union(given)
    if isinstance(operation, Collective):
        crossed = frozenset(operation.axes)
        if isinstance(operation, _MAKING_EQUAL):
            return [None if together is None else together - crossed]
        return [crossed if isinstance(operation, AxisIndex) else None if together is None else together | crossed]
    if operation.composite and any(axis_names_of(each) for each in operation.bodies()):
        return [None] * count
    return [together] * count


def _union(several: Sequence[Axes]) -> Axes:
    found: frozenset[Hashable] = _NONE
    for each in several:
        if each is None:
            return None
        found |= each
    return found
