"""Abstract values of slices along a leading axis, and of stacked values."""

from __future__ import annotations

from ...ir.avals import ShapedArray, shaped
from ...ir.explicit import with_explicit_axis, without_explicit_axis


def without_axis(aval: ShapedArray) -> ShapedArray:
    """Return the type of one slice along the leading axis."""
    slice_aval = shaped(aval.shape[1:], aval.dtype, aval.weak_type)
    return slice_aval if aval.explicit is None else without_explicit_axis(aval, 0, slice_aval)


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """Return the type of ``length`` values stacked along a new leading axis."""
    stacked_aval = shaped((length, *aval.shape), aval.dtype, aval.weak_type)
    return stacked_aval if aval.explicit is None else with_explicit_axis(aval, 0, stacked_aval)
