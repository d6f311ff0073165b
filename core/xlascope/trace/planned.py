"""Functions whose steps are worked out once for arguments of one kind, and then only taken.

What a function of arrays does under a trace follows from the types of its arrays and the values of its other
arguments. So a function may check, promote and loop as it likes: for arguments of a kind that it met twice before, only
the operations that it came to are applied (:mod:`plans`). Whoever writes a function of arrays marks it
:func:`planned`, and has nothing else to do for the speed of tracing.
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

#: The classes of values of which a plan knows nothing but the type; transformations add their tracers.
ARRAYS: set[Any] = {ArrayImpl, JaxprTracer, KeyArray}
#: Classes of which equal values are the same value; and others of which ``key_of`` tells values apart.
_PLAIN = frozenset({int, bool, str, type(None), type, type(Ellipsis)})
_FIXED = (float, complex, np.generic, np.dtype, type, enum.Enum)
_SCALARS = (bool, int, float, complex, np.generic, Literal)

#: The plans of a function for so many kinds of arguments are kept.
_MOST = 512


class _Steps(NamedTuple):
    """A plan, and how its results are put together: one array as it is, else by this class of sequence."""

    plan: Plan
    result: int
    sequence: Callable[[list[Any]], Any] | None


#: Of arguments for which the function has to run.
_NEVER = _Steps(NO_PLAN, 0, None)
#: Stands for an argument of a sort that no plan knows.
_OTHER: Any = object()


class _NotPlannedError(Exception):
    """A result of a sort that no plan knows."""


def planned(function: F, at_once: Callable[..., Any] | None = None) -> F:
    """Decorator: under a trace the function's steps are taken from a plan, where there is one.

    The function must see of its arrays the types alone, and give an array, or a tuple or list of them. Arguments of
    other sorts (NumPy arrays, objects that stand for arrays) and what the function raises are the function's own.
    ``at_once`` runs in the function's place outside of any trace.
    """
    plans: Recent[Any, _Steps] = Recent(_MOST)
    met: Recent[Any, bool] = Recent(_MOST)
    outside = function if at_once is None else at_once
    is_public = not function.__name__.startswith("_")  # others have what the user gave a function of the library

    @functools.wraps(function)
    def taken(*args: Any, **kwargs: Any) -> Any:
        settings = trace_settings.value
        if settings and is_public and is_called_by_library():
            return _with_promotion(taken, args, kwargs)
        trace = STATE.trace
        try:
            if trace is None:
                return outside(*args, **kwargs)
            arrays: list[Any] = []
            kinds: list[Any] = [enable_x64.value, settings and settings_of_traces()]  # as in found_plan, without a call
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
            found = plans.get(key) or _made(plans, met, key, function, args, kwargs, arrays)
            if found is _NEVER:
                return function(*args, **kwargs)
            plan, result, sequence = found
            values = [*arrays, *(plan.literals if trace.staging else plan.constants)]
            trace.take(plan.steps, values, plan.used)
            return values[result] if sequence is None else sequence([values[i] for i in plan.results])
        except BaseException as error:
            filter_traceback(error)
            raise

    return taken  # type: ignore[return-value]


def _with_promotion(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function with NumPy's promotion of ranks and dtypes, whatever settings ask of the user's operations."""
    block = blocks.Block(PROMOTING, "promotion within the library")
    try:
        blocks.enter(block)
        return function(*args, **kwargs)
    finally:
        blocks.leave(block)


def _kind(x: Any, arrays: list[Any]) -> Any:
    """What a plan depends on of one argument; the arrays in it are added to the list."""
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
    plans: Recent[Any, _Steps],
    met: Recent[Any, bool],
    key: Any,
    function: Callable[..., Any],
    args: Any,
    kwargs: Any,
    arrays: Sequence[Any],
) -> _Steps:
    """What to do for arguments without a plan at hand: run the function the first time, work the plan out the second
    time.
    """
    known = plans.again(key)
    if known is not None:
        return known
    if not ENABLED or any(x is _OTHER for x in arrays):
        return _NEVER
    if numpy_rank_promotion.value == "warn":  # a warning is not in the steps
        return _NEVER
    if (met.get(key) or met.again(key)) is None:
        met.keep(key, True)
        return _NEVER
    before = Narrowings.count
    steps = _worked_out(function, args, kwargs, arrays)
    return plans.keep(key, steps if Narrowings.count == before else _NEVER)


def _worked_out(function: Callable[..., Any], args: Any, kwargs: Any, arrays: Sequence[Any]) -> _Steps:
    sequences: list[Any] = []

    def rule(given: Sequence[Any]) -> list[Any]:
        rest = iter(given)
        positional = [_with(x, rest) for x in args]  # before those by name: a generator would be used up after them
        made = function(*positional, **{name: _with(x, rest) for name, x in kwargs.items()})
        several = made.__class__ is tuple or made.__class__ is list
        if several:
            sequences.append(made.__class__)
        results = list(made) if several else [made]
        if any(y.__class__ not in ARRAYS and not isinstance(y, _SCALARS) for y in results):
            raise _NotPlannedError
        return results

    try:
        plan = work_out(Recent(1), None, rule, arrays)
    except Exception:  # the function says what is wrong when it meets the arguments themselves
        return _NEVER
    if plan is NO_PLAN:
        return _NEVER
    return _Steps(plan, plan.results[0] if plan.results else 0, sequences[0] if sequences else None)


def _with(x: Any, arrays: Any) -> Any:
    """An argument with other arrays in place of its own, in their order."""
    if x.__class__ in ARRAYS:
        return next(arrays)
    if x.__class__ is tuple or x.__class__ is list:
        return x.__class__([_with(y, arrays) for y in x])
    return x
