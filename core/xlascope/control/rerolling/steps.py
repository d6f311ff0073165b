"""Equations of a program as steps: without unused ones, with duplicates merged, ordered to make repeats visible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.jaxpr import Atom, Jaxpr, Literal, Origin, Var
from ...ir.operation import Operation
from ...keys import key_of
from ...operations.barriers import OptimizationBarrier
from ...operations.random_generators import RngUniform
from ...operations.shapes import Reshape, Squeeze
from ...operations.slicing import Slice
from ...records.traits import Trait

#: Operations that must not be merged: barriers, and operations with fresh randomness.
_APART = frozenset({OptimizationBarrier, RngUniform})


def has_barriers(operation: Operation, cache: dict[int, bool]) -> bool:
    """Return whether an operation is a barrier or holds one; ``cache`` has the results for composite operations."""
    if not operation.composite:
        return Trait.BARRIER in operation.traits
    if id(operation) not in cache:
        inner = (equation[0] for body in operation.bodies() for equation in body.jaxpr.raw)
        cache[id(operation)] = Trait.BARRIER in operation.traits or any(
            has_barriers(inner_operation, cache) for inner_operation in inner
        )
    return cache[id(operation)]


class Step(NamedTuple):
    """An equation, the ``number``-th of the program, which stands for ``copies`` equal computations."""

    number: int
    operation: Operation
    inputs: tuple[Atom, ...]
    outputs: Sequence[Var]
    code: Any
    lasti: int
    origin: Origin | None
    copies: int = 1


class Steps(NamedTuple):
    """The steps of a program, and its results."""

    steps: list[Step]
    results: list[Atom]


def literal_key(x: Literal) -> Any:
    """Return a key that identifies a literal by value and type."""
    return key_of(x.val), id(x.aval)


def steps_of(jaxpr: Jaxpr) -> Steps:
    """Return the steps of a program in an order in which repeats are visible.

    Steps that do not differ between repeats, and slices of one array, come first.
    """
    merged, names = _merged(jaxpr)
    early, late = _hoisted(merged, [*jaxpr.constvars, *jaxpr.invars])
    return Steps([*early, *late], [x if isinstance(x, Literal) else names.get(x, x) for x in jaxpr.outvars])


def _merged(jaxpr: Jaxpr) -> tuple[list[Step], dict[Var, Var]]:
    """Return the needed steps in the equations' order, with duplicates merged, and the replacements of variables."""
    needed = _needed(jaxpr)
    merged: list[Step] = []
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
        if not operation.effects and operation.__class__ not in _APART:
            position = position_by_key.setdefault(tuple(key), len(merged))
            if position < len(merged):
                replacements.update(zip(outputs, merged[position].outputs, strict=True))
                merged[position] = merged[position]._replace(copies=merged[position].copies + 1)
                continue
        merged.append(Step(number, operation, tuple(inputs), outputs, code, lasti, origin))
    return merged, replacements


def _needed(jaxpr: Jaxpr) -> list[bool]:
    """Return which equations results or effects need."""
    used = {id(x) for x in jaxpr.outvars}
    needed_flags = []
    for operation, inputs, outputs, *_ in reversed(jaxpr.raw):
        needed = any(id(v) in used for v in outputs) or bool(operation.effects)
        if needed:
            used.update(map(id, inputs))
        needed_flags.append(needed)
    return needed_flags[::-1]


def _hoisted(steps: Sequence[Step], inputs: Sequence[Var]) -> tuple[list[Step], list[Step]]:
    """Return the steps that come first, and the others.

    A step comes first if it depends on none of the others, and stands for several equations or takes one of
    several slices of an array.
    """
    slices: dict[int, int] = defaultdict(int)
    for step in steps:
        if isinstance(step.operation, Slice):
            slices[id(step.inputs[0])] += 1
    available = {id(v) for v in inputs}
    slice_ids: set[int] = set()  # slices, and reshaped slices
    early: list[Step] = []
    late: list[Step] = []
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
