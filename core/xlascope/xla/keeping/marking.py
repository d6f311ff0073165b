"""Barriers behind values that are kept, written into a module before it is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from jaxlib.mlir import ir

from ...ir.avals import ShapedArray
from ...ir.operation import Operation
from ...runtime.boot import keep
from .choosing import worth_keeping
from .graph import graphs_of, name_of

#: What is kept: what the model says, nothing, or each result of an operation (on operands of some types) of which a
#: function says so.
Keep = Literal["auto", "off"] | Callable[[Operation, Sequence[ShapedArray]], bool]

#: The CPU's pipeline takes barriers out before it fuses, unless it is told to leave out the pass that does.
BARRIERS_STAY = ("xla_disable_hlo_passes", "cse_barrier_expander")


class Kept(NamedTuple):
    """Of a module: the names of the operations whose results are kept, and whether barriers of any kind are in it that
    the compiler is to leave there.
    """

    names: tuple[str, ...] = ()
    barriers: bool = False


def asked_for(given: Keep | None) -> Keep:
    """What is kept where a function says ``given``: what the settings say, when that is None."""
    return keep.value if given is None else given


def keep_values(module: Any, chosen: Sequence[Any], judged: bool) -> tuple[str, ...]:
    """Put a barrier behind each value that was ``chosen`` or, of a module that is ``judged``, is worth keeping.

    Returns the names of the operations that make them.
    """
    marked: dict[Any, None] = dict.fromkeys(value for value in chosen if isinstance(value, ir.OpResult))
    names: list[str] = []
    for graph in graphs_of(module):
        worth = worth_keeping(graph) if judged else ()
        for number, maker in enumerate(graph.made_by):
            if maker is not None and (number in worth or (chosen and maker.value in marked)):
                names.append(name_of(maker))
                marked[maker.value] = None  # once, though its function may be called in several places
    for value in marked:
        barrier = ir.Operation.create(
            "stablehlo.optimization_barrier",
            results=[value.type],
            operands=[value],
            loc=value.owner.location,
            ip=ir.InsertionPoint.after(value.owner),
        )
        value.replace_all_uses_except(barrier.results[0], barrier)
    return tuple(names)


def with_barriers(overrides: Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """XLA's options with the one by which barriers stay in programs for a CPU, besides the passes that options leave
    out anyway, or XLA_FLAGS where these name none: an option stands in place of the flag of that name.
    """
    name, value = BARRIERS_STAY
    given = dict(overrides)
    flags = re.findall(rf"--{name}=(\S+)", os.environ.get("XLA_FLAGS", ""))
    passes = str(given[name]) if name in given else "".join(flags[-1:])
    given[name] = ",".join(dict.fromkeys(filter(None, [*passes.split(","), value])))
    return tuple(given.items())
