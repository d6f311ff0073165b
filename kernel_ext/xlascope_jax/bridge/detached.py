"""A jax program lowered separately from its function, to compile it with other options or with materialized values.

It has its own number and executables; what its function has compiled is unaffected.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from jax._src.interpreters import mlir

from xlascope import records
from xlascope.inspect import ChangeError
from xlascope.xla.materialization import Materialization, disable_passes, is_size_analyzable, materialize

from .programs import ProgramEntry, ProgramRegistry

_BARRIER_OP = "stablehlo.optimization_barrier"


def lower_detached(
    programs: ProgramRegistry, entry: ProgramEntry, lowering: Any, options: Mapping[str, Any], *, keep: bool
) -> tuple[ProgramEntry, Any]:
    """Copy a program so that it can be compiled with other options; return its new entry and its lowering.

    With ``keep``, insert barriers that materialize values where that pays off. The given lowering is not modified.
    Raises ChangeError if ``keep`` is requested for a program on several devices, whose per-device work is not known.
    ``entry`` is the program in the registry ``programs``, to which the copy is added; ``options`` are XLA flags.
    """
    if keep and _device_count(lowering.stablehlo()) > 1:
        raise ChangeError("keep is for programs on one device, and several share this one")
    copied_lowering = copy.copy(lowering)
    copied_lowering._hlo, materialized = _copy_module(lowering.stablehlo(), keep)
    copied_lowering._executable = None
    detached = replace(
        entry,
        number=records.next_program(),
        relower=_make_relower(entry, copied_lowering),
        traced=None,
        is_trace_queued=False,
        executables=[],
        answer_cache={},
        options=tuple(options.items()),
        materialized=materialized,
    )
    programs.add_detached(copied_lowering._hlo, detached)
    return detached, copied_lowering


def _device_count(module: Any) -> int:
    attributes = module.operation.attributes
    names = [name for name in ("mhlo.num_partitions", "mhlo.num_replicas") if name in attributes]
    return math.prod(int(attributes[name].value) for name in names)


def compiler_options(entry: ProgramEntry) -> dict[str, Any]:
    """Return the compiler options of a program, in addition to those that its function sets."""
    passes = entry.materialized.disabled_passes
    return dict(disable_passes(entry.options, passes) if passes else entry.options)


def _make_relower(entry: ProgramEntry, lowering: Any) -> Callable[[str], Any]:
    """Return a function that lowers a program for a platform; ``lowering`` is used again if it is for that platform."""

    def relower(platform: str) -> Any:
        if platform in lowering._platforms or entry.relower is None:
            return lowering
        return entry.relower(platform)

    return relower


def _copy_module(module: Any, keep: bool) -> tuple[Any, Materialization]:
    """Copy a StableHLO module; with ``keep``, insert barriers behind the values that are worth materializing.

    Returns the copy and the materialized values, of which there are none without ``keep``.
    """
    copied_module = mlir.ir.Module.parse(mlir.module_to_bytecode(module), module.context)
    if not keep:
        return copied_module, Materialization()
    names = [operation.name for operation in _walk_operations(copied_module.operation)]
    barriers = _BARRIER_OP in names
    return copied_module, materialize(copied_module, use_model=is_size_analyzable(len(names)), has_barriers=barriers)


def _walk_operations(outer: Any) -> Iterator[Any]:
    for region in outer.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _walk_operations(view.operation)
