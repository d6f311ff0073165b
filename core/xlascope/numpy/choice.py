"""Choosing between values, and functions of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import vmap
from ..dtypes import canonical
from ..operations.conversion import convert_element_type
from ..operations.shapes import expand_dims, reduce_sum, zeros_of
from ..trace.values import aval_of
from . import logic, ufuncs
from .creation import asarray
from .promotion import fitted, to_common_dtype
from .shaping import axis_of, broadcast_arrays, moveaxis, ravel, shape_of
from .together import together


@together()
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice of the first condition that holds, or ``default``.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(5)
    >>> print(jnp.select([x < 2, x < 4], [x, 10 * x], -1))
    [ 0  1 20 30 -1]
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select takes as many choices as conditions, got {len(choicelist)} and {len(condlist)}")
    *choices, found = to_common_dtype([*choicelist, default])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        found = logic.where(condition, choice, found)
    return found


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """For each element what the function (or number) of the last condition that holds gives.

    One function more than conditions is for where none holds, else there is 0.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.array([-2.0, 0.0, 3.0])
    >>> print(jnp.piecewise(x, [x < 0, x > 0], [lambda x: -x, lambda x: 10 * x]))
    [ 2.  0. 30.]
    """
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"piecewise takes one function per condition, and one more, got {len(functions)}")
    otherwise = functions.pop() if len(functions) > len(conditions) else 0
    dtype = aval_of(x).dtype

    def value(function: Any) -> Any:
        return convert_element_type(asarray(function(x, *args, **kw) if callable(function) else function), dtype)

    found = logic.where(True, value(otherwise), zeros_of(aval_of(x)))
    for condition, function in zip(conditions, functions, strict=True):
        found = logic.where(condition, value(function), found)
    return found


def choose(a: Any, choices: Any, out: None = None, mode: str = "clip") -> Any:
    """For each element the number of the array in ``choices`` to take from."""
    index, *options = broadcast_arrays(a, *choices)
    options = to_common_dtype(options)
    count = len(options)
    index = ufuncs.remainder(index, count) if mode == "wrap" else ufuncs.maximum(ufuncs.minimum(index, count - 1), 0)
    found = options[0]
    for number, option in enumerate(options[1:], 1):
        found = logic.where(logic.equal(index, number), option, found)
    return found


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``func1d`` of each vector along an axis; what it gives takes the axis's place.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.apply_along_axis(jnp.sum, 0, jnp.ones((3, 2))))
    [3. 3.]
    """
    rank = len(shape_of(arr))
    axis = axis_of(axis, rank)
    function = functools.partial(_called, func1d, args, kwargs)
    for _ in range(rank - 1):
        function = vmap(function)  # type: ignore[assignment]
    result = function(moveaxis(arr, axis, -1))
    new = len(shape_of(result)) - (rank - 1)
    return moveaxis(result, tuple(range(rank - 1, rank - 1 + new)), tuple(range(axis, axis + new)))


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], x: Any) -> Any:
    return function(x, *args, **kwargs)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays are equal when they are broadcast together; False when they cannot be."""
    try:
        same = logic.equal(*fitted((a1, a2)))
    except (TypeError, ValueError):
        return asarray(False)
    return same.all()


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is among the test elements."""
    return _isin(element, test_elements, invert=invert)


@together("invert")
def _isin(element: Any, test_elements: Any, invert: bool) -> Any:
    x, tests = to_common_dtype((element, test_elements))
    rank = len(shape_of(x))
    found = logic.equal(expand_dims(x, (rank,)), expand_dims(ravel(tests), tuple(range(rank))))
    held = reduce_sum(convert_element_type(found, np.int32), (len(shape_of(x)),))
    return logic.equal(held, 0) if invert else logic.not_equal(held, 0)


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """How often each number 0, 1, … is in an array of integers, or the sum of its weights.

    ``length``, which has to be given while tracing, is the number of counts.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.bincount(jnp.array([0, 2, 2])))
    [1 0 2]
    """
    if length is None:
        known = np.asarray(x)
        length = max(int(known.max()) + 1 if known.size else 0, minlength)
    return _bincount(x, weights, length=length)


@together("length")
def _bincount(x: Any, weights: Any, length: int) -> Any:
    amount = 1 if weights is None else weights
    dtype = canonical(int) if weights is None else aval_of(weights).dtype
    counts = zeros_of(_type(length, dtype))
    return counts.at[ufuncs.maximum(x, 0)].add(amount) if length else counts


def _type(length: int, dtype: np.dtype[Any]) -> Any:
    return aval_of(np.zeros((length,), dtype))
