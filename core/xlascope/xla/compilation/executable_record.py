"""Records of compiled executables of jaxlib, from any engine; nothing of our engine is started for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jaxlib import _jax

from ... import records
from ...readers.format_error import FormatError
from ...records.op_names import equation_paths
from ..system.device_names import device_name
from ..system.memory_record import with_buffers
from .compiled_module import read_compiled
from .loop_cost_analysis import LoopCost, count_all_steps


def describe_executable(
    executable: Any,
    devices: Sequence[Any],
    number: int,
    name: str,
    began: float,
    seconds: float,
    cache: Literal["hit", "miss"] = "miss",
    kept_operands: Sequence[bool] | None = (),
    sharding_facts: Mapping[str, Any] | None = None,
    module_name: str = "",
    notes: Sequence[str] = (),
    materialized_ops: Sequence[str] = (),
    is_quick: bool = False,
) -> records.Compiled:
    """Describe an executable as a record: optimized HLO, kernels, cost, memory.

    ``number`` and ``name`` are those of the program in records; ``began`` (seconds since the epoch) and ``seconds``
    say when it was compiled and how long that took. ``kept_operands`` says which operands it takes (None: unknown),
    ``sharding_facts`` are the record's fields about how several devices share it. ``module_name`` distinguishes the
    module from others of its name, if the name alone does not. ``materialized_ops`` are the names of operations whose
    results were materialized; ``is_quick`` says that an optimized version is going to replace it.
    """
    module = executable.hlo_modules()[0]
    text = module.to_string()
    cost, unknown_loops = cost_analysis(executable, text)
    stats = memory_stats(executable)
    plan = getattr(stats, "serialized_buffer_assignment_proto", b"")
    read = read_compiled(text, module.as_serialized_hlo_module_proto() if plan else b"", plan)
    return records.Compiled(
        program=number,
        function=name,
        time=began,
        seconds=seconds,
        cache=cache,
        platform=devices[0].platform,
        devices=tuple(map(device_name, devices)),
        module=module_name or module.name,
        kernels=read.kernels,
        hlo=text,
        flops=cost.get("flops"),
        bytes_accessed=cost.get("bytes accessed"),
        memory=None if stats is None else with_buffers(_memory_totals(stats), read.buffers, kept_operands),
        notes=(*notes, *read.notes, *_cost_notes(cost, unknown_loops)),
        kept=materialized_paths(materialized_ops),
        quick=is_quick,
        processes=_processes_of(devices),
        **(sharding_facts or {}),
    )


def _processes_of(devices: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of the processes that devices belong to; empty if all belong to one."""
    numbers = tuple(getattr(device, "process_index", 0) for device in devices)
    return numbers if len(set(numbers)) > 1 else ()


def materialized_paths(names: Sequence[str]) -> tuple[records.EquationPath, ...]:
    """Return the paths of the equations that operations with these names belong to, in program order."""
    return tuple(sorted({path for name in names for path in equation_paths(name)}))


def cost_analysis(executable: Any, text: str | None = None) -> LoopCost:
    """Return XLA's cost estimates for an executable, by XLA's names, with each iteration of loops counted.

    They are empty where the back end has none. ``text`` is the optimized HLO, if the caller has it already.
    """
    try:
        analysis = executable.cost_analysis()
    except _jax.JaxRuntimeError:  # some back ends do not implement it
        return LoopCost({}, 0)
    cost = dict(analysis[0] if isinstance(analysis, list) else analysis)
    text = executable.hlo_modules()[0].to_string() if text is None else text
    try:
        return count_all_steps(cost, text, executable.client)
    except (_jax.JaxRuntimeError, FormatError):  # an unreadable text: each loop counts once
        return LoopCost(cost, text.count(" while("))


def _cost_notes(cost: Mapping[str, float], unknown_loops: int) -> tuple[str, ...]:
    if not unknown_loops or "flops" not in cost:
        return ()
    loops = "1 loop" if unknown_loops == 1 else f"{unknown_loops:,} loops"
    return (f"operations and bytes count {loops} once: how many steps there are is known only when the program runs",)


def memory_stats(executable: Any) -> Any:
    """Return the compiler's memory statistics, None where the back end has none."""
    try:
        return executable.get_compiled_memory_stats()
    except _jax.JaxRuntimeError:  # some back ends do not implement it
        return None


def _memory_totals(stats: Any) -> records.MemoryUse:
    return records.MemoryUse(
        arguments=stats.argument_size_in_bytes,
        outputs=stats.output_size_in_bytes,
        temporaries=stats.temp_size_in_bytes,
        peak=getattr(stats, "peak_memory_in_bytes", 0),
    )
