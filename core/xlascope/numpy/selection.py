"""Selection between values by conditions and indices, and functions that apply functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..api import vmap
from ..control.flow.cond_api import cond
from ..dtypes import dtype_kind, to_canonical_dtype
from ..errors import ConcretizationTypeError
from ..ir.avals import make_aval
from ..operations.conversion import to_dtype
from ..operations.shapes import zeros_of
from ..trace.concrete_values import require_known
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from . import logic, ufuncs
from .axes import axis_of, is_several, whole_number
from .creation import asarray
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_args, promote_dtypes
from .reductions import all as all_of
from .reductions import list_to_array
from .shaping import broadcast_arrays, broadcast_to, index_row, moveaxis, ravel, reshape, shape_of


@jit_wrapped()
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Return for each element the choice of the first condition that holds, or ``default``.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(5)
    >>> print(jnp.select([x < 2, x < 4], [x, 10 * x], -1))
    [ 0  1 20 30 -1]
    """
    condlist, choicelist = (_as_list(entries) for entries in (condlist, choicelist))
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select takes as many choices as conditions, got {len(choicelist)} and {len(condlist)}")
    *choices, result = promote_dtypes([*choicelist, default])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = logic.where(condition, choice, result)
    return result


def _as_list(values: Any) -> list[Any]:
    """Return the entries of a list, or the rows of an array given in place of one."""
    return list(values) if isinstance(values, (list, tuple)) else [index_row(values, i) for i in range(len(values))]


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Return for each element the value of the last function (or number) whose condition holds.

    An additional last function applies where no condition holds; without it the value there is 0.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.array([-2.0, 0.0, 3.0])
    >>> print(jnp.piecewise(x, [x < 0, x > 0], [lambda x: -x, lambda x: 10 * x]))
    [ 2.  0. 30.]
    """
    aval_of(x)  # raises the error for lists
    x = x if isinstance(x, TracerBase) else asarray(x)
    is_list = isinstance(condlist, (list, tuple)) or len(shape_of(condlist)) > len(shape_of(x))
    conditions = _as_list(condlist) if is_list else [condlist]
    if not isinstance(funclist, (list, tuple)):
        raise TypeError(f"piecewise takes funclist as a list of functions and numbers, got {funclist!r}")
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"piecewise takes one function per condition, and one more, got {len(functions)}")
    functions.insert(0, functions.pop() if len(functions) > len(conditions) else 0)
    shape = shape_of(x)
    case_numbers = zeros_of(_shaped_aval(shape, np.int32))
    for case, condition in enumerate(conditions, 1):
        case_numbers = logic.where(broadcast_to(asarray(condition), shape), np.int32(case), case_numbers)
    result = zeros_of(aval_of(x))
    for case, function in enumerate(functions):
        is_case = logic.equal(case_numbers, np.int32(case))
        piece = (
            _apply_where(functools.partial(_call_with, function, args, kw), is_case, x)
            if callable(function)
            else function
        )
        result = logic.where(is_case, to_dtype(asarray(piece), aval_of(x).dtype), result)
    return result


def _apply_where(function: Callable[..., Any], mask: Any, x: Any) -> Any:
    """Apply a function to each element at which ``mask`` holds; others, and their derivatives, are 0."""
    zero = zeros_of(_shaped_aval((), aval_of(x).dtype))

    def call_and_convert(element: Any) -> Any:
        return to_dtype(asarray(function(element)), zero.dtype)

    def apply(choice: Any, element: Any) -> Any:
        return cond(choice, call_and_convert, lambda _: zero, element)

    return reshape(vmap(apply)(ravel(mask), ravel(x)), shape_of(x))


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Return elements of the arrays in ``choices``; ``a`` holds for each element the number of its array.

    Numbers out of range raise ValueError with ``mode="raise"`` (which needs concrete values), are clipped to the
    range with "clip", or wrap around with "wrap".

    >>> import xlascope.numpy as jnp
    >>> print(jnp.choose(jnp.array([1, 0]), [jnp.array([1, 2]), jnp.array([3, 4])]))
    [3 2]
    """
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f'mode is "raise", "wrap" or "clip", got {mode!r}')
    if dtype_kind(aval_of(a).dtype) not in "iu":
        raise ValueError(f"choose takes numbers of choices, integers, got {aval_of(a).dtype.name}")
    if out is not None:
        raise NotImplementedError("choose gives a new array: arrays cannot be changed, so there is no out")
    options = list(choices) if is_several(choices) else []
    if not options:
        raise ValueError(f"choose takes at least one choice, in a list or along an array's first axis; got {choices!r}")
    if mode == "raise":
        _require_valid_choices(a, len(options))
    return _choose(a, options, mode=mode)


