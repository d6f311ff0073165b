"""Trace cache for array functions: operations are recorded once per kind of arguments, then replayed.

What a function of arrays does under a trace follows from the types of its arrays and the values of its other
arguments. The function may check, promote and loop as it likes: from the third call with arguments of one
kind on, only the recorded operations are applied (:mod:`trace_recording`). Decorating a function with
:func:`cache_trace` is all that fast tracing requires.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..ir.jaxpr import Literal
from ..ir.requested_dtypes import Narrowings
from ..keys import key_of
from ..recent import Recent
from ..runtime import blocks
from ..runtime.boot import enable_x64, numpy_rank_promotion, settings_of_traces, trace_settings
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from .jaxpr_trace import JaxprTracer
from .library_calls import PROMOTING, is_called_by_library
from .plans import ENABLED, NO_PLAN, Plan, work_out
from .state import STATE
from .traceback_filtering import filter_traceback

F = TypeVar("F", bound=Callable[..., Any])

#: Classes of values whose type alone is in the key; transformations add their tracers.
ARRAYS: set[Any] = {ArrayImpl, JaxprTracer, KeyArray}
#: Classes whose equal values are interchangeable, and classes whose values ``key_of`` distinguishes.
_PLAIN = frozenset({int, bool, str, type(None), type, type(Ellipsis)})
_FIXED = (float, complex, np.generic, np.dtype, type, enum.Enum)
_SCALARS = (bool, int, float, complex, np.generic, Literal)

#: Generation size of the trace cache of a function.
_MOST = 512


class _Steps(NamedTuple):
    """Recorded trace and how to return its results.

    One array is returned as it is (``result_index``), several through the constructor ``sequence``.
    """

    plan: Plan
    result: int
    sequence: Callable[[list[Any]], Any] | None


#: The entry for arguments with which the function has to run.
_NEVER = _Steps(NO_PLAN, 0, None)
#: Stands for an argument of a type that recording does not support.
_OTHER: Any = object()


class _NotPlannedError(Exception):
    """Error for a result of a type that a recorded trace cannot return."""


def planned(function: F, eager: Callable[..., Any] | None = None) -> F:
    """Decorate a function so that, under a trace, its recorded operations are replayed where there are some.

    The function must use the types of its arrays alone, and return an array, or a tuple or list of arrays.
    Arguments of other types (NumPy arrays, objects that stand for arrays) and exceptions are left to the
    function. Outside of any trace, ``eager`` replaces the function.
    """
    traces: Recent[Any, _Steps] = Recent(_MOST)
    met_keys: Recent[Any, bool] = Recent(_MOST)
    outside = function if eager is None else eager
    is_public = not function.__name__.startswith("_")  # others get the operands of a public function

    @functools.wraps(function)
    def call_cached(*args: Any, **kwargs: Any) -> Any:
        settings = trace_settings.value
        if settings and is_public and is_called_by_library():
            return _with_promotion(call_cached, args, kwargs)
        trace = STATE.trace
        try:
            if trace is None:
                return outside(*args, **kwargs)
            arrays: list[Any] = []
            kinds: list[Any] = [enable_x64.value, settings and settings_of_traces()]  # inlined find_trace key
            for x in args:
                kind = x.__class__
                if kind in ARRAYS:
                    arrays.append(x)
                    kinds.append(x.aval)
                elif kind in _PLAIN:
                    kinds += (kind, x)
                else:
                    kinds.append(_kind(x, arrays))
            if kwargs:
                kinds += [(name, _kind(x, arrays)) for name, x in kwargs.items()]
            key = tuple(kinds)
            entry = traces.get(key) or _made(traces, met_keys, key, function, args, kwargs, arrays)
            if entry is _NEVER:
                return function(*args, **kwargs)
            recorded, result_index, sequence = entry
            values = [*arrays, *(recorded.literals if trace.staging else recorded.constants)]
            trace.take(recorded.steps, values, recorded.used)
            return values[result_index] if sequence is None else sequence([values[i] for i in recorded.results])
        except BaseException as error:
            filter_traceback(error)
            raise

    return call_cached  # type: ignore[return-value]


def _with_promotion(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function under standard promotion of ranks and dtypes, whatever the user's settings are."""
    block = blocks.Block(PROMOTING, "promotion within the library")
    try:
        blocks.enter(block)
        return function(*args, **kwargs)
    finally:
        blocks.leave(block)


def _kind(x: Any, arrays: list[Any]) -> Any:
    """Return the cache key of one argument, and append the arrays in it to ``arrays``."""
    kind = x.__class__
    if kind in ARRAYS:
        arrays.append(x)
        return x.aval
    if kind in _PLAIN:
        return kind, x
    if kind is tuple or kind is list:
        kinds = tuple(map(type, x))  # 1 and True are equal
        if _PLAIN.issuperset(kinds):
            return kind, kinds, tuple(x)
        return kind, *[_kind(y, arrays) for y in x]
    if isinstance(x, _FIXED):
        return key_of(x)
    arrays.append(_OTHER)
    return _OTHER


def _made(
    traces: Recent[Any, _Steps],
    met_keys: Recent[Any, bool],
    key: Any,
    function: Callable[..., Any],
    args: Any,
    kwargs: Any,
    arrays: Sequence[Any],
) -> _Steps:
    """Return the cache entry for a key without one: run the function the first time, record it the second time."""
    entry = traces.again(key)
    if entry is not None:
        return entry
    if not ENABLED or any(x is _OTHER for x in arrays):
        return _NEVER
    if numpy_rank_promotion.value == "warn":  # a replay would not repeat the warning
        return _NEVER
    if (met_keys.get(key) or met_keys.again(key)) is None:
        met_keys.keep(key, True)
        return _NEVER
    before = Narrowings.count
    steps = _worked_out(function, args, kwargs, arrays)
    return traces.keep(key, steps if Narrowings.count == before else _NEVER)


def _worked_out(function: Callable[..., Any], args: Any, kwargs: Any, arrays: Sequence[Any]) -> _Steps:
    sequences: list[Any] = []

    def rule(tracers: Sequence[Any]) -> list[Any]:
        remaining = iter(tracers)
        positional = [_with(x, remaining) for x in args]  # first, because both consume one iterator
        output = function(*positional, **{name: _with(x, remaining) for name, x in kwargs.items()})
        several = output.__class__ is tuple or output.__class__ is list
        if several:
            sequences.append(output.__class__)
        results = list(output) if several else [output]
        if any(y.__class__ not in ARRAYS and not isinstance(y, _SCALARS) for y in results):
            raise _NotPlannedError
        return results

    try:
        recorded = work_out(Recent(1), None, rule, arrays)
    except Exception:  # the function raises it again when it runs on the arguments themselves
        return _NEVER
    if recorded is NO_PLAN:
        return _NEVER
    return _Steps(recorded, recorded.results[0] if recorded.results else 0, sequences[0] if sequences else None)


def _with(x: Any, arrays: Any) -> Any:
    """Return an argument with its arrays replaced, in order, by those of the iterator ``arrays``."""
    if x.__class__ in ARRAYS:
        return next(arrays)
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([_with(y, arrays) for y in x])
    return x
