"""Trace cache for array functions: operations are recorded once per kind of arguments, then replayed.

What a function of arrays does under a trace follows from the types of its arrays and the values of its other
arguments. The function may check, promote and loop as it likes: from the third call with arguments of one
kind on, only the recorded operations are applied (:mod:`trace_recording`). Decorating a function with
:func:`cache_trace` is all that fast tracing requires.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..cache_keys import cache_key
from ..ir.jaxpr import Literal
from ..ir.requested_dtypes import NarrowingCounter
from ..lru_cache import FastLRUCache
from ..runtime import setting_blocks
from ..runtime.boot import enable_x64, numpy_rank_promotion, settings_of_traces, trace_settings, trace_settings_summary
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from .jaxpr_trace import JaxprTracer
from .library_calls import LIBRARY_PROMOTION_SETTINGS, is_called_by_library
from .state import STATE
from .trace_recording import IS_TRACE_CACHE_ENABLED, NOT_RECORDABLE, RecordedTrace, record_trace
from .traceback_filtering import filter_traceback

F = TypeVar("F", bound=Callable[..., Any])

#: Classes of values whose type alone is in the key; transformations add their tracers.
ARRAY_TYPES: set[Any] = {ArrayImpl, JaxprTracer, KeyArray}
#: Classes whose equal values are interchangeable, and classes whose values ``key_of`` distinguishes.
_VALUE_KEYED_TYPES = frozenset({int, bool, str, type(None), type, type(Ellipsis)})
_KEY_OF_TYPES = (float, complex, np.generic, np.dtype, type, enum.Enum)
_SCALAR_TYPES = (bool, int, float, complex, np.generic, Literal)

#: Generation size of the trace cache of a function.
_TRACES_GENERATION_SIZE = 512


class _CachedTrace(NamedTuple):
    """Recorded trace of a function, and how its results are returned.

    A single array has the index ``result_index`` among the values; several arrays (``sequence`` is not None)
    are passed to ``sequence``, that is ``tuple`` or ``list``.
    """

    recorded: RecordedTrace
    result_index: int
    sequence: Callable[[list[Any]], Any] | None


#: The entry for arguments with which the function has to run.
_UNCACHEABLE = _CachedTrace(NOT_RECORDABLE, 0, None)
#: Stands for an argument of a type that recording does not support.
_UNSUPPORTED: Any = object()


class Normalization(NamedTuple):
    """Conversion of static arguments to values of which equal ones are interchangeable, before an eager call.

    ``convert(args, kwargs)`` returns the converted positional arguments, and changes ``kwargs``. It is not needed where
    the keyword arguments, and the positional ones from ``first`` on, are of classes in ``plain``.
    """

    convert: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]
    plain: frozenset[type]
    first: int


_NO_NORMALIZATION = Normalization(lambda args, kwargs: args, frozenset(), sys.maxsize)


class _NotRecordableError(Exception):
    """Error for a result of a type that a recorded trace cannot return."""


def _raise_explained(error: BaseException, explain_error: Callable[..., BaseException], args: Any, kwargs: Any) -> None:
    """Raise the error that explains one that a call raised, without the library's frames; return if it explains itself.

    ``explain_error``, ``args`` and ``kwargs`` are those of :func:`cache_trace` and of the call.
    """
    explained = explain_error(error, args, kwargs)
    if explained is not error:
        _raise_filtered(explained)


def _positional_arity(function: Callable[..., Any]) -> int | None:
    """Return the number of parameters of a function that takes them by position only and has no default for any."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount != code.co_posonlyargcount or code.co_kwonlyargcount:
        return None
    variadic = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return None if variadic or function.__defaults__ else code.co_argcount


def _raise_filtered(error: BaseException) -> None:
    """Raise an error in place of the current one, without the library's frames."""
    try:
        raise error from None
    except BaseException as raised:
        filter_traceback(raised)
        raise


def _return_error(error: BaseException, args: Any, kwargs: Any) -> BaseException:
    return error


