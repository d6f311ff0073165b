"""Optimization barriers behind materialized values, inserted into a module before it is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from .choosing import worth_keeping
from .graph import graphs_of, name_of
from .staying import has_small_loops, passes_left_out

#: XLA's option that names passes to disable.
LEFT_OUT = "xla_disable_hlo_passes"

#: A smaller program is not analyzed, since its fusion could recompute little, nor a larger one, whose simulation
#: would take seconds.
FEWEST_OPERATIONS, MOST_OPERATIONS = 40, 60_000


class KeptValue(NamedTuple):
    """Name of the operation that defines a materialized value, and the number of kernels that it spares.

    ``kernels`` is in how many kernels XLA would compute the value otherwise, or 0 if the model was not asked.
    """

    name: str
    kernels: int


class Kept(NamedTuple):
    """Materialized values of a module, and the XLA passes that are disabled so that its barriers survive."""

    values: tuple[KeptValue, ...] = ()
    passes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the operations that define the values."""
        return tuple(value.name for value in self.values)


def may_be_judged(operations: int) -> bool:
    """Return whether a program of so many operations is simulated to select values."""
    return FEWEST_OPERATIONS <= operations <= MOST_OPERATIONS


def keep_in(module: Any, requested: Sequence[Any] = (), *, use_model: bool, has_barriers: bool) -> Kept:
    """Materialize values of a module: those requested, and those that the model selects.

    Args:
        module: The StableHLO module, which is changed in place.
        requested: Values to materialize whatever the model says.
        use_model: Select further values by the cost model.
        has_barriers: Whether the module contains barriers already, which have to survive too.

    Nothing is reported as materialized where barriers cannot survive.
    """
    values = _keep_values(module, requested, use_model) if use_model or requested else ()
    passes = passes_left_out(module) if values or has_barriers else ()
    return Kept(values, passes) if passes else Kept()


def _keep_values(module: Any, requested: Sequence[Any], use_model: bool) -> tuple[KeptValue, ...]:
    """Put a barrier behind each value that is requested or selected by the model; returns those values."""
    marked: dict[Any, None] = dict.fromkeys(value for value in requested if isinstance(value, ir.OpResult))
    values: list[KeptValue] = []
    graphs = graphs_of(module)
    loops_too = use_model and any(graph.in_loop for graph in graphs) and not has_small_loops(module)
    for graph in graphs:
        selected: Mapping[int, int] = worth_keeping(graph) if use_model and (loops_too or not graph.in_loop) else {}
        for number, defining_op in enumerate(graph.made_by):
            if defining_op is not None and (number in selected or (requested and defining_op.value in marked)):
                values.append(KeptValue(name_of(defining_op), selected.get(number, 0)))
                marked[defining_op.value] = None  # once, even if its function is called several times
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
    """Return XLA's options with further passes disabled so that barriers survive.

    Passes that the options disable already, or XLA_FLAGS if the options do not mention any, stay disabled: an option
    replaces the flag of the same name.
    """
    options = dict(overrides)
    flags = re.findall(rf"--{LEFT_OUT}=(\S+)", os.environ.get("XLA_FLAGS", ""))
    disabled = str(options[LEFT_OUT]) if LEFT_OUT in options else "".join(flags[-1:])
    options[LEFT_OUT] = ",".join(dict.fromkeys(filter(None, [*disabled.split(","), *passes])))
    return tuple(options.items())
