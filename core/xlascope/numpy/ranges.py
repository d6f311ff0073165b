"""Evenly spaced numbers, and grids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..errors import ConcretizationTypeError
from ..ir.avals import make_aval
from ..ir.requested_dtypes import resolve_requested_dtype
from ..lax.device_argument import with_device
from ..operations import exponentials
from ..operations.arithmetic import add, div, mul, sign, sub
from ..operations.bits import bitwise_and
from ..operations.comparisons import eq
from ..operations.conversion import to_dtype
from ..operations.exponentials import log
from ..operations.out_shardings import with_out_sharding
from ..operations.rounding import floor
from ..operations.selection import select
from ..operations.shapes import broadcasted_iota, expand_dims, reshape
from ..operations.slicing import concatenate, slice_in_dim
from ..trace.advice import integer_advice
from ..trace.provenance import dependence_text, traced_function_name
from ..trace.source import compose_message, here
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.arrays.transfers import put_on_device
from . import shaping
from .axes import axis_of, whole_number
from .creation import as_shape, astype
from .jit_wrapped import Conversion, jit_wrapped
from .number_arguments import keep_numbers
from .promotion import as_dtype, broadcast_shape, check_ranks, common_dtype, promote_dtypes_inexact, to_inexact


@with_out_sharding
@with_device
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    """Return start, start + step, … below stop; with one argument, 0, 1, … below it.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.arange(3), jnp.arange(0, 1, 0.25))
    [0 1 2] [0.   0.25 0.5  0.75]
    """
    if stop is None:  # a single argument is stop
        start, stop = 0, start
    for name, x in (("start", start), ("stop", stop), ("step", step)):
        if isinstance(x, TracerBase) and x.concrete() is None:
            raise _traced_size_error(name, x, is_window=isinstance(start, TracerBase) and isinstance(stop, TracerBase))
        if getattr(x, "ndim", 0):
            raise TypeError(f"arange: {name} is a number, got an array of shape {tuple(x.shape)}{here()}")
    bounds: list[Any] = [
        np.asarray(x)[()] if hasattr(x, "aval") else x for x in (start, stop, 1 if step is None else step)
    ]
    result_dtype = common_dtype([aval_of(x) for x in bounds])[0] if dtype is None else resolve_requested_dtype(dtype)
    if bounds[0] == 0 and bounds[2] == 1 and result_dtype.kind in "iuf":
        size = max(0, math.ceil(bounds[1]))
        return broadcasted_iota(result_dtype, (size,), 0)
    values = np.arange(bounds[0], bounds[1], bounds[2])
    return put_on_device(values, make_aval(values.shape, result_dtype))


def _traced_size_error(name: str, x: TracerBase, is_window: bool) -> Exception:
    """Return the error of ``arange`` for a traced argument, with advice.

    ``name`` is the argument and ``x`` its tracer; ``is_window`` says that start and stop are both traced, which
    suggests ``start + arange(n)``.
    """
    problem = (
        f"arange: the {name} {dependence_text(x)}, so the number of elements isn't known while "
        f"{traced_function_name(x)} is "
        "traced."
    )
    fix = "If you know the length n, write start + xlascope.numpy.arange(n)." if is_window else integer_advice(x)
    error = ConcretizationTypeError(compose_message(problem, fix))
    error.page = "TracerIntegerConversionError"  # which is about sizes
    return error


def _require_count(num: Any, name: str = "num") -> int:
    count = whole_number(num, name)
    if count < 0:
        raise ValueError(f"num is the number of values, at least 0, got {count}")
    return count


@with_device
@keep_numbers(0, 1)
@jit_wrapped("endpoint", "retstep", "dtype", "axis", num=Conversion(_require_count))
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return ``num`` evenly spaced values from start to stop, computed in ``dtype`` if that is given and inexact.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    axis_number, count = _new_axis(axis, start, stop), _require_count(num)
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    values, step = _linspace(start, stop, count, bool(endpoint), requested, axis_number)
    return (values, step) if retstep else values


def _new_axis(axis: Any, start: Any, stop: Any) -> int:
    """Return ``axis`` as the nonnegative number of the axis along which the values lie in the result.

    The result has one axis more than ``start`` and ``stop`` broadcast. Raises ValueError if they have different ranks
    and ``numpy_rank_promotion`` forbids that.
    """
    avals = [aval_of(start), aval_of(stop)]
    check_ranks(avals)
    return axis_of(axis, max(aval.ndim for aval in avals) + 1)


def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> tuple[Any, Any]:
    start, stop = promote_dtypes_inexact((start, stop))
    computed = aval_of(start).dtype if dtype is None else to_inexact(dtype)
    start, stop = as_dtype(start, computed), as_dtype(stop, computed)
    parts = num - 1 if endpoint else num
    shape = broadcast_shape(aval_of(start).shape, aval_of(stop).shape)
    start, stop = shaping.broadcast_to(start, shape), shaping.broadcast_to(stop, shape)
    step = div(sub(stop, start), float(parts)) if parts > 0 else mul(start, math.nan)
    values = _interpolate(expand_dims(start, (0,)), expand_dims(stop, (0,)), num, parts)
    if dtype is not None and dtype_kind(dtype) in "iu":
        values = floor(values)
    values = to_dtype(values, computed if dtype is None else dtype)
    return shaping.moveaxis(values, 0, axis), step


def _interpolate(start: Any, stop: Any, num: int, parts: int) -> Any:
    """Return ``num`` values along the first axis, from start in steps of 1 / ``parts`` of the way to stop."""
    if num < 2:
        return slice_in_dim(start, 0, num)
    aval = aval_of(start)
    count = min(num, parts)
    fractions = div(broadcasted_iota(aval.dtype, (count, *[1] * (aval.ndim - 1)), 0), float(parts))
    values = add(mul(start, sub(1.0, fractions)), mul(stop, fractions))
    # append the last value exactly: XLA divides by multiplying with a reciprocal, and 41 * (1 / 41) is not 1
    return values if count == num else concatenate([values, stop], 0)


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Return ``num`` values from base**start to base**stop whose logarithms are evenly spaced."""
    axis_number, count = _new_axis(axis, start, stop), _require_count(num)
    values = _logspace(start, stop, base, num=count, endpoint=bool(endpoint), axis=axis_number)
    return values if dtype is None else astype(values, dtype)


