"""Staging of the body of a shard_map to a program on a mesh."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import see
from ...ir.avals import NO_AXES, ShapedArray, make_aval, with_varying_axes
from ...ir.jaxpr import ClosedJaxpr
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.state import STATE
from ...xla.sharding.meshes import Mesh, PartitionSpec, axis_names_of, use_mesh
from ...xla.sharding.named_shardings import NamedSharding
from ..programs.interning import intern_program
from ..programs.program_rewrites import convert_constvars_to_operands
from .shard_map_call import Names, shard_map_of
from .varying_axes import varying_axes


class _TracingState(threading.local):
    #: Whether the body of a shard_map is being traced.
    """Whether this thread is tracing the body of a shard_map."""

    in_shard_map = False


_TRACING_STATE = _TracingState()


def is_tracing_shard_map() -> bool:
    """Return whether this thread is tracing the body of a shard_map."""
    return _TRACING_STATE.in_shard_map


def to_shard_aval(
    description: str, mesh: Mesh, spec: PartitionSpec, aval: ShapedArray, checked: bool = False
) -> ShapedArray:
    """Return the type of one device's shard of a value of type ``aval``.

    With ``checked`` it says that the shards vary along the axes of ``spec``. Raises ValueError for a shape that cannot
    be sharded so; ``description`` names the value in the message.
    """
    sharding = NamedSharding(mesh, spec)
    sharding.check_shape(description, aval.shape)
    shard_aval = make_aval(sharding.shard_shape(aval.shape), aval.dtype, aval.weak_type)
    return with_varying_axes(shard_aval, aval.varying.union(_sharded_axes(spec) if checked else NO_AXES))


def stage_shard_map_body(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    mesh: Mesh,
    name: str,
    axes: Names,
    checked: bool = False,
) -> ClosedJaxpr:
    """Return the program of a flat function of shards, which are of types ``avals``.

    Its collectives may use the manual axes ``axes`` of the mesh. With ``checked`` types say which values vary along
    these.
    """
    outer_axes, outer_checked, was_in_shard_map = STATE.axes, STATE.checked_axes, _TRACING_STATE.in_shard_map
    try:
        _TRACING_STATE.in_shard_map = True
        manual_axes = [(name, size) for name, size in mesh.shape_tuple if name in axes]
        STATE.axes = (*(axis for axis in outer_axes if axis[0] not in axes), *manual_axes)
        STATE.checked_axes = outer_checked.difference(axes).union(axes if checked else NO_AXES)
        with use_mesh(mesh):
            return stage(function, avals, name)
    finally:
        STATE.axes, STATE.checked_axes, _TRACING_STATE.in_shard_map = outer_axes, outer_checked, was_in_shard_map


def bind_shard_map(
    program: ClosedJaxpr,
    mesh: Mesh,
    operands: Sequence[Any],
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    axes: Names,
    checked: bool = False,
) -> list[Any]:
    """Bind a shard_map of a program, and return its results.

    ``axes`` are the manual axes of ``mesh``. ``in_specs`` and ``out_specs`` say how each operand and each result is
    sharded over the mesh; constants of the program are replicated on all devices. ``checked`` is that of
    :func:`stage_shard_map_body`.
    """
    specs = (*[PartitionSpec()] * len(program.consts), *in_specs)
    operands = [*program.consts, *operands]
    program = convert_constvars_to_operands(program) if program.consts else intern_program(program)
    return bind(shard_map_of(program, mesh, specs, tuple(out_specs), axes, checked), *operands)


def check_replication(
    caller: str,
    program: ClosedJaxpr,
    axes: Names,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    names: Sequence[str],
) -> None:
    """Raise ValueError for a result that may vary along a manual axis that its out_spec does not name.

    ``caller`` and ``names``, a text for each result, are for the message.
    """
    operand_axes = [_sharded_axes(spec) for spec in in_specs]
    for result_axes, spec, name in zip(varying_axes(program, operand_axes), out_specs, names, strict=True):
        unreplicated = (
            [] if result_axes is None else [axis for axis in axes if axis in result_axes - _sharded_axes(spec)]
        )
        if unreplicated:
            listed = " and ".join(map(repr, unreplicated))
            raise ValueError(
                f"{caller}: the result{name} has the out_spec {spec}, which says that it is the same on all devices "
                f"along {listed}, and it depends on what differs there{here()}. Combine it (psum, pmean, all_gather), "
                f"name the axis in out_specs, or say check_vma=False to take one device's word.{see('shardings')}"
            )


def _sharded_axes(spec: PartitionSpec) -> frozenset[Any]:
    return frozenset(name for part in spec for name in axis_names_of(part))
