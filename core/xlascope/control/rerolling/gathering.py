"""Another order of steps, in which large calls of one program that do not need each other stand side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .steps import Step
from .weighing import weight_of

#: Calls of programs of so many equations are looked at, unless there are more than so many calls.
_LARGE, _MOST_CALLS = 20, 200


def gathered(steps: Sequence[Step]) -> list[Step] | None:
    """The steps with large calls gathered; None where there is nothing to gather."""
    large = [each for each in steps if each.operation.composite and not each.operation.effects]
    large = [each for each in large if weight_of(each.operation) >= _LARGE]
    counts = Counter(_kind(each) for each in large)
    repeated = {kind for kind, count in counts.items() if count > 1}
    if not repeated or len(large) > _MOST_CALLS:
        return None
    order, at = list(steps), 0
    while at < len(order):
        kind = _kind(order[at])
        if kind in repeated:
            early, group, late = _parted(order[at:], kind)
            order[at:] = [*early, *group, *late]
            at += len(early) + len(group)
        else:
            at += 1
    return None if all(a is b for a, b in zip(order, steps, strict=True)) else order


def _kind(step: Step) -> tuple[object, ...]:
    return step.operation, *(id(x.aval) for x in step.inputs)


def _parted(steps: Sequence[Step], kind: tuple[object, ...]) -> tuple[list[Step], list[Step], list[Step]]:
    """Steps that need none of a group of calls, the calls (the first step, and those of its kind that do not need it),
    and steps that need one. Effects keep their order: what follows a late one is late.
    """
    early: list[Step] = []
    group: list[Step] = []
    late: list[Step] = []
    reached: set[int] = set()
    effects_are_late = False
    for step in steps:
        has_effects = bool(step.operation.effects)
        if any(id(x) in reached for x in step.inputs) or (has_effects and effects_are_late):
            late.append(step)
            effects_are_late = effects_are_late or has_effects
        elif _kind(step) == kind:
            group.append(step)
        else:
            early.append(step)
            continue
        reached.update(map(id, step.outputs))
    return early, group, late