@jit_wrapped("num", "endpoint", "axis")
def _logspace(start: Any, stop: Any, base: Any, num: int, endpoint: bool, axis: int) -> Any:
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return exponentials.pow(as_dtype(base, aval_of(exponents).dtype), exponents)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Return ``num`` values from start to stop, both of one sign, in a geometric progression."""
    axis_number, count = _new_axis(axis, start, stop), _require_count(num)
    values = _geomspace(start, stop, num=count, endpoint=bool(endpoint), axis=axis_number)
    return values if dtype is None else astype(values, dtype)


@jit_wrapped("num", "endpoint", "axis")
def _geomspace(start: Any, stop: Any, num: int, endpoint: bool, axis: int) -> Any:
    first, last = promote_dtypes_inexact((start, stop))
    shape = broadcast_shape(aval_of(first).shape, aval_of(last).shape)
    first, last = shaping.broadcast_to(first, shape), shaping.broadcast_to(last, shape)
    direction = sign(first)
    low, high = (mul(log(div(x, direction)), 1 / math.log(10)) for x in (first, last))
    values = mul(logspace(low, high, num, endpoint), expand_dims(direction, (0,)))
    is_number = eq(values, values)
    for position, end in ((0, first), (num - 1, last))[: 2 if endpoint and num > 1 else 1]:
        at_position = eq(broadcasted_iota(np.dtype(np.int32), aval_of(values).shape, 0), position)
        values = select(bitwise_and(at_position, is_number), shaping.broadcast_to(end, aval_of(values).shape), values)
    return shaping.moveaxis(values, 0, axis)


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Return the coordinate arrays of a grid, one for each coordinate vector.

    With ``indexing`` "xy" the first two vectors run along the second and the first axis, with "ij" each along its
    own. ``sparse`` gives arrays of size 1 along the other axes.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.meshgrid(jnp.arange(3), jnp.arange(2))[0])
    [[0 1 2]
     [0 1 2]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is "xy" or "ij", got {indexing!r}')
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = [1, 0]
    sizes = [math.prod(aval_of(x).shape) for x in xi]
    shape = [0] * len(xi)
    for size, axis in zip(sizes, axes, strict=True):
        shape[axis] = size
    grids = []
    for x, size, axis in zip(xi, sizes, axes, strict=True):
        grid_shape = [size if i == axis else 1 for i in range(len(xi))]
        grid = reshape(x, grid_shape)
        grids.append(grid if sparse else shaping.broadcast_to(grid, tuple(shape)))
    return grids


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Return ``function`` applied to the index arrays of a shape."""
    if not callable(function):
        raise TypeError(f"fromfunction takes a function of indices, got {function!r} of type {type(function).__name__}")
    sizes = as_shape(shape)
    return function(*(broadcasted_iota(resolve_requested_dtype(dtype), sizes, i) for i in range(len(sizes))), **kwargs)
