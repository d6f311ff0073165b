"""Values that a program concatenates along an axis, as a list of all states becomes one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ir.jaxpr import Atom, Literal
from ...operations.shapes import BroadcastInDim, Reshape
from ...operations.slicing import Concatenate
from .steps import Step


class Joined(NamedTuple):
    """Values along an axis, which is ``new`` or which they already have.

    ``expanding_steps`` are the steps that add the new axis and have no other use.
    """

    values: tuple[Atom, ...]
    axis: int
    new: bool
    given: frozenset[int]


def joined_in(steps: Sequence[Step], results: Sequence[Atom]) -> dict[int, Joined]:
    """Return the concatenations among steps, by the steps' numbers."""
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
        sources = [None if g is None else _before_axis(steps[g], axis) for g in producer_steps]
        if all(x is not None for x in sources):
            single_use = frozenset(
                g
                for g, x in zip(producer_steps, inputs, strict=True)
                if g is not None and users[id(x)] == {number} and id(x) not in result_ids
            )
            concatenations[number] = Joined(tuple(x for x in sources if x is not None), axis, True, single_use)
        elif len({x.aval for x in inputs}) == 1:
            concatenations[number] = Joined(tuple(inputs), axis, False, frozenset())
    return concatenations


def _before_axis(step: Step, axis: int) -> Atom | None:
    """Return the value to which a step adds a new axis of size 1; None if it does something else."""
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
