"""Analysis of the mesh axes along which values may vary, to check that results are replicated as their specs claim."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ...ir.jaxpr import ClosedJaxpr, Literal
from ...ir.operation import Operation
from ...operations.collectives import CollectiveOperation, PMax, PMin, PSum, axis_names_of
from ...operations.exchanges import AllGather, AxisIndex, PBroadcast

#: The axes along which a value may differ from device to device; None if they are unknown.
VaryingAxes = frozenset[Hashable] | None

_REPLICATING_COLLECTIVES = (PSum, PMax, PMin, AllGather, PBroadcast)
_NO_AXES: frozenset[Hashable] = frozenset()


def varying_axes(program: ClosedJaxpr, operands: Sequence[VaryingAxes]) -> list[VaryingAxes]:
    """Return for each result of a program the mesh axes along which it may vary, given those of the operands.

    None stands for unknown axes.
    """
    axes_by_var: dict[int, VaryingAxes] = {
        id(v): var_axes for v, var_axes in zip(program.jaxpr.invars, operands, strict=True)
    }
    axes_by_var.update((id(v), _NO_AXES) for v in program.jaxpr.constvars)
    for operation, inputs, outputs, *_ in program.jaxpr.raw:
        input_axes = [_NO_AXES if x.__class__ is Literal else axes_by_var[id(x)] for x in inputs]
        axes_by_var.update(
            (id(v), var_axes)
            for v, var_axes in zip(outputs, _varying_axes_of_results(operation, input_axes, len(outputs)), strict=True)
        )
    return [_NO_AXES if x.__class__ is Literal else axes_by_var[id(x)] for x in program.jaxpr.outvars]


def _varying_axes_of_results(
    operation: Operation, input_axes: Sequence[VaryingAxes], count: int
) -> Sequence[VaryingAxes]:
    """Return for each result of an operation the mesh axes along which it may vary; None where they are unknown.

    ``input_axes`` are those of the operands, ``count`` is the number of results.
    """
    called_program: Any = operation.as_single_program()
    if called_program is not None:
        return varying_axes(called_program, input_axes)
    all_axes = _union(input_axes)
    if isinstance(operation, CollectiveOperation):
        collective_axes = frozenset(operation.axes)
        is_grouped = operation.params.get("axis_index_groups") is not None
        if isinstance(operation, _REPLICATING_COLLECTIVES) and not is_grouped:
            return [None if all_axes is None else all_axes - collective_axes]
        return [
            collective_axes
            if isinstance(operation, AxisIndex)
            else None
            if all_axes is None
            else all_axes | collective_axes
        ]
    if operation.composite and any(axis_names_of(held_program) for held_program in operation.bodies()):
        return [None] * count
    return [all_axes] * count


def _union(axes_sets: Sequence[VaryingAxes]) -> VaryingAxes:
    union: frozenset[Hashable] = _NO_AXES
    for axes in axes_sets:
        if axes is None:
            return None
        union |= axes
    return union
