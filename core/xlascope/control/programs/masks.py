"""Masks: tuples of booleans that mark operands or results, and selection by masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.markers import NOT_MAPPED, ZERO

#: A mark for each of several operands or results.
Mask = tuple[bool, ...]


def nonzero_tangents_mask(tangents: Sequence[Any]) -> Mask:
    """Return the mask of the tangents (or cotangents) that are not ZERO."""
    return tuple([t is not ZERO for t in tangents])


def drop_zero_tangents(tangents: Sequence[Any]) -> list[Any]:
    """Return the tangents (or cotangents) that are not ZERO."""
    return [t for t in tangents if t is not ZERO]


def mapped_axes_mask(axes: Sequence[Any]) -> Mask:
    """Return the mask of the batch axes that are not NOT_MAPPED."""
    return tuple([a is not NOT_MAPPED for a in axes])


def select_by_mask(values: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    """Return the values at the positions marked in ``marks``."""
    return [x for x, mark in zip(values, marks, strict=True) if mark]


def scatter_by_mask(values: Sequence[Any], marks: Sequence[bool], otherwise: Any = ZERO) -> list[Any]:
    """Return a list with the values at the marked positions and ``otherwise`` elsewhere; inverse of select_by_mask."""
    remaining = iter(values)
    return [next(remaining) if mark else otherwise for mark in marks]


def union_masks(masks: Sequence[Sequence[bool]]) -> Mask:
    """Return the elementwise "or" of several masks."""
    return tuple([any(marks) for marks in zip(*masks, strict=True)])


def split_tangents(values: Sequence[Any], out_moving: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Split results followed by their nonzero tangents into results and tangents.

    ``out_moving`` marks the results that have a tangent; the others get ZERO.
    """
    count = len(out_moving)
    return list(values[:count]), scatter_by_mask(values[count:], out_moving)


def leading_axes(marks: Sequence[bool]) -> list[Any]:
    """Return the batch axis 0 for each marked value, and NOT_MAPPED for the others."""
    return [0 if mark else NOT_MAPPED for mark in marks]
