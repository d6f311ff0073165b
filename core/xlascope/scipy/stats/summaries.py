"""What is said of samples: the most frequent value, ranks, the error of the mean."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import numpy as jnp
from ...dtypes import kind_of
from ...numpy.axes import axis_of, whole_number
from ...numpy.together import together
from ...operations.cumulative import cummax, cummin
from ...trace.gate import array_of
from ...trace.source import here
from ..arguments import floats, one_of


class ModeResult(NamedTuple):
    """The most frequent values, and how often each comes."""

    mode: Any
    count: Any


def _policy(name: str, given: str, *known: str) -> None:
    if given == "omit" and "omit" not in known:
        raise NotImplementedError(f"{name} passes NaN on: nan_policy has to be 'propagate', got 'omit'{here()}")
    if given == "raise":
        raise NotImplementedError(f"{name} does not look for NaN: nan_policy cannot be 'raise'{here()}")
    one_of(f"nan_policy of {name}", given, *known)


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis (None: of all), the least of several, and how often it comes.

    ``keepdims`` leaves an axis of size 1. NaN is a value that comes after all others. Raises ValueError for an unknown
    ``nan_policy``, NotImplementedError for another one than "propagate".

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import stats
    >>> print(*stats.mode(jnp.array([3, 1, 3, 1, 2])))
    1 2
    """
    _policy("mode", nan_policy, "propagate")
    return ModeResult(*_mode(a, axis=axis, keepdims=bool(keepdims)))


@together("axis", "keepdims")
def _mode(a: Any, axis: int | None, keepdims: bool) -> tuple[Any, Any]:
    a = array_of(a)
    rank = a.ndim
    place = 0 if axis is None else axis_of(axis, max(rank, 1))
    a = jnp.ravel(a) if axis is None or not rank else a
    if not a.size:
        shape = tuple(size for i, size in enumerate(a.shape) if i != place)
        values, counts = jnp.full(shape, jnp.nan, a.dtype), jnp.zeros(shape, int)
    else:
        along = jnp.sort(jnp.moveaxis(a, place, -1), -1)
        n = along.shape[-1]
        same = (along[..., 1:] == along[..., :-1]) | (along[..., 1:] != along[..., 1:]) & (
            along[..., :-1] != along[..., :-1]
        )
        first = jnp.concatenate([jnp.ones((*along.shape[:-1], 1), bool), ~same], -1)
        places = jnp.arange(n)
        starts = jnp.where(first, places, n)
        # where the next run starts: the least start behind each place
        behind = jnp.flip(cummin(jnp.flip(starts, -1), axis=along.ndim - 1), -1)
        ends = jnp.concatenate([behind[..., 1:], jnp.full((*along.shape[:-1], 1), n)], -1)
        lengths = jnp.where(first, ends - places, 0)
        best = jnp.argmax(lengths, -1, keepdims=True)
        values, counts = (jnp.take_along_axis(x, best, -1)[..., 0] for x in (along, lengths))
    if keepdims:
        axes = tuple(range(max(rank, 1))) if axis is None else (place,)  # a number counts as a vector
        values, counts = jnp.expand_dims(values, axes), jnp.expand_dims(counts, axes)
    return values, counts


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """The ranks of values, from 1, along an axis (None: of all, as a vector).

    Equal values get by ``method`` the "average", "min" or "max" of their ranks, "dense" ones without gaps, or "ordinal"
    ones in their order. With NaN all ranks are NaN. Raises ValueError for another method.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import stats
    >>> print(stats.rankdata(jnp.array([10, 30, 10])))
    [1.5 3.  1.5]
    """
    _policy("rankdata", nan_policy, "propagate")
    one_of("method of rankdata", method, "average", "min", "max", "dense", "ordinal")
    return _rankdata(a, method=method, axis=axis)


@together("method", "axis")
def _rankdata(a: Any, method: str, axis: int | None) -> Any:
    a = array_of(a)
    if axis is None:
        return _ranks(jnp.ravel(a), method)
    place = axis_of(axis, a.ndim)
    return jnp.moveaxis(_ranks(jnp.moveaxis(a, place, -1), method), -1, place)


def _ranks(x: Any, method: str) -> Any:
    order = jnp.argsort(x, -1)
    back = jnp.argsort(order, -1)
    n = x.shape[-1]
    if method == "ordinal":
        found = back + 1
    else:
        along = jnp.take_along_axis(x, order, -1)
        starts = jnp.ones(along.shape, bool).at[..., 1:].set(along[..., 1:] != along[..., :-1])
        dense = jnp.take_along_axis(jnp.cumsum(starts, -1), back, -1)
        if method == "dense":
            found = dense
        else:
            places = jnp.arange(n)
            least = cummax(jnp.where(starts, places, 0), axis=x.ndim - 1)
            ends = jnp.concatenate([starts[..., 1:], jnp.ones((*x.shape[:-1], 1), bool)], -1)
            most = jnp.flip(cummin(jnp.flip(jnp.where(ends, places, n), -1), axis=x.ndim - 1), -1)
            least, most = (jnp.take_along_axis(each, back, -1) + 1 for each in (least, most))
            found = {"min": least, "max": most}.get(method, (least + most) / 2)
    (found,) = floats(found)
    if kind_of(x.dtype) in "fc":
        missing = jnp.any(jnp.isnan(x), -1, keepdims=True)
        return jnp.where(missing, jnp.nan, found)
    return found


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean along an axis (None: of all): the standard deviation over the root of the count.

    ``ddof`` is taken from the count in the deviation. ``nan_policy`` "omit" leaves NaN out. ``keepdims`` leaves axes of
    size 1.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import stats
    >>> print(stats.sem(jnp.array([1.0, 3.0, 5.0, 7.0])).round(4))
    1.291
    """
    _policy("sem", nan_policy, "propagate", "omit")
    return _sem(a, axis=axis, ddof=whole_number(ddof, "ddof"), omitting=nan_policy == "omit", keepdims=bool(keepdims))


@together("axis", "ddof", "omitting", "keepdims")
def _sem(a: Any, axis: int | None, ddof: int, omitting: bool, keepdims: bool) -> Any:
    (a,) = floats(a)
    if axis is None or not a.ndim:
        a, axis = jnp.ravel(a), 0
        keepdims = False
    if not omitting:
        return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(
            jnp.array(a.shape[axis_of(axis, a.ndim)], a.dtype)
        )
    known = ~jnp.isnan(a)
    count = jnp.sum(known, axis, keepdims=True).astype(a.dtype)
    away = jnp.where(known, a - jnp.sum(jnp.where(known, a, 0), axis, keepdims=True) / count, 0)
    found = jnp.sqrt(jnp.sum(jnp.abs(away) ** 2, axis, keepdims=True) / (count - ddof) / count)
    return found if keepdims else jnp.squeeze(found, axis)
