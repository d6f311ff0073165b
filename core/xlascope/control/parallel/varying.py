"""Analysis of the mesh axes along which values may vary, to check that results are replicated as their specs claim."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ...ir.jaxpr import ClosedJaxpr, Literal
from ...ir.operation import Operation
from ...operations.collectives import Collective, PMax, PMin, PSum, axis_names_of
from ...operations.exchanges import AllGather, AxisIndex, PBroadcast

#: The axes along which a value may differ from device to device; None if they are unknown.
Axes = frozenset[Hashable] | None

_MAKING_EQUAL = (PSum, PMax, PMin, AllGather, PBroadcast)
_NONE: frozenset[Hashable] = frozenset()


def varying_axes(program: ClosedJaxpr, operands: Sequence[Axes]) -> list[Axes]:
    """Return for each result the axes along which it may vary, given those of the operands."""
    axes_by_var: dict[int, Axes] = {id(v): var_axes for v, var_axes in zip(program.jaxpr.invars, operands, strict=True)}
    axes_by_var.update((id(v), _NONE) for v in program.jaxpr.constvars)
    for operation, inputs, outputs, *_ in program.jaxpr.raw:
        input_axes = [_NONE if x.__class__ is Literal else axes_by_var[id(x)] for x in inputs]
        axes_by_var.update(
            (id(v), var_axes)
            for v, var_axes in zip(outputs, _through(operation, input_axes, len(outputs)), strict=True)
        )
    return [_NONE if x.__class__ is Literal else axes_by_var[id(x)] for x in program.jaxpr.outvars]


def _through(operation: Operation, input_axes: Sequence[Axes], count: int) -> Sequence[Axes]:
    called_program: Any = operation.whole()
    if called_program is not None:
        return varying_axes(called_program, input_axes)
    all_axes = _union(input_axes)
    if isinstance(operation, Collective):
        collective_axes = frozenset(operation.axes)
        if isinstance(operation, _MAKING_EQUAL):
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


def _union(axes_sets: Sequence[Axes]) -> Axes:
    union: frozenset[Hashable] = _NONE
    for axes in axes_sets:
        if axes is None:
            return None
        union |= axes
    return union
