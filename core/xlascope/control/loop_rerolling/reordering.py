"""Reordering of steps that places independent large calls of one program side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...ir.jaxpr import Jaxpr
from .cost_model import count_equations
from .normalized_steps import RerollStep

#: Minimum number of equations of a large call; maximum number of large calls for which grouping is tried.
MIN_LARGE_CALL_EQUATIONS, _MAX_LARGE_CALLS = 20, 200


def has_large_calls(jaxpr: Jaxpr) -> bool:
    """Return whether a program may have large calls that :func:`group_large_calls` groups."""
    operations = {id(equation[0]): equation[0] for equation in jaxpr.raw}.values()
    composite = [operation for operation in operations if operation.composite and not operation.effects]
    return any(count_equations(operation) >= MIN_LARGE_CALL_EQUATIONS for operation in composite)


def group_large_calls(steps: Sequence[RerollStep]) -> list[RerollStep] | None:
    """Return the steps with equal large calls placed side by side; None if that changes nothing.

    Steps keep their order where one depends on the other. Programs with very many large calls are not reordered.
    """
    large = [step for step in steps if step.operation.composite and not step.operation.effects]
    large = [step for step in large if count_equations(step.operation) >= MIN_LARGE_CALL_EQUATIONS]
    counts = Counter(_kind(step) for step in large)
    repeated = {kind for kind, count in counts.items() if count > 1}
    if not repeated or len(large) > _MAX_LARGE_CALLS:
        return None
    order, position = list(steps), 0
    while position < len(order):
        kind = _kind(order[position])
        if kind in repeated:
            early, group, late = _partition_by_dependence(order[position:], kind)
            order[position:] = [*early, *group, *late]
            position += len(early) + len(group)
        else:
            position += 1
    return None if all(a is b for a, b in zip(order, steps, strict=True)) else order


def _kind(step: RerollStep) -> tuple[object, ...]:
    return step.operation, *(id(x.aval) for x in step.inputs)


def _partition_by_dependence(
    steps: Sequence[RerollStep], kind: tuple[object, ...]
) -> tuple[list[RerollStep], list[RerollStep], list[RerollStep]]:
    """Partition steps into those independent of a group of calls, the group, and those that depend on it.

    The group is the first step, and the steps of its ``kind`` that do not depend on it. Effects keep their order: an
    effect after one of the dependent steps counts as dependent.
    """
    early: list[RerollStep] = []
    group: list[RerollStep] = []
    late: list[RerollStep] = []
    dependent_ids: set[int] = set()
    effects_are_late = False
    for step in steps:
        has_effects = bool(step.operation.effects)
        if any(id(x) in dependent_ids for x in step.inputs) or (has_effects and effects_are_late):
            late.append(step)
            effects_are_late = effects_are_late or has_effects
        elif _kind(step) == kind:
            group.append(step)
        else:
            early.append(step)
            continue
        dependent_ids.update(map(id, step.outputs))
    return early, group, late
