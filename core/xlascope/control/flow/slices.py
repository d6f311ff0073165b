"""Types of slices along a leading axis, and of what is stacked along one."""

from __future__ import annotations

from ...ir.avals import ShapedArray, shaped


def without_axis(aval: ShapedArray) -> ShapedArray:
    """The type of one slice along the leading axis."""
    return shaped(aval.shape[1:], aval.dtype, aval.weak_type)


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """The type of ``length`` values along a new leading axis."""
    return shaped((length, *aval.shape), aval.dtype, aval.weak_type)
