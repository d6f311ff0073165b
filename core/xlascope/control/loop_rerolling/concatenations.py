"""Values that a program concatenates along an axis, as a list of all states becomes one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ir.jaxpr import Atom, Literal
from ...operations.shapes import BroadcastInDim, Reshape
from ...operations.slicing import Concatenate
from .normalized_steps import RerollStep


class Concatenation(NamedTuple):
    """Values that a step concatenates along ``axis``.

    If ``new``, each value is expanded by that axis before (a stack of values); ``expanding_steps`` are then the
    indices of the steps that add it and whose results have no other use. Else the values have the axis.
    """

    values: tuple[Atom, ...]
    axis: int
    new: bool
    expanding_steps: frozenset[int]


def find_concatenations(steps: Sequence[RerollStep], results: Sequence[Atom]) -> dict[int, Concatenation]:
    """Return the concatenations among steps, keyed by the index of the concatenating step.

    ``results`` are the program's results. Concatenations of values of different types are left out.
    """
    producers = {id(v): number for number, step in enumerate(steps) for v in step.outputs}
    users: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        for x in step.inputs:
            users.setdefault(id(x), set()).add(number)
    result_ids = set(map(id, results))
    concatenations = {}
    for number, step in enumerate(steps):
        if not isinstance(step.operation, Concatenate):
            continue
        axis, inputs = step.operation.dimension, step.inputs
        producer_steps = [producers.get(id(x)) for x in inputs]
        sources = [None if g is None else _value_before_new_axis(steps[g], axis) for g in producer_steps]
        if all(x is not None for x in sources):
            single_use = frozenset(
                g
                for g, x in zip(producer_steps, inputs, strict=True)
                if g is not None and users[id(x)] == {number} and id(x) not in result_ids
            )
            concatenations[number] = Concatenation(tuple(x for x in sources if x is not None), axis, True, single_use)
        elif len({x.aval for x in inputs}) == 1:
            concatenations[number] = Concatenation(tuple(inputs), axis, False, frozenset())
    return concatenations


def _value_before_new_axis(step: RerollStep, axis: int) -> Atom | None:
    """Return the operand to which a step adds a new axis of size 1 at ``axis``; None if it does something else."""
    if not isinstance(step.operation, Reshape | BroadcastInDim) or isinstance(step.inputs[0], Literal):
        return None
    (x,), shape = step.inputs, step.outputs[0].aval.shape
    shape_without_axis = (*shape[:axis], *shape[axis + 1 :])
    if x.aval.shape != shape_without_axis or shape[axis : axis + 1] != (1,):
        return None
    if isinstance(step.operation, BroadcastInDim):
        expected_axes = tuple(dimension for dimension in range(len(shape)) if dimension != axis)
        return x if step.operation.broadcast_dimensions == expected_axes else None
    return x
