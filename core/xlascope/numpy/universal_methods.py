"""The methods that :mod:`universal` gives to functions of two operands (``at`` to those of one as well)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.flow.loops import scan
from ..dtypes import is_differentiable
from ..ir.requested_dtypes import requested_dtype
from ..operations.selection import mask_tangent
from ..operations.slicing import slice_in_dim
from ..trace.gate import array_of
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .axes import axis_of
from .creation import full_like
from .joining import concatenate
from .promotion import as_dtype
from .shaping import broadcast_to, expand_dims, moveaxis, ravel, reshape, shape_of, squeeze

Function = Callable[..., Any]

#: Whole reductions and running ones that are there, and updates at an index.
_REDUCTIONS: dict[Function, Function] = {
    ufuncs.add: reductions.sum,
    ufuncs.multiply: reductions.prod,
    ufuncs.maximum: reductions.max,
    ufuncs.minimum: reductions.min,
}
_RUNNING: dict[Function, Function] = {ufuncs.add: reductions.cumsum, ufuncs.multiply: reductions.cumprod}
_UPDATES: dict[Function, str] = {
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
    """The elements along ``axis`` (None: all) put together by the function, from the first one on.

    ``initial`` stands before the first; elements where ``where`` does not hold are left out, which takes an ``initial``
    or a function with an identity. Raises ValueError for no elements and no identity.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.subtract.reduce(jnp.array([10, 1, 2])))
    7
    """
    _refuse(out, "reduce")
    x = array_of(a)
    found = _REDUCTIONS.get(function)
    if found is not None and aval_of(x).dtype != np.bool_:
        x = x if dtype is None else as_dtype(x, requested_dtype(dtype))
        return found(x, axis, keepdims=keepdims, initial=initial, where=where)
    rank = len(shape_of(x))
    x, place = (ravel(x), 0) if axis is None else (x, axis_of(axis, rank))
    x = x if dtype is None else as_dtype(x, requested_dtype(dtype))
    if initial is None and function.identity is not None and (where is not None or not shape_of(x)[place]):
        initial = function.identity
    if where is not None and initial is None:
        raise ValueError(f"{function.__name__}.reduce with where takes an initial, since it has no identity")
    own = _result(function, x)
    rows = moveaxis(as_dtype(x, own), place, 0)
    holds = None if where is None else moveaxis(_flat(where, shape_of(array_of(a)), axis is None), place, 0)
    first, rows, holds = _first(function, rows, holds, initial, own)
    made = scan(lambda carry, each: (_step(function, carry, each, own), None), first, (rows, holds))[0]
    if not keepdims:
        return made
    return reshape(made, (1,) * rank) if axis is None else expand_dims(made, place)


def _first(function: Any, rows: Any, holds: Any, initial: Any, dtype: Any) -> tuple[Any, Any, Any]:
    if initial is not None:
        return broadcast_to(as_dtype(array_of(initial), dtype), shape_of(rows)[1:]), rows, holds
    if not shape_of(rows)[0]:
        raise ValueError(f"{function.__name__}.reduce of no elements takes an initial, since it has no identity")
    return squeeze(slice_in_dim(rows, 0, 1), 0), slice_in_dim(rows, 1, shape_of(rows)[0]), holds


def _step(function: Any, carry: Any, each: tuple[Any, Any], dtype: Any) -> Any:
    x, holds = each
    if holds is None:
        return as_dtype(function(carry, x), dtype)
    if is_differentiable(dtype):  # what is left out has no derivative
        x, made = mask_tangent(holds, x, 1, 2), mask_tangent(holds, carry, 1, 2)
        return logic.where(holds, as_dtype(function(made, x), dtype), carry)
    return logic.where(holds, as_dtype(function(carry, x), dtype), carry)


def _flat(where: Any, shape: tuple[int, ...], flat: bool) -> Any:
    spread = broadcast_to(array_of(where), shape)
    return ravel(spread) if flat else spread


def accumulate(function: Any, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    """What ``reduce`` gives of the elements up to each place along ``axis``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.maximum.accumulate(jnp.array([1, 3, 2, 5])))
    [1 3 3 5]
    """
    _refuse(out, "accumulate")
    x = array_of(a)
    place = axis_of(axis, len(shape_of(x)))
    x = x if dtype is None else as_dtype(x, requested_dtype(dtype))
    own = _result(function, x)
    x = as_dtype(x, own)
    if (found := _RUNNING.get(function)) is not None and own != np.bool_:
        return found(x, place)
    if not shape_of(x)[place]:
        return x
    rows = moveaxis(x, place, 0)
    first, rest = slice_in_dim(rows, 0, 1), slice_in_dim(rows, 1, shape_of(rows)[0])

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        made = as_dtype(function(carry, row), own)
        return made, made

    return moveaxis(concatenate([first, scan(step, squeeze(first, 0), rest)[1]]), 0, place)


def reduceat(function: Any, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    """``reduce`` of stretches along ``axis``: from each index up to the next, the last to the end.

    Where the next index is no larger, it is the element at the index. Indices are within the axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add.reduceat(jnp.arange(6), jnp.array([0, 3, 4])))
    [3 3 9]
    """
    _refuse(out, "reduceat")
    x = array_of(a)
    place = axis_of(axis, len(shape_of(x)))
    size = shape_of(x)[place]
    starts = array_of(indices)
    if len(shape_of(starts)) != 1:
        raise ValueError(f"reduceat takes indices along one axis, got shape {shape_of(starts)}")
    x = x if dtype is None else as_dtype(x, requested_dtype(dtype))
    own = _result(function, x)
    rows = moveaxis(as_dtype(x, own), place, 0)
    ends = concatenate([starts[1:], full_like(starts[:1], size)])
    column = (-1, *(1 for _ in shape_of(rows)[1:]))
    begin, end = reshape(starts, column), reshape(ends, column)

    def step(carry: Any, each: tuple[Any, Any]) -> tuple[Any, None]:
        row, number = each
        within = logic.bitwise_and(logic.greater(number, begin), logic.less(number, end))
        return logic.where(within, as_dtype(function(carry, row), own), carry), None

    numbers = np.arange(size, dtype=aval_of(starts).dtype)
    return moveaxis(scan(step, rows[starts], (rows, numbers))[0], 0, place)


def outer(function: Any, A: Any, B: Any, /) -> Any:
    """The function of each element of ``A`` with each of ``B``: the axes of ``A``, then those of ``B``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add.outer(jnp.arange(2), jnp.array([10, 20])))
    [[10 20]
     [11 21]]
    """
    own, other = shape_of(A), shape_of(B)
    return function(reshape(A, own + (1,) * len(other)), reshape(B, (1,) * len(own) + other))


def at(function: Any, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
    """``a`` with the function applied at an index, as often as the index names each element.

    Arrays do not change, so ``inplace`` has to be False (NotImplementedError).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1.0, inplace=False))
    [2. 0. 1.]
    """
    if inplace:
        raise NotImplementedError(f"{function.__name__}.at gives a new array: say inplace=False")
    x = array_of(a)
    if function.nin == 1:
        return x.at[indices].apply(function)
    if b is None:
        raise ValueError(f"{function.__name__}.at takes the other operand as its third argument")
    if (how := _UPDATES.get(function)) is not None:
        return getattr(x.at[indices], how)(b)
    places = reshape(np.arange(aval_of(x).size), shape_of(x))
    chosen = array_of(places)[indices]
    values = ravel(broadcast_to(b, shape_of(chosen)))

    def step(carry: Any, each: tuple[Any, Any]) -> tuple[Any, None]:
        place, value = each
        return carry.at[place].set(as_dtype(function(carry[place], value), aval_of(x).dtype)), None

    return reshape(scan(step, ravel(x), (ravel(chosen), values))[0], shape_of(x))


def _result(function: Any, x: Any) -> Any:
    """The dtype that results have, and so what elements are before they meet."""
    some = np.zeros((), aval_of(x).dtype)[()]
    return aval_of(function(some, some)).dtype


def _refuse(out: Any, name: str) -> None:
    if out is not None:
        raise NotImplementedError(f"{name} gives a new array: arrays cannot be changed, so there is no out")
