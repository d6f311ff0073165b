"""Cache of the traces of jitted functions, by function, options and signature; it lives as long as the functions."""

from __future__ import annotations

import itertools
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from ...ir.jaxpr import ClosedJaxpr
from ...recent import RecentlyUsed, kept_with
from .arguments import Options
from .misses import Kind
from .signatures import Reason, Signature


class TracedCall(NamedTuple):
    """A function traced for one signature; ``kinds`` are the kinds of operands that jaxlib's cache has."""

    program: ClosedJaxpr
    out_structure: Any
    number: int
    began: float
    seconds: float
    reason: Reason
    kinds: list[Kind]


#: The most recently used traces of one function with certain options.
Traces = RecentlyUsed[Signature, TracedCall]


class KeepsTraces(Protocol):
    """Owner of traces: the Python side of a jitted function."""

    function: Callable[..., Any]
    options: Options
    traces: Traces


#: Maximum number of functions with cached traces. A trace that references its function (through the jvp rule of a
#: jitted function, for example) would keep it alive forever, so the functions jitted longest ago are evicted; their
#: owners keep their traces.
_MOST_FUNCTIONS = 1024
#: Traces per function in one generation of the cache, so at most twice as many, for example one per length of data.
_MOST_TRACES = 1024
_traces: weakref.WeakKeyDictionary[Callable[..., Any], dict[Options, Traces]] = weakref.WeakKeyDictionary()


#: All owners, to clear their traces: methods have traces of their own, and evicted ones are not in the cache.
_everyone: weakref.WeakSet[KeepsTraces] = weakref.WeakSet()


def traces_of(function: Callable[..., Any], options: Options) -> Traces:
    """Return the cache of a function's traces."""
    if isinstance(function, types.MethodType):  # a new object at each access, which is never found again
        return RecentlyUsed(_MOST_TRACES)
    try:
        traces_by_options: dict[Options, Traces] = kept_with(_traces, function, dict, _MOST_FUNCTIONS)
        return traces_by_options.setdefault(options, RecentlyUsed(_MOST_TRACES))
    except TypeError:  # not weakly referenceable or hashable: traces are not shared
        return RecentlyUsed(_MOST_TRACES)


def note_keeper(owner: KeepsTraces) -> None:
    """Register an owner of traces, as long as it lives."""
    _everyone.add(owner)


def clear_traces() -> None:
    """Clear the traces of all functions, and everything derived and compiled from them."""
    while True:
        try:
            all_traces = [owner.traces for owner in _everyone]
            all_traces += [traces for by_options in _traces.values() for traces in by_options.values()]
            break
        except RuntimeError:  # another thread has just jitted something
            continue
    for traces in all_traces:
        traces.clear()  # in place: jitted functions share them


def kept_calls() -> Iterator[tuple[Callable[..., Any], Options, Signature, TracedCall]]:
    """Yield all cached traces with their function, options and signature; some appear twice."""
    by_function = ((f, o, t) for f, by_options in list(_traces.items()) for o, t in list(by_options.items()))
    by_owner = ((owner.function, owner.options, owner.traces) for owner in list(_everyone))
    for function, options, traces in itertools.chain(by_function, by_owner):
        for signature, traced in traces.all().items():
            yield function, options, signature, traced
