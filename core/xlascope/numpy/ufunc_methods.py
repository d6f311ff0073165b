"""Implementations of the methods that :mod:`ufunc_attributes` gives to ufunc-like functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.flow.loop_api import scan
from ..dtypes import is_differentiable, is_floating
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.selection import mask_tangent
from ..operations.slicing import slice_in_dim
from ..trace.operand_coercion import to_array
from ..trace.values import aval_of
from . import log_sums, logic, reductions, transcendental, ufuncs
from .axes import axis_of
from .creation import full_like
from .joining import concatenate
from .promotion import as_dtype
from .shaping import broadcast_to, expand_dims, moveaxis, ravel, reshape, shape_of, squeeze

Function = Callable[..., Any]

#: Native reductions, reductions as the logarithm of a sum, cumulative functions, and update methods of functions.
_REDUCTION_FUNCTIONS: dict[Function, Function] = {
    ufuncs.add: reductions.sum,
    ufuncs.multiply: reductions.prod,
    ufuncs.maximum: reductions.max,
    ufuncs.minimum: reductions.min,
}
_LOG_SUMS: dict[Function, Function] = {
    transcendental.logaddexp: log_sums.reduce_logaddexp,
    transcendental.logaddexp2: log_sums.reduce_logaddexp2,
}
_CUMULATIVE_FUNCTIONS: dict[Function, Function] = {ufuncs.add: reductions.cumsum, ufuncs.multiply: reductions.cumprod}
_UPDATE_METHODS: dict[Function, str] = {
    ufuncs.add: "add",
    ufuncs.subtract: "subtract",
    ufuncs.multiply: "multiply",
    ufuncs.maximum: "max",
    ufuncs.minimum: "min",
}


def reduce(
    function: Any,
    a: Any,
    axis: int | None = 0,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the elements along ``axis`` (None: all) combined by the function, from the first one on.

    ``initial`` is the first operand; elements at which ``where`` is false are skipped, which requires ``initial``
    or a function with an identity. Raises ValueError for no elements and no identity.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.subtract.reduce(jnp.array([10, 1, 2])))
    7
    """
    _reject_out(out, "reduce")
    x = to_array(a)
    is_bool = aval_of(x).dtype == np.bool_
    x = x if dtype is None else as_dtype(x, resolve_requested_dtype(dtype))
    if not is_bool and (native := _REDUCTION_FUNCTIONS.get(function)) is not None:
        return native(x, axis, keepdims=keepdims, initial=initial, where=where)
    if (log_sum := _LOG_SUMS.get(function)) is not None and is_floating(terms := _result_dtype(function, x)):
        return log_sum(as_dtype(x, terms), axis, keepdims=keepdims, initial=initial, where=where)
    rank = len(shape_of(x))
    x, axis_number = (ravel(x), 0) if axis is None else (x, axis_of(axis, rank))
    if initial is None and function.identity is not None and (where is not None or not shape_of(x)[axis_number]):
        initial = function.identity
    if where is not None and initial is None:
        raise ValueError(f"{function.__name__}.reduce with where takes an initial, since it has no identity")
    result_dtype = _result_dtype(function, x)
    rows = moveaxis(as_dtype(x, result_dtype), axis_number, 0)
    mask = (
        None if where is None else moveaxis(_broadcast_mask(where, shape_of(to_array(a)), axis is None), axis_number, 0)
    )
    first, rows, mask = _initial_carry(function, rows, mask, initial, result_dtype)
    result = scan(
        lambda carry, inputs: (_reduction_step(function, carry, inputs, result_dtype), None), first, (rows, mask)
    )[0]
    if not keepdims:
        return result
    return reshape(result, (1,) * rank) if axis is None else expand_dims(result, axis_number)


def _initial_carry(function: Any, rows: Any, mask: Any, initial: Any, dtype: Any) -> tuple[Any, Any, Any]:
    if initial is not None:
        return broadcast_to(as_dtype(to_array(initial), dtype), shape_of(rows)[1:]), rows, mask
    if not shape_of(rows)[0]:
        raise ValueError(f"{function.__name__}.reduce of no elements takes an initial, since it has no identity")
    return squeeze(slice_in_dim(rows, 0, 1), 0), slice_in_dim(rows, 1, shape_of(rows)[0]), mask


def _reduction_step(function: Any, carry: Any, inputs: tuple[Any, Any], dtype: Any) -> Any:
    x, mask = inputs
    if mask is None:
        return as_dtype(function(carry, x), dtype)
    if is_differentiable(dtype):  # masked elements have no derivative
        x, masked_carry = mask_tangent(mask, x, 1, 2), mask_tangent(mask, carry, 1, 2)
        return logic.where(mask, as_dtype(function(masked_carry, x), dtype), carry)
    return logic.where(mask, as_dtype(function(carry, x), dtype), carry)