def cache_trace(
    function: F,
    make_eager: Callable[[], Callable[..., Any]] | None = None,
    explain_error: Callable[[BaseException, Any, Any], BaseException] = _return_error,
    normalization: Normalization | None = None,
) -> F:
    """Decorate a function so that its recorded operations are replayed under a trace, instead of running it.

    The function must use the types of its arrays alone, and return an array, or a tuple or list of arrays. It
    runs on the first two calls for each kind of arguments (the second time to be recorded), for arguments of
    other types (NumPy arrays, objects with ``__jax_array__``), and when it raises. Outside of any trace, what
    ``make_eager`` returns, if given, is called in its place, with static arguments converted by ``normalization``, if
    given. ``explain_error(error, args, kwargs)`` returns the error to raise for one that a call raised.

    Unless a decorated function has one or two positional parameters, :func:`handle_keyword` can add a keyword to it.
    """
    traces: FastLRUCache[Any, _CachedTrace] = FastLRUCache(_TRACES_GENERATION_SIZE)
    met_keys: FastLRUCache[Any, bool] = FastLRUCache(_TRACES_GENERATION_SIZE)
    summary = trace_settings_summary
    normalize, plain, first = normalization or _NO_NORMALIZATION
    is_normalized = normalization is not None
    is_public = not function.__name__.startswith("_")  # others get the operands of a public function

    outside: Callable[..., Any]

    def call_first(*args: Any, **kwargs: Any) -> Any:  # making the eager function waits for its first call
        nonlocal outside
        assert make_eager is not None
        outside = make_eager()
        return outside(*args, **kwargs)

    outside = function if make_eager is None else call_first

    def call_traced(trace: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call under ``trace``, or where a setting may matter."""
        settings: Any = False
        if summary.was_set:
            settings = trace_settings.value
            if settings and is_public and is_called_by_library():
                return _call_with_library_promotion(call_cached, args, kwargs)
            if trace is None:
                return outside(*normalize(args, kwargs), **kwargs)
        arrays: list[Any] = []
        kinds: list[Any] = [enable_x64.value, settings and settings_of_traces()]  # inlined find_trace key
        for x in args:
            kind = x.__class__
            if kind in ARRAY_TYPES:
                arrays.append(x)
                kinds.append(x.aval)
            elif kind in _VALUE_KEYED_TYPES:
                kinds += (kind, x)
            else:
                kinds.append(_argument_key(x, arrays))
        if kwargs:
            kinds += [(name, _argument_key(x, arrays)) for name, x in kwargs.items()]
        key = tuple(kinds)
        entry = traces.get(key) or _record_on_second_call(traces, met_keys, key, function, args, kwargs, arrays)
        if entry is _UNCACHEABLE:
            return function(*args, **kwargs)
        recorded, result_index, sequence = entry
        values = [*arrays, *(recorded.literals if trace.staging else recorded.constants)]
        trace.emit(recorded.steps, values, recorded.used_operands)
        return values[result_index] if sequence is None else sequence([values[i] for i in recorded.result_indices])

    # Outside of any trace the wrapper is what a call costs beside jaxlib: a fixed number of parameters is the cheapest.
    # Under a trace the wrappers for arrays alone look up the key that ``call_traced`` makes of such arguments.
    def call_unary(x: Any, /) -> Any:
        try:
            trace = STATE.trace
            if summary.was_set:
                return call_traced(trace, (x,), {})
            if trace is None:
                return outside(x)
            if x.__class__ in ARRAY_TYPES and (entry := traces.get((enable_x64.value, False, x.aval))) is not None:
                return function(x) if entry is _UNCACHEABLE else _replay(entry, trace, x)
            return call_traced(trace, (x,), {})
        except BaseException as error:
            _raise_explained(error, explain_error, (x,), {})
            filter_traceback(error)
            raise

    def call_binary(x: Any, y: Any, /) -> Any:
        try:
            trace = STATE.trace
            if summary.was_set:
                return call_traced(trace, (x, y), {})
            if trace is None:
                return outside(x, y)
            if x.__class__ in ARRAY_TYPES and y.__class__ in ARRAY_TYPES:
                entry = traces.get((enable_x64.value, False, x.aval, y.aval))
                if entry is not None:
                    return function(x, y) if entry is _UNCACHEABLE else _replay(entry, trace, x, y)
            return call_traced(trace, (x, y), {})
        except BaseException as error:
            _raise_explained(error, explain_error, (x, y), {})
            filter_traceback(error)
            raise

    handled_keyword = ""
    call_handler: Any = None

    def set_keyword_handler(name: str, handler: Callable[..., Any]) -> None:
        nonlocal handled_keyword, call_handler
        handled_keyword, call_handler = name, handler

    def call_any(*args: Any, **kwargs: Any) -> Any:
        try:
            trace = STATE.trace
            if kwargs:
                if handled_keyword in kwargs and (value := kwargs.pop(handled_keyword)) is not None:
                    return call_handler(value, args, kwargs)
                if trace is not None or summary.was_set:
                    return call_traced(trace, args, kwargs)
                if is_normalized:
                    for value in kwargs.values():
                        if value.__class__ not in plain:
                            return outside(*normalize(args, kwargs), **kwargs)
                    for value in args[first:]:
                        if value.__class__ not in plain:
                            return outside(*normalize(args, kwargs), **kwargs)
                return outside(*args, **kwargs)
            if trace is not None or summary.was_set:
                return call_traced(trace, args, kwargs)
            if len(args) == 1:
                return outside(args[0])
            for value in args[first:]:
                if value.__class__ not in plain:
                    args = normalize(args, kwargs)
                    break
            return outside(*args)
        except BaseException as error:
            _raise_explained(error, explain_error, args, kwargs)
            filter_traceback(error)
            raise

    by_arity: dict[int | None, Callable[..., Any]] = {1: call_unary, 2: call_binary}
    call_cached: Any = functools.update_wrapper(by_arity.get(_positional_arity(function), call_any), function)
    if call_cached is call_any:
        vars(call_cached)["_keyword_handler"] = call_cached, set_keyword_handler
    return call_cached  # type: ignore[no-any-return]


def _replay(entry: _CachedTrace, trace: Any, *arrays: Any) -> Any:
    """Return the result of a recorded function for ``arrays`` under a trace."""
    recorded, result_index, sequence = entry
    values = [*arrays, *(recorded.literals if trace.staging else recorded.constants)]
    trace.emit(recorded.steps, values, recorded.used_operands)
    return values[result_index] if sequence is None else sequence([values[i] for i in recorded.result_indices])


def handle_keyword(function: Callable[..., Any], name: str, handler: Callable[..., Any]) -> bool:
    """Return whether a function is one of :func:`cache_trace` that can take a further keyword argument, and add it.

    A call in which ``name`` is given and not None then returns ``handler(value, args, kwargs)``.
    """
    owner, set_keyword_handler = getattr(function, "_keyword_handler", (None, None))
    if owner is not function or set_keyword_handler is None:  # a wrapper has the attributes of what it wraps
        return False
    set_keyword_handler(name, handler)
    return True


def _call_with_library_promotion(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return the result of a function under standard promotion of ranks and dtypes, whatever the user's settings."""
    block = setting_blocks.SettingBlock(LIBRARY_PROMOTION_SETTINGS, "promotion within the library")
    try:
        setting_blocks.enter(block)
        return function(*args, **kwargs)
    finally:
        setting_blocks.leave(block)


def _argument_key(x: Any, arrays: list[Any]) -> Any:
    """Return the cache key of one argument, and append the arrays that it is or contains to ``arrays``.

    For an argument of an unsupported type, both get ``_UNSUPPORTED``.
    """
    kind = x.__class__
    if kind in ARRAY_TYPES:
        arrays.append(x)
        return x.aval
    if kind in _VALUE_KEYED_TYPES:
        return kind, x
    if kind is tuple or kind is list:
        kinds = tuple(map(type, x))  # 1 and True are equal
        if _VALUE_KEYED_TYPES.issuperset(kinds):
            return kind, kinds, tuple(x)
        return kind, *[_argument_key(y, arrays) for y in x]
    if isinstance(x, _KEY_OF_TYPES):
        return cache_key(x)
    arrays.append(_UNSUPPORTED)
    return _UNSUPPORTED


def _record_on_second_call(
    traces: FastLRUCache[Any, _CachedTrace],
    met_keys: FastLRUCache[Any, bool],
    key: Any,
    function: Callable[..., Any],
    args: Any,
    kwargs: Any,
    arrays: Sequence[Any],
) -> _CachedTrace:
    """Return the cache entry for a key that is not in the young generation of ``traces``.

    On the first call for a key, which ``met_keys`` remembers, this is ``_UNCACHEABLE``, and the caller runs
    the function. On the second call the function is recorded and the entry stored. ``arrays`` are the arrays
    among the arguments.
    """
    entry = traces.promote(key)
    if entry is not None:
        return entry
    if not IS_TRACE_CACHE_ENABLED or any(x is _UNSUPPORTED for x in arrays):
        return _UNCACHEABLE
    if numpy_rank_promotion.value == "warn":  # a replay would not repeat the warning
        return _UNCACHEABLE
    if (met_keys.get(key) or met_keys.promote(key)) is None:
        met_keys.insert(key, True)
        return _UNCACHEABLE
    before = NarrowingCounter.count
    steps = _record_call(function, args, kwargs, arrays)
    return traces.insert(key, steps if NarrowingCounter.count == before else _UNCACHEABLE)


def _record_call(function: Callable[..., Any], args: Any, kwargs: Any, arrays: Sequence[Any]) -> _CachedTrace:
    """Run a function on tracers in place of ``arrays``, the arrays among its arguments, and return its recorded trace.

    Returns ``_UNCACHEABLE`` if it raises or its operations cannot be recorded.
    """
    sequences: list[Any] = []

    def rule(tracers: Sequence[Any]) -> list[Any]:
        remaining = iter(tracers)
        positional = [_substitute_arrays(x, remaining) for x in args]  # first, because both consume one iterator
        output = function(*positional, **{name: _substitute_arrays(x, remaining) for name, x in kwargs.items()})
        several = output.__class__ is tuple or output.__class__ is list
        if several:
            sequences.append(output.__class__)
        results = list(output) if several else [output]
        if any(y.__class__ not in ARRAY_TYPES and not isinstance(y, _SCALAR_TYPES) for y in results):
            raise _NotRecordableError
        return results

    try:
        recorded = record_trace(FastLRUCache(1), None, rule, arrays)
    except Exception:  # the function raises it again when it runs on the arguments themselves
        return _UNCACHEABLE
    if recorded is NOT_RECORDABLE:
        return _UNCACHEABLE
    return _CachedTrace(
        recorded, recorded.result_indices[0] if recorded.result_indices else 0, sequences[0] if sequences else None
    )


def _substitute_arrays(x: Any, arrays: Any) -> Any:
    """Return an argument with its arrays replaced by the next elements of the iterator ``arrays``."""
    if x.__class__ in ARRAY_TYPES:
        return next(arrays)
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([_substitute_arrays(y, arrays) for y in x])
    return x
