"""A program of jax lowered apart from its function: to be compiled with other options, or with values kept.

It has a number, and executables, of its own: what its function has compiled stays what it is.
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
    programs: Programs, known: Known, lowering: Any, options: Mapping[str, Any], *, keep: bool
) -> tuple[Known, Any]:
    """A program of its own, with those options, in which what is worth it is kept where ``keep`` says so; and jax's
    lowering of it (the one that was given stays as it is). Raises ChangeError where several devices share it: it is
    known too little what each of them computes.
    """
    if keep and _devices(lowering.stablehlo()) > 1:
        raise ChangeError("keep is for programs on one device, and several share this one")
    own = copy.copy(lowering)
    own._hlo, keeping = _copied(lowering.stablehlo(), keep)
    own._executable = None
    made = replace(
        known,
        number=records.next_program(),
        again=_again(known, own),
        traced=None,
        told=False,
        made=[],
        kept={},
        options=tuple(options.items()),
        keeping=keeping,
    )
    programs.add_apart(own._hlo, made)
    return made, own


def _devices(module: Any) -> int:
    found = module.operation.attributes
    names = [name for name in ("mhlo.num_partitions", "mhlo.num_replicas") if name in found]
    return math.prod(int(found[name].value) for name in names)


def options_of(known: Known) -> dict[str, Any]:
    """What its compiler is told beside what its function says."""
    passes = known.keeping.passes
    return dict(with_barriers(known.options, passes) if passes else known.options)


def _again(known: Known, lowering: Any) -> Callable[[str], Any]:
    """What lowers it again, for a platform: a CPU's is here already."""

    def again(platform: str) -> Any:
        if platform in lowering._platforms or known.again is None:
            return lowering
        return known.again(platform)

    return again


def _copied(module: Any, keep: bool) -> tuple[Any, Kept]:
    """A copy of a module, with barriers behind what is kept in it."""
    own = mlir.ir.Module.parse(mlir.module_to_bytecode(module), module.context)
    if not keep:
        return own, Kept()
    names = [each.name for each in _operations(own.operation)]
    barriers = _BARRIER in names
    return own, keep_in(own, judged=may_be_judged(len(names)), barriers=barriers)


def _operations(outer: Any) -> Iterator[Any]:
    for region in outer.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _operations(view.operation)
