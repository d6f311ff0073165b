"""Optimization barriers behind materialized values, inserted into a module before it is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir

from ..mlir.operation_log import ModuleLog
from .barrier_preservation import BARRIER_EXPANDER_PASS, has_small_loops, is_at_top_level, passes_to_disable
from .graph import ValueGraph, build_graphs, full_op_name
from .log_reader import build_graphs_from_log
from .selection import is_too_large, select_values

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
    if log is not None and is_too_large(log):
        use_model = False
    graphs: Sequence[ValueGraph] | None = ()
    if use_model or requested:
        graphs = None if log is None else build_graphs_from_log(module, log)
    complete_log = log if graphs else None
    if graphs is None:
        graphs = build_graphs(module)
    values = _select_values(graphs, module, requested, use_model, complete_log)
    barrier_values: dict[Any, None] = dict.fromkeys(value for value in requested if isinstance(value, ir.OpResult))
    barrier_values |= dict.fromkeys(value for value, _ in values)  # once, even if a function is called several times
    _insert_barriers(barrier_values)
    passes: tuple[str, ...] = ()
    if has_barriers or not all(map(is_at_top_level, barrier_values)):
        passes = passes_to_disable(module, complete_log, barrier_values) if values or has_barriers else ()
    elif values:
        passes = (BARRIER_EXPANDER_PASS,)
    return Materialization(tuple(value for _, value in values), passes) if passes else Materialization()


def _select_values(
    graphs: Sequence[ValueGraph], module: Any, requested: Sequence[Any], use_model: bool, log: ModuleLog | None
) -> list[tuple[Any, MaterializedValue]]:
    """Return the values of a module that are requested or selected by the cost model, each with its description.

    ``graphs`` are those of the module, ``use_model`` asks the cost model, ``log`` is complete or None.
    """
    values: list[tuple[Any, MaterializedValue]] = []
    requested_values = set(requested)
    loops_too = use_model and any(graph.in_loop for graph in graphs) and not has_small_loops(module, log)
    for graph in graphs:
        selected: Mapping[int, int] = select_values(graph) if use_model and (loops_too or not graph.in_loop) else {}
        for number in range(len(graph)) if requested else sorted(selected):
            defining_op = graph.defining_op(number)
            if defining_op is not None and (number in selected or defining_op.value in requested_values):
                name = full_op_name(defining_op)
                values.append((defining_op.value, MaterializedValue(name, selected.get(number, 0))))
                requested_values.add(defining_op.value)
    return values


def _insert_barriers(values: Iterable[Any]) -> None:
    """Put a barrier behind each of the values of a module."""
    for value in values:
        barrier = ir.Operation.create(
            "stablehlo.optimization_barrier",
            results=[value.type],
            operands=[value],
            loc=value.owner.location,
            ip=ir.InsertionPoint.after(value.owner),
        )
        value.replace_all_uses_except(barrier.results[0], barrier)


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
