"""The traces of jitted functions: kept as long as the functions live, found by signature."""

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
    """A function traced for one signature; ``kinds`` are the kinds of operands that jaxlib's cache has seen."""

    program: ClosedJaxpr
    out_structure: Any
    number: int
    began: float
    seconds: float
    reason: Reason
    kinds: list[Kind]


#: The traces of one function with certain options: those used last.
Traces = RecentlyUsed[Signature, TracedCall]


class KeepsTraces(Protocol):
    """What keeps traces: the Python side of a jitted function."""

    function: Callable[..., Any]
    options: Options
    traces: Traces


#: The traces of each function, for as long as the function lives. A trace that leads back to its function (through the
#: jvp rule of a function that was jitted itself, say) would keep it for ever, so those jitted longest ago go; whoever
#: has jitted them keeps their traces.
_MOST_FUNCTIONS = 1024
#: Of one function, such as those for each length that data can have; twice as many at most.
_MOST_TRACES = 1024
_traces: weakref.WeakKeyDictionary[Callable[..., Any], dict[Options, Traces]] = weakref.WeakKeyDictionary()


#: What is there, for those who want to clear it: methods have traces of their own, and the oldest are not in _traces.
_everyone: weakref.WeakSet[KeepsTraces] = weakref.WeakSet()


def traces_of(function: Callable[..., Any], options: Options) -> Traces:
    """The traces that there are of a function, to which new ones are added."""
    if isinstance(function, types.MethodType):  # a new object each time that it is asked for: nobody finds it again
        return RecentlyUsed(_MOST_TRACES)
    try:
        known: dict[Options, Traces] = kept_with(_traces, function, dict, _MOST_FUNCTIONS)
        return known.setdefault(options, RecentlyUsed(_MOST_TRACES))
    except TypeError:  # a callable that cannot be weakly referenced or hashed keeps its traces to itself
        return RecentlyUsed(_MOST_TRACES)


def note_keeper(keeper: KeepsTraces) -> None:
    """Remember who keeps traces, as long as they live."""
    _everyone.add(keeper)


def clear_traces() -> None:
    """Forget the traces of all functions, and with them what was derived from them and compiled."""
    while True:
        try:
            kept = [keeper.traces for keeper in _everyone]
            kept += [traces for by_options in _traces.values() for traces in by_options.values()]
            break
        except RuntimeError:  # another thread has just jitted something
            continue
    for traces in kept:
        traces.clear()  # in place: jitted functions share them


def kept_calls() -> Iterator[tuple[Callable[..., Any], Options, Signature, TracedCall]]:
    """Every trace that there is, with what it is of; some of them twice."""
    by_function = ((f, o, t) for f, by_options in list(_traces.items()) for o, t in list(by_options.items()))
    by_keeper = ((each.function, each.options, each.traces) for each in list(_everyone))
    for function, options, traces in itertools.chain(by_function, by_keeper):
        for signature, traced in traces.all().items():
            yield function, options, signature, traced
