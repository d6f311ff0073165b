"""Staging of the body of a shard_map to a program on a mesh."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import see
from ...ir.avals import ShapedArray, shaped
from ...ir.jaxpr import ClosedJaxpr
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.state import STATE
from ...xla.sharding.meshes import Mesh, PartitionSpec, names_of, use_mesh
from ...xla.sharding.named_shardings import NamedSharding
from ..programs.interning import intern_program
from ..programs.rearranged import without_constants
from .shard_map_call import Names, shard_map_of
from .varying import varying_axes


class _Inside(threading.local):
    #: Whether the body of a shard_map is being traced.
    mapped = False


_INSIDE = _Inside()


def is_inside() -> bool:
    """Return whether the body of a shard_map is being traced."""
    return _INSIDE.mapped


def part_of(description: str, mesh: Mesh, spec: PartitionSpec, aval: ShapedArray) -> ShapedArray:
    """Return the type of one device's shard of a value; raise ValueError for a shape that cannot be sharded so."""
    sharding = NamedSharding(mesh, spec)
    sharding.check_shape(description, aval.shape)
    return shaped(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)


def stage_on_each(
    function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], mesh: Mesh, name: str, axes: Names
) -> ClosedJaxpr:
    """Return the program of a flat function of shards, whose collectives may use those axes of the mesh."""
    outer_axes, was_in_shard_map = STATE.axes, _INSIDE.mapped
    try:
        _INSIDE.mapped = True
        manual_axes = [(name, size) for name, size in mesh.shape_tuple if name in axes]
        STATE.axes = (*(axis for axis in outer_axes if axis[0] not in axes), *manual_axes)
        with use_mesh(mesh):
            return stage(function, avals, name)
    finally:
        STATE.axes, _INSIDE.mapped = outer_axes, was_in_shard_map


def run_on_each(
    program: ClosedJaxpr,
    mesh: Mesh,
    operands: Sequence[Any],
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    axes: Names,
) -> list[Any]:
    """Bind a shard_map of a program; its constants are replicated on all devices."""
    specs = (*[PartitionSpec()] * len(program.consts), *in_specs)
    operands = [*program.consts, *operands]
    program = without_constants(program) if program.consts else intern_program(program)
    return bind(shard_map_of(program, mesh, specs, tuple(out_specs), axes), *operands)


def check_equal(
    caller: str,
    program: ClosedJaxpr,
    axes: Names,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    names: Sequence[str],
) -> None:
    """Raise ValueError for a result that may vary along a manual axis that its out_spec does not name."""
    operand_axes = [_cut_along(spec) for spec in in_specs]
    for result_axes, spec, name in zip(varying_axes(program, operand_axes), out_specs, names, strict=True):
        unreplicated = [] if result_axes is None else [axis for axis in axes if axis in result_axes - _cut_along(spec)]
        if unreplicated:
            listed = " and ".join(map(repr, unreplicated))
            raise ValueError(
                f"{caller}: the result{name} has the out_spec {spec}, which says that it is the same on all devices "
                f"along {listed}, and it depends on what differs there{here()}. Combine it (psum, pmean, all_gather), "
                f"name the axis in out_specs, or say check_vma=False to take one device's word.{see('shardings')}"
            )


def _cut_along(spec: PartitionSpec) -> frozenset[Any]:
    return frozenset(name for part in spec for name in names_of(part))
