"""From a function of each device's part to a program on a mesh."""

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
    #: Whether a function is being traced that each device of a mesh is to run.
    mapped = False


_INSIDE = _Inside()


def is_inside() -> bool:
    """Whether a function is being traced that each device of a mesh is to run."""
    return _INSIDE.mapped


def part_of(what: str, mesh: Mesh, spec: PartitionSpec, aval: ShapedArray) -> ShapedArray:
    """The type of each device's part of a value; raises ValueError for a shape that cannot be cut so."""
    sharding = NamedSharding(mesh, spec)
    sharding.check_shape(what, aval.shape)
    return shaped(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)


def stage_on_each(
    function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], mesh: Mesh, name: str, axes: Names
) -> ClosedJaxpr:
    """The program of a flat function of parts, which may cross those axes of the mesh by their names."""
    bound, inside = STATE.axes, _INSIDE.mapped
    try:
        _INSIDE.mapped = True
        own = [(name, size) for name, size in mesh.shape_tuple if name in axes]
        STATE.axes = (*(outer for outer in bound if outer[0] not in axes), *own)
        with use_mesh(mesh):
            return stage(function, avals, name)
    finally:
        STATE.axes, _INSIDE.mapped = bound, inside


def run_on_each(
    program: ClosedJaxpr,
    mesh: Mesh,
    operands: Sequence[Any],
    ins: Sequence[PartitionSpec],
    outs: Sequence[PartitionSpec],
    axes: Names,
) -> list[Any]:
    """Run a program on each device of a mesh. Its constants are whole on each of them."""
    specs = (*[PartitionSpec()] * len(program.consts), *ins)
    operands = [*program.consts, *operands]
    program = without_constants(program) if program.consts else intern_program(program)
    return bind(shard_map_of(program, mesh, specs, tuple(outs), axes), *operands)


def check_equal(
    whom: str,
    program: ClosedJaxpr,
    axes: Names,
    ins: Sequence[PartitionSpec],
    outs: Sequence[PartitionSpec],
    names: Sequence[str],
) -> None:
    """Raise ValueError for a result that may differ along one of the axes that its spec does not name."""
    given = [_cut_along(spec) for spec in ins]
    for found, spec, name in zip(varying_axes(program, given), outs, names, strict=True):
        differing = [] if found is None else [each for each in axes if each in found - _cut_along(spec)]
        if differing:
            listed = " and ".join(map(repr, differing))
            raise ValueError(
                f"{whom}: the result{name} has the out_spec {spec}, which says that it is the same on all devices "
                f"along {listed}, and it depends on what differs there{here()}. Combine it (psum, pmean, all_gather), "
                f"name the axis in out_specs, or say check_vma=False to take one device's word.{see('shardings')}"
            )


def _cut_along(spec: PartitionSpec) -> frozenset[Any]:
    return frozenset(name for part in spec for name in names_of(part))
