"""Barriers behind values that are kept, written into a module before it is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from .choosing import worth_keeping
from .graph import graphs_of, name_of
from .staying import has_small_loops, passes_left_out

#: XLA's option that names passes to be left out.
LEFT_OUT = "xla_disable_hlo_passes"

#: A program of fewer operations is not judged, since its fusion could compute little again, nor one of more, which it
#: would take seconds to simulate.
FEWEST_OPERATIONS, MOST_OPERATIONS = 40, 60_000


class KeptValue(NamedTuple):
    """The name of the operation that makes a value which is kept, and in how many kernels XLA would compute it
    otherwise, as far as the model was asked (else 0).
    """

    name: str
    kernels: int


class Kept(NamedTuple):
    """Of a module: the values that are kept, and which passes of XLA's are left out so that its barriers stay."""

    values: tuple[KeptValue, ...] = ()
    passes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operations that make the values."""
        return tuple(each.name for each in self.values)


def may_be_judged(operations: int) -> bool:
    """Whether a program of so many operations is simulated, to find what is worth keeping."""
    return FEWEST_OPERATIONS <= operations <= MOST_OPERATIONS


def keep_in(module: Any, chosen: Sequence[Any] = (), *, judged: bool, barriers: bool) -> Kept:
    """Have values of a module kept: those ``chosen``, those worth it where it is ``judged``, and those behind
    ``barriers``, if it has some; nothing is kept where barriers cannot stay.
    """
    values = _keep_values(module, chosen, judged) if judged or chosen else ()
    passes = passes_left_out(module) if values or barriers else ()
    return Kept(values, passes) if passes else Kept()


def _keep_values(module: Any, chosen: Sequence[Any], judged: bool) -> tuple[KeptValue, ...]:
    """Put a barrier behind each value that was ``chosen`` or, of a module that is ``judged``, is worth keeping; returns
    those.
    """
    marked: dict[Any, None] = dict.fromkeys(value for value in chosen if isinstance(value, ir.OpResult))
    values: list[KeptValue] = []
    graphs = graphs_of(module)
    loops_too = judged and any(graph.in_loop for graph in graphs) and not has_small_loops(module)
    for graph in graphs:
        worth: Mapping[int, int] = worth_keeping(graph) if judged and (loops_too or not graph.in_loop) else {}
        for number, maker in enumerate(graph.made_by):
            if maker is not None and (number in worth or (chosen and maker.value in marked)):
                values.append(KeptValue(name_of(maker), worth.get(number, 0)))
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
    return tuple(values)


def with_barriers(overrides: Sequence[tuple[str, Any]], passes: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """XLA's options without those passes for which barriers stay, and without those that options leave out anyway, or
    XLA_FLAGS where these name none: an option stands in place of the flag of that name.
    """
    given = dict(overrides)
    flags = re.findall(rf"--{LEFT_OUT}=(\S+)", os.environ.get("XLA_FLAGS", ""))
    own = str(given[LEFT_OUT]) if LEFT_OUT in given else "".join(flags[-1:])
    given[LEFT_OUT] = ",".join(dict.fromkeys(filter(None, [*own.split(","), *passes])))
    return tuple(given.items())
