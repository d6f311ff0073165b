"""Which of several values there are: tuples of marks, and values in the places that are marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.markers import NOT_MAPPED, ZERO

#: A mark for each of several operands or results.
Marks = tuple[bool, ...]


def moving(tangents: Sequence[Any]) -> Marks:
    """Which tangents (or cotangents) are not ZERO."""
    return tuple([t is not ZERO for t in tangents])


def present(tangents: Sequence[Any]) -> list[Any]:
    """The tangents (or cotangents) that are not ZERO."""
    return [t for t in tangents if t is not ZERO]


def mapped(axes: Sequence[Any]) -> Marks:
    """Which axes say that a value is mapped."""
    return tuple([a is not NOT_MAPPED for a in axes])


def chosen(values: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    """The values that are marked."""
    return [x for x, mark in zip(values, marks, strict=True) if mark]


def in_places(values: Sequence[Any], marks: Sequence[bool], otherwise: Any = ZERO) -> list[Any]:
    """The reverse of :func:`chosen`: the values in the marked places, and something else in the others."""
    rest = iter(values)
    return [next(rest) if mark else otherwise for mark in marks]


def any_of(several: Sequence[Sequence[bool]]) -> Marks:
    """What is marked in any of several rows of marks."""
    return tuple([any(marks) for marks in zip(*several, strict=True)])


def split_tangents(values: Sequence[Any], out_moving: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Results that are followed by the tangents of those that move: results and tangents, ZERO for what does not."""
    count = len(out_moving)
    return list(values[:count]), in_places(values[count:], out_moving)


def axes_in_front(marks: Sequence[bool]) -> list[Any]:
    """For each mark the axis of a value that is mapped in front where it is marked, and not mapped elsewhere."""
    return [0 if mark else NOT_MAPPED for mark in marks]
