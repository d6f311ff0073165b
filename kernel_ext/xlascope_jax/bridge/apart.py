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
from xlascope.xla.keeping import Kept, keep_in, may_be_judged, with_barriers

from .programs import Known, Programs

_BARRIER = "stablehlo.optimization_barrier"


def lowered_apart(
    programs: Programs, entry: Known, lowering: Any, options: Mapping[str, Any], *, keep: bool
) -> tuple[Known, Any]:
    """Copy a program so that it can be compiled with other options; return its entry and its lowering.

    With ``keep``, insert barriers that materialize values where that pays off. The given lowering is not
    modified. Raises ChangeError if ``keep`` is requested for a program on several devices, whose per-device
    work is not known.
    """
    if keep and _devices(lowering.stablehlo()) > 1:
        raise ChangeError("keep is for programs on one device, and several share this one")
    copied_lowering = copy.copy(lowering)
    copied_lowering._hlo, materialized = _copied(lowering.stablehlo(), keep)
    copied_lowering._executable = None
    detached = replace(
        entry,
        number=records.next_program(),
        again=_again(entry, copied_lowering),
        traced=None,
        told=False,
        made=[],
        kept={},
        options=tuple(options.items()),
        keeping=materialized,
    )
    programs.add_apart(copied_lowering._hlo, detached)
    return detached, copied_lowering


def _devices(module: Any) -> int:
    attributes = module.operation.attributes
    names = [name for name in ("mhlo.num_partitions", "mhlo.num_replicas") if name in attributes]
    return math.prod(int(attributes[name].value) for name in names)


def options_of(entry: Known) -> dict[str, Any]:
    """Return the compiler options of a program in addition to those its function sets."""
    passes = entry.keeping.passes
    return dict(with_barriers(entry.options, passes) if passes else entry.options)


def _again(entry: Known, lowering: Any) -> Callable[[str], Any]:
    """Return a function that lowers a program for a platform, reusing the existing lowering where possible."""

    def relower(platform: str) -> Any:
        if platform in lowering._platforms or entry.again is None:
            return lowering
        return entry.again(platform)

    return relower


def _copied(module: Any, keep: bool) -> tuple[Any, Kept]:
    """Copy a module, inserting barriers behind the values to materialize if ``keep`` is set."""
    copied_module = mlir.ir.Module.parse(mlir.module_to_bytecode(module), module.context)
    if not keep:
        return copied_module, Kept()
    names = [operation.name for operation in _operations(copied_module.operation)]
    barriers = _BARRIER in names
    return copied_module, keep_in(copied_module, judged=may_be_judged(len(names)), barriers=barriers)


def _operations(outer: Any) -> Iterator[Any]:
    for region in outer.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _operations(view.operation)
