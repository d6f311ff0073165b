"""Masks: tuples of booleans that mark operands or results, and selection by masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.markers import NOT_MAPPED, ZERO

#: A mark for each of several operands or results.
Marks = tuple[bool, ...]


def moving(tangents: Sequence[Any]) -> Marks:
    """Return the mask of the tangents (or cotangents) that are not ZERO."""
    return tuple([t is not ZERO for t in tangents])


def present(tangents: Sequence[Any]) -> list[Any]:
    """Return the tangents (or cotangents) that are not ZERO."""
    return [t for t in tangents if t is not ZERO]


def mapped(axes: Sequence[Any]) -> Marks:
    """Return the mask of the axes that are mapped."""
    return tuple([a is not NOT_MAPPED for a in axes])


def chosen(values: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    """Return the marked values."""
    return [x for x, mark in zip(values, marks, strict=True) if mark]


def in_places(values: Sequence[Any], marks: Sequence[bool], otherwise: Any = ZERO) -> list[Any]:
    """Return a list with the values at the marked positions and ``otherwise`` elsewhere; inverse of select_by_mask."""
    remaining = iter(values)
    return [next(remaining) if mark else otherwise for mark in marks]


def any_of(masks: Sequence[Sequence[bool]]) -> Marks:
    """Return the elementwise "or" of several masks."""
    return tuple([any(marks) for marks in zip(*masks, strict=True)])


def split_tangents(values: Sequence[Any], out_moving: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Split results followed by their nonzero tangents into results and tangents, ZERO for those without one."""
    count = len(out_moving)
    return list(values[:count]), in_places(values[count:], out_moving)


def axes_in_front(marks: Sequence[bool]) -> list[Any]:
    """Return axis 0 for each marked value, and NOT_MAPPED for the others."""
    return [0 if mark else NOT_MAPPED for mark in marks]
