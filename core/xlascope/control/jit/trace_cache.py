"""Cache of the traces of jitted functions, by function, options and signature; it lives as long as the functions."""

from __future__ import annotations

import itertools
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from ...ir.jaxpr import ClosedJaxpr
from ...lru_cache import LRUCache, get_or_create
from .arguments import JitOptions
from .cache_miss_reasons import OperandKinds
from .trace_signature import Reason, TraceSignature


class TracedCall(NamedTuple):
    """A function traced for one signature.

    ``number`` is the program's; ``began`` (``time.time()``) and ``seconds`` are start and duration of tracing.
    ``kinds`` are the operand kinds of calls that jaxlib's call cache has, see
    :func:`~.cache_miss_reasons.operand_kinds`.
    """

    program: ClosedJaxpr
    out_structure: Any
    number: int
    began: float
    seconds: float
    reason: Reason
    kinds: list[OperandKinds]


#: The most recently used traces of one function with certain options.
Traces = LRUCache[TraceSignature, TracedCall]


class TraceOwner(Protocol):
    """Protocol of an object that holds the traces of one function with certain options.

    It is implemented by the Python side of a jitted function (:class:`~.jitted.Jitted`). The cache may have evicted
    or never stored these traces; they live as long as the owner.
    """

    function: Callable[..., Any]
    options: JitOptions
    traces: Traces


#: Maximum number of functions with cached traces. A trace that references its function (through the jvp rule of a
#: jitted function, for example) would keep it alive forever, so the functions jitted longest ago are evicted; their
#: owners keep their traces.
_MAX_FUNCTIONS = 1024
#: Traces per function in one generation of the cache, so at most twice as many, for example one per length of data.
_MAX_TRACES_PER_FUNCTION = 1024
_traces_by_function: weakref.WeakKeyDictionary[Callable[..., Any], dict[JitOptions, Traces]] = (
    weakref.WeakKeyDictionary()
)


#: All owners, to clear their traces: methods have traces of their own, and evicted ones are not in the cache.
_trace_owners: weakref.WeakSet[TraceOwner] = weakref.WeakSet()


def get_traces(function: Callable[..., Any], options: JitOptions) -> Traces:
    """Return the cache of the traces of a function with these options, created on first use.

    Jitted functions of the same function and options share it. Methods, and functions that cannot be hashed or weakly
    referenced, get a new one at each call.
    """
    if isinstance(function, types.MethodType):  # a new object at each access, which is never found again
        return LRUCache(_MAX_TRACES_PER_FUNCTION)
    try:
        traces_by_options: dict[JitOptions, Traces] = get_or_create(_traces_by_function, function, dict, _MAX_FUNCTIONS)
        return traces_by_options.setdefault(options, LRUCache(_MAX_TRACES_PER_FUNCTION))
    except TypeError:  # not weakly referenceable or hashable: traces are not shared
        return LRUCache(_MAX_TRACES_PER_FUNCTION)


def register_trace_owner(owner: TraceOwner) -> None:
    """Register an owner, so that :func:`clear_traces` and :func:`iterate_traces` see its traces.

    The registration ends with the owner: it does not keep the owner alive.
    """
    _trace_owners.add(owner)


def clear_traces() -> None:
    """Clear the traces of all functions, and with them everything derived and compiled from them."""
    while True:
        try:
            all_traces = [owner.traces for owner in _trace_owners]
            all_traces += [traces for by_options in _traces_by_function.values() for traces in by_options.values()]
            break
        except RuntimeError:  # another thread has just jitted something
            continue
    for traces in all_traces:
        traces.clear()  # in place: jitted functions share them


def iterate_traces() -> Iterator[tuple[Callable[..., Any], JitOptions, TraceSignature, TracedCall]]:
    """Yield all traces that are alive, with function, options and signature; some appear twice."""
    by_function = (
        (f, o, t) for f, by_options in list(_traces_by_function.items()) for o, t in list(by_options.items())
    )
    by_owner = ((owner.function, owner.options, owner.traces) for owner in list(_trace_owners))
    for function, options, traces in itertools.chain(by_function, by_owner):
        for signature, traced in traces.all().items():
            yield function, options, signature, traced
