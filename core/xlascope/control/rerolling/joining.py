"""Values that a program puts together along an axis, as a list of all states becomes one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ir.jaxpr import Atom, Literal
from ...operations.shapes import BroadcastInDim, Reshape
from ...operations.slicing import Concatenate
from .steps import Step


class Joined(NamedTuple):
    """Values along an axis, which each was given for that (``new``) or has already; ``given`` are the steps that do so,
    for this alone.
    """

    values: tuple[Atom, ...]
    axis: int
    new: bool
    given: frozenset[int]


def joined_in(steps: Sequence[Step], results: Sequence[Atom]) -> dict[int, Joined]:
    """What steps join, by their numbers."""
    makers = {id(v): number for number, step in enumerate(steps) for v in step.outputs}
    users: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        for x in step.inputs:
            users.setdefault(id(x), set()).add(number)
    shown = set(map(id, results))
    found = {}
    for number, step in enumerate(steps):
        if not isinstance(step.operation, Concatenate):
            continue
        axis, inputs = step.operation.dimension, step.inputs
        given = [makers.get(id(x)) for x in inputs]
        sources = [None if g is None else _before_axis(steps[g], axis) for g in given]
        if all(x is not None for x in sources):
            alone = frozenset(
                g
                for g, x in zip(given, inputs, strict=True)
                if g is not None and users[id(x)] == {number} and id(x) not in shown
            )
            found[number] = Joined(tuple(x for x in sources if x is not None), axis, True, alone)
        elif len({x.aval for x in inputs}) == 1:
            found[number] = Joined(tuple(inputs), axis, False, frozenset())
    return found


def _before_axis(step: Step, axis: int) -> Atom | None:
    """The value that a step gives a new axis of size 1; None where it does something else."""
    if not isinstance(step.operation, Reshape | BroadcastInDim) or isinstance(step.inputs[0], Literal):
        return None
    (x,), shape = step.inputs, step.outputs[0].aval.shape
    without = (*shape[:axis], *shape[axis + 1 :])
    if x.aval.shape != without or shape[axis : axis + 1] != (1,):
        return None
    if isinstance(step.operation, BroadcastInDim):
        others = tuple(each for each in range(len(shape)) if each != axis)
        return x if step.operation.broadcast_dimensions == others else None
    return x
