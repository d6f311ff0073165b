"""Types of slices along a leading axis, and of what is stacked along one."""

from __future__ import annotations

from ...ir.avals import ShapedArray, shaped
from ...ir.explicit import with_explicit_axis, without_explicit_axis


def without_axis(aval: ShapedArray) -> ShapedArray:
    """The type of one slice along the leading axis."""
    found = shaped(aval.shape[1:], aval.dtype, aval.weak_type)
    return found if aval.explicit is None else without_explicit_axis(aval, 0, found)


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """The type of ``length`` values along a new leading axis."""
    found = shaped((length, *aval.shape), aval.dtype, aval.weak_type)
    return found if aval.explicit is None else with_explicit_axis(aval, 0, found)
