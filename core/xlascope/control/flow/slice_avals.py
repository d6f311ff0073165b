"""Abstract values of slices along a leading axis, and of stacked values."""

from __future__ import annotations

from ...ir.avals import ShapedArray, make_aval, with_varying_axes
from ...ir.explicit_sharding import with_explicit_axis, without_explicit_axis


def to_slice_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of one slice along the leading axis of a value of type ``aval``."""
    slice_aval = make_aval(aval.shape[1:], aval.dtype, aval.weak_type)
    if aval.varying:
        slice_aval = with_varying_axes(slice_aval, aval.varying)
    return slice_aval if aval.explicit is None else without_explicit_axis(aval, 0, slice_aval)


def to_stacked_aval(aval: ShapedArray, length: int) -> ShapedArray:
    """Return the type of ``length`` values of type ``aval`` stacked along a new leading axis."""
    stacked_aval = make_aval((length, *aval.shape), aval.dtype, aval.weak_type)
    if aval.varying:
        stacked_aval = with_varying_axes(stacked_aval, aval.varying)
    return stacked_aval if aval.explicit is None else with_explicit_axis(aval, 0, stacked_aval)