def _broadcast_mask(where: Any, shape: tuple[int, ...], flat: bool) -> Any:
    mask = broadcast_to(to_array(where), shape)
    return ravel(mask) if flat else mask


def accumulate(function: Any, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    """Return ``reduce`` of the elements up to each position along ``axis``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.maximum.accumulate(jnp.array([1, 3, 2, 5])))
    [1 3 3 5]
    """
    _reject_out(out, "accumulate")
    x = to_array(a)
    axis_number = axis_of(axis, len(shape_of(x)))
    x = x if dtype is None else as_dtype(x, resolve_requested_dtype(dtype))
    result_dtype = _result_dtype(function, x)
    x = as_dtype(x, result_dtype)
    if (native := _CUMULATIVE_FUNCTIONS.get(function)) is not None and result_dtype != np.bool_:
        return native(x, axis_number)
    if not shape_of(x)[axis_number]:
        return x
    rows = moveaxis(x, axis_number, 0)
    first, remaining = slice_in_dim(rows, 0, 1), slice_in_dim(rows, 1, shape_of(rows)[0])

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        result = as_dtype(function(carry, row), result_dtype)
        return result, result

    return moveaxis(concatenate([first, scan(step, squeeze(first, 0), remaining)[1]]), 0, axis_number)


def reduceat(function: Any, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    """Return ``reduce`` of segments along ``axis``: from each index up to the next, the last to the end.

    Where the next index is not larger, the result is the element at the index. Indices have to be in bounds.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add.reduceat(jnp.arange(6), jnp.array([0, 3, 4])))
    [3 3 9]
    """
    _reject_out(out, "reduceat")
    x = to_array(a)
    axis_number = axis_of(axis, len(shape_of(x)))
    size = shape_of(x)[axis_number]
    starts = to_array(indices)
    if len(shape_of(starts)) != 1:
        raise ValueError(f"reduceat takes indices along one axis, got shape {shape_of(starts)}")
    x = x if dtype is None else as_dtype(x, resolve_requested_dtype(dtype))
    result_dtype = _result_dtype(function, x)
    rows = moveaxis(as_dtype(x, result_dtype), axis_number, 0)
    ends = concatenate([starts[1:], full_like(starts[:1], size)])
    column = (-1, *(1 for _ in shape_of(rows)[1:]))
    begin, end = reshape(starts, column), reshape(ends, column)

    def step(carry: Any, inputs: tuple[Any, Any]) -> tuple[Any, None]:
        row, number = inputs
        in_segment = logic.bitwise_and(logic.greater(number, begin), logic.less(number, end))
        return logic.where(in_segment, as_dtype(function(carry, row), result_dtype), carry), None

    numbers = np.arange(size, dtype=aval_of(starts).dtype)
    return moveaxis(scan(step, rows[starts], (rows, numbers))[0], 0, axis_number)


def outer(function: Any, A: Any, B: Any, /) -> Any:
    """Return the function of each element of ``A`` with each of ``B``: the axes of ``A``, then those of ``B``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add.outer(jnp.arange(2), jnp.array([10, 20])))
    [[10 20]
     [11 21]]
    """
    shape_a, shape_b = shape_of(A), shape_of(B)
    return function(reshape(A, shape_a + (1,) * len(shape_b)), reshape(B, (1,) * len(shape_a) + shape_b))


def at(function: Any, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
    """Return ``a`` with the function applied to the elements at an index, repeatedly for repeated elements.

    Arrays are immutable, so ``inplace`` has to be False (else NotImplementedError).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1.0, inplace=False))
    [2. 0. 1.]
    """
    if inplace:
        raise NotImplementedError(f"{function.__name__}.at gives a new array: say inplace=False")
    x = to_array(a)
    if function.nin == 1:
        return x.at[indices].apply(function)
    if b is None:
        raise ValueError(f"{function.__name__}.at takes the other operand as its third argument")
    if (method_name := _UPDATE_METHODS.get(function)) is not None:
        return getattr(x.at[indices], method_name)(b)
    positions = reshape(np.arange(aval_of(x).size), shape_of(x))
    selected = to_array(positions)[indices]
    values = ravel(broadcast_to(b, shape_of(selected)))

    def step(carry: Any, inputs: tuple[Any, Any]) -> tuple[Any, None]:
        index, value = inputs
        return carry.at[index].set(as_dtype(function(carry[index], value), aval_of(x).dtype)), None

    return reshape(scan(step, ravel(x), (ravel(selected), values))[0], shape_of(x))


def _result_dtype(function: Any, x: Any) -> Any:
    """Return the dtype of ``function(x, x)``, to which the elements are converted first."""
    sample = np.zeros((), aval_of(x).dtype)[()]
    return aval_of(function(sample, sample)).dtype


def _reject_out(out: Any, name: str) -> None:
    if out is not None:
        raise NotImplementedError(f"{name} gives a new array: arrays cannot be changed, so there is no out")
