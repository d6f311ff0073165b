"""Equations of a program as steps: without unused ones, with duplicates merged, ordered to make repeats visible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...cache_keys import cache_key
from ...ir.jaxpr import Atom, Jaxpr, Literal, Origin, Var
from ...ir.operation import Operation
from ...operations.barriers import OptimizationBarrier
from ...operations.random_generators import RngUniform
from ...operations.shapes import Reshape, Squeeze
from ...operations.slicing import Slice
from ...records.traits import Trait

#: Operations that must not be merged: barriers, and operations with fresh randomness.
_NOT_MERGEABLE = frozenset({OptimizationBarrier, RngUniform})


def has_barriers(operation: Operation, cache: dict[int, bool]) -> bool:
    """Return whether an operation is a barrier or holds one in a program.

    ``cache`` holds the results for composite operations, by their id, and is extended.
    """
    if not operation.composite:
        return Trait.BARRIER in operation.traits
    if id(operation) not in cache:
        inner = (equation[0] for body in operation.bodies() for equation in body.jaxpr.raw)
        cache[id(operation)] = Trait.BARRIER in operation.traits or any(
            has_barriers(inner_operation, cache) for inner_operation in inner
        )
    return cache[id(operation)]


class RerollStep(NamedTuple):
    """An equation of a program as loop rerolling works with it.

    ``number`` is the equation's index in the program. The step stands for ``copies`` equal equations, of which it is
    the first. ``code`` and ``lasti`` are the user's code object and instruction.
    """

    number: int
    operation: Operation
    inputs: tuple[Atom, ...]
    outputs: Sequence[Var]
    code: Any
    lasti: int
    origin: Origin | None
    copies: int = 1


class NormalizedSteps(NamedTuple):
    """The equations of a program as steps in a new order, and the program's results."""

    steps: list[RerollStep]
    results: list[Atom]


def literal_key(x: Literal) -> Any:
    """Return a key that is equal for literals of the same value and type."""
    return cache_key(x.val), id(x.aval)


def normalize_steps(jaxpr: Jaxpr) -> NormalizedSteps:
    """Return the steps of a program in an order in which repeats are visible.

    Unused equations are dropped and equal ones merged. Steps that do not differ between repeats, and slices of one
    array, come first.
    """
    merged, names = _merge_duplicates(jaxpr)
    early, late = _hoist(merged, [*jaxpr.constvars, *jaxpr.invars])
    return NormalizedSteps([*early, *late], [x if isinstance(x, Literal) else names.get(x, x) for x in jaxpr.outvars])


def _merge_duplicates(jaxpr: Jaxpr) -> tuple[list[RerollStep], dict[Var, Var]]:
    """Return the needed equations as steps, with duplicates merged, and the replacements of variables.

    The replacements map each result of a dropped duplicate to that of the step that stands for it.
    """
    needed = _find_needed(jaxpr)
    merged: list[RerollStep] = []
    position_by_key: dict[Any, int] = {}
    replacements: dict[Any, Any] = {}
    literals: dict[int, Any] = {}
    for number, (operation, raw_inputs, outputs, code, lasti, origin) in enumerate(jaxpr.raw):
        if not needed[number]:
            continue
        inputs = []
        key: list[Any] = [operation]
        for x in raw_inputs:
            if x.__class__ is Literal:
                if id(x) not in literals:
                    literals[id(x)] = literal_key(x)
                key.append(literals[id(x)])
            else:
                x = replacements.get(x, x)
                key.append(id(x))
            inputs.append(x)
        if not operation.effects and operation.__class__ not in _NOT_MERGEABLE:
            position = position_by_key.setdefault(tuple(key), len(merged))
            if position < len(merged):
                replacements.update(zip(outputs, merged[position].outputs, strict=True))
                merged[position] = merged[position]._replace(copies=merged[position].copies + 1)
                continue
        merged.append(RerollStep(number, operation, tuple(inputs), outputs, code, lasti, origin))
    return merged, replacements


def _find_needed(jaxpr: Jaxpr) -> list[bool]:
    """Return a mask of the equations that have effects or that results depend on."""
    used = {id(x) for x in jaxpr.outvars}
    needed_flags = []
    for operation, inputs, outputs, *_ in reversed(jaxpr.raw):
        needed = any(id(v) in used for v in outputs) or bool(operation.effects)
        if needed:
            used.update(map(id, inputs))
        needed_flags.append(needed)
    return needed_flags[::-1]


def _hoist(steps: Sequence[RerollStep], inputs: Sequence[Var]) -> tuple[list[RerollStep], list[RerollStep]]:
    """Partition steps into those that come first and the others.

    A step comes first if it depends on none of the others, and stands for several equations or takes one of several
    slices of an array. ``inputs`` are the program's constants and operands.
    """
    slices: dict[int, int] = defaultdict(int)
    for step in steps:
        if isinstance(step.operation, Slice):
            slices[id(step.inputs[0])] += 1
    available = {id(v) for v in inputs}
    slice_ids: set[int] = set()  # slices, and reshaped slices
    early: list[RerollStep] = []
    late: list[RerollStep] = []
    for step in steps:
        source = id(step.inputs[0]) if step.inputs else 0
        is_slice = isinstance(step.operation, Slice) and slices[source] > 1
        is_slice = is_slice or (isinstance(step.operation, Squeeze | Reshape) and source in slice_ids)
        is_early = is_slice or step.copies > 1
        if is_early and all(x.__class__ is Literal or id(x) in available for x in step.inputs):
            available.update(map(id, step.outputs))
            if is_slice:
                slice_ids.update(map(id, step.outputs))
            early.append(step)
        else:
            late.append(step)
    return early, late
