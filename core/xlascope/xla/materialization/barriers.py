"""Optimization barriers behind materialized values, inserted into a module before it is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from ..mlir.operation_log import ModuleLog
from .barrier_preservation import has_small_loops, passes_to_disable
from .graph import build_graphs, full_op_name
from .log_reader import build_graphs_from_log
from .selection import select_values

#: XLA's option that names passes to disable.
DISABLED_PASSES_OPTION = "xla_disable_hlo_passes"

#: A smaller program is not analyzed, since its fusion could recompute little, nor a larger one, whose simulation
#: would take seconds.
MIN_OPERATIONS, MAX_OPERATIONS = 40, 60_000


class MaterializedValue(NamedTuple):
    """Materialized value: the name of the operation that defines it, and how many kernels would compute it otherwise.

    ``kernels`` is 0 if the value was requested and the cost model did not select it.
    """

    name: str
    kernels: int


class Materialization(NamedTuple):
    """Materialized values of a module, and the XLA passes that are disabled so that its barriers survive.

    ``disabled_passes`` is empty where no barrier has to survive, and where none can.
    """

    values: tuple[MaterializedValue, ...] = ()
    disabled_passes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the operations that define the values."""
        return tuple(value.name for value in self.values)


def is_size_analyzable(operations: int) -> bool:
    """Return whether a program with that number of operations is simulated in order to select values."""
    return MIN_OPERATIONS <= operations <= MAX_OPERATIONS


def materialize(
    module: Any,
    requested: Sequence[Any] = (),
    *,
    use_model: bool,
    has_barriers: bool,
    log: ModuleLog | None = None,
) -> Materialization:
    """Materialize values of a module: those requested, and those that the cost model selects.

    ``module`` is StableHLO and is changed in place. ``requested`` are values of it to materialize whatever the cost
    model says, ``use_model`` asks that for more, and ``has_barriers`` says that the module has barriers already, which
    have to survive too. ``log`` has the module's operations if they were logged. Returns the values, and the XLA passes
    to disable. Nothing is reported as materialized where barriers cannot survive.
    """
    values = _insert_barriers(module, requested, use_model, log) if use_model or requested else ()
    passes = passes_to_disable(module) if values or has_barriers else ()
    return Materialization(values, passes) if passes else Materialization()


def _insert_barriers(
    module: Any, requested: Sequence[Any], use_model: bool, log: ModuleLog | None
) -> tuple[MaterializedValue, ...]:
    """Put a barrier behind each value that is requested or selected by the cost model, and return those values.

    ``requested`` are values of the module, ``use_model`` asks the cost model. The module is changed in place.
    """
    barrier_values: dict[Any, None] = dict.fromkeys(value for value in requested if isinstance(value, ir.OpResult))
    values: list[MaterializedValue] = []
    graphs = (build_graphs_from_log(module, log) if log is not None else None) or build_graphs(module)
    loops_too = use_model and any(graph.in_loop for graph in graphs) and not has_small_loops(module)
    for graph in graphs:
        selected: Mapping[int, int] = select_values(graph) if use_model and (loops_too or not graph.in_loop) else {}
        for number, defining_op in enumerate(graph.defining_ops):
            if defining_op is not None and (number in selected or (requested and defining_op.value in barrier_values)):
                values.append(MaterializedValue(full_op_name(defining_op), selected.get(number, 0)))
                barrier_values[defining_op.value] = None  # once, even if its function is called several times
    for value in barrier_values:
        barrier = ir.Operation.create(
            "stablehlo.optimization_barrier",
            results=[value.type],
            operands=[value],
            loc=value.owner.location,
            ip=ir.InsertionPoint.after(value.owner),
        )
        value.replace_all_uses_except(barrier.results[0], barrier)
    return tuple(values)


def disable_passes(overrides: Sequence[tuple[str, Any]], passes: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Return XLA flags ``overrides`` (name, value) with ``passes`` disabled in addition, so that barriers survive.

    Passes that the options disable already, or XLA_FLAGS if the options do not mention any, stay disabled: an option
    replaces the flag of the same name.
    """
    options = dict(overrides)
    flags = re.findall(rf"--{DISABLED_PASSES_OPTION}=(\S+)", os.environ.get("XLA_FLAGS", ""))
    disabled = str(options[DISABLED_PASSES_OPTION]) if DISABLED_PASSES_OPTION in options else "".join(flags[-1:])
    options[DISABLED_PASSES_OPTION] = ",".join(dict.fromkeys(filter(None, [*disabled.split(","), *passes])))
    return tuple(options.items())