def _require_valid_choices(a: Any, count: int) -> None:
    numbers = a.concrete() if isinstance(a, TracerBase) else a
    if numbers is None:
        raise ConcretizationTypeError(
            f'choose with mode="raise" looks at the numbers, and {a!r} is not known while tracing. '
            'Pass mode="clip" or mode="wrap".'
        )
    numbers = np.asarray(numbers)
    if ((numbers < 0) | (numbers >= count)).any():
        raise ValueError(f"choose: a number is outside of the {count} choices; see mode")


@jit_wrapped("mode")
def _choose(a: Any, choices: list[Any], mode: str) -> Any:
    index, *options = broadcast_arrays(a, *choices)
    options = promote_dtypes(options)
    count = len(options)
    index = ufuncs.remainder(index, count) if mode == "wrap" else ufuncs.maximum(ufuncs.minimum(index, count - 1), 0)
    result = as_dtype(options[0], aval_of(options[0]).dtype)
    for number, option in enumerate(options[1:], 1):
        result = logic.where(logic.equal(index, number), option, result)
    return result


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply ``func1d`` to each vector along an axis; the axes of its result replace the axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.apply_along_axis(jnp.sum, 0, jnp.ones((3, 2))))
    [3. 3.]
    """
    rank = len(shape_of(arr))
    axis = axis_of(axis, rank)
    function = functools.partial(_call_with, func1d, args, kwargs)
    for _ in range(rank - 1):
        function = vmap(function)  # type: ignore[assignment]
    return tree.map(functools.partial(_move_result_axes, rank - 1, axis), function(moveaxis(arr, axis, -1)))


def _move_result_axes(lead: int, axis: int, x: Any) -> Any:
    """Return ``x`` with all axes after the first ``lead`` moved to ``axis``."""
    new = len(shape_of(x)) - lead
    return moveaxis(x, tuple(range(lead, lead + new)), tuple(range(axis, axis + new)))


def _call_with(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], x: Any) -> Any:
    return function(x, *args, **kwargs)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether two arrays are equal after broadcasting; False if their shapes do not broadcast."""
    x, y = list_to_array(a1), list_to_array(a2)
    try:
        np.broadcast_shapes(shape_of(x), shape_of(y))
    except ValueError:
        return asarray(False)
    return all_of(logic.equal(*promote_args(tuple(broadcast_arrays(x, y)))))


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """Return how often each number 0, 1, … occurs in an array of integers, or the sum of its weights.

    ``length`` is the number of counts; it is required while tracing.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.bincount(jnp.array([0, 2, 2])))
    [1 0 2]
    """
    if dtype_kind(aval_of(x).dtype) not in "biu":
        raise TypeError(f"bincount takes integers, got {aval_of(x).dtype.name}; convert with astype(int)")
    if len(shape_of(x)) != 1:
        raise ValueError(f"bincount takes one axis, got shape {shape_of(x)}; ravel it")
    if length is None:
        fix = "Pass length=, how many counts there are; larger numbers are not counted."
        numbers = np.asarray(require_known(x, "bincount", "how many counts there are", fix))
        length = max(int(numbers.max()) + 1 if numbers.size else 0, whole_number(minlength, "minlength"))
    if weights is not None and shape_of(weights) != shape_of(x):
        raise ValueError(
            f"bincount takes a weight for each of the {shape_of(x)[0]} numbers, got shape {shape_of(weights)}"
        )
    if whole_number(length, "length") < 0:
        raise ValueError(f"length is the number of counts, at least 0, got {length}")
    if weights is not None and aval_of(weights).dtype == np.bool_:
        weights = as_dtype(weights, to_canonical_dtype(float))  # as NumPy, which makes all weights floats
    return _bincount(x, weights, length=whole_number(length, "length"))


@jit_wrapped("length")
def _bincount(x: Any, weights: Any, length: int) -> Any:
    amount = 1 if weights is None else weights
    dtype = to_canonical_dtype(int) if weights is None else aval_of(weights).dtype
    if not length:
        return zeros_of(_shaped_aval((length,), dtype))
    bins = ufuncs.minimum(ufuncs.maximum(x, 0), length)  # larger values are counted in an extra bin, cut off below
    return zeros_of(_shaped_aval((length + 1,), dtype)).at[bins].add(amount)[:length]


def _shaped_aval(shape: tuple[int, ...], dtype: Any) -> Any:
    return make_aval(shape, np.dtype(dtype))
