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
RESHAPES = frozenset({Squeeze, Reshape})


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


class OperationFacts(NamedTuple):
    """Facts about an operation: a number that equal operations share, and whether its equations can be merged.

    ``has_effects`` says whether it has effects, and ``is_unique`` whether each of its steps equals only itself: steps
    with effects, and with barriers, since XLA's CPU compiler removes barriers in loops from programs with small loops.
    """

    number: int
    has_effects: bool
    can_merge: bool
    is_unique: bool


class OperationTable(dict[int, OperationFacts]):
    """Facts about the operations of one program, by their identity: hashing an operation costs more than all else.

    The program keeps the operations alive.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[Operation, int] = {}
        self._barriers: dict[int, bool] = {}

    def add(self, operation: Operation) -> OperationFacts:
        """Return the facts about an operation that is not there yet, and store them."""
        has_effects = bool(operation.effects)
        facts = self[id(operation)] = OperationFacts(
            self._numbers.setdefault(operation, len(self._numbers)),
            has_effects,
            not has_effects and operation.__class__ not in _NOT_MERGEABLE,
            has_effects or has_barriers(operation, self._barriers),
        )
        return facts


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
    """The equations of a program as steps in a new order, and the program's results.

    ``operations`` has facts about the operations of all steps.
    """

    steps: list[RerollStep]
    results: list[Atom]
    operations: OperationTable


def literal_key(x: Literal) -> Any:
    """Return a key that is equal for literals of the same value and type."""
    return cache_key(x.val), id(x.aval)


def normalize_steps(jaxpr: Jaxpr) -> NormalizedSteps:
    """Return the steps of a program in an order in which repeats are visible.

    Unused equations are dropped and equal ones merged. Steps that do not differ between repeats, and slices of one
    array, come first.
    """
    operations = OperationTable()
    merged, names = _merge_duplicates(jaxpr, operations)
    early, late = _hoist(merged, [*jaxpr.constvars, *jaxpr.invars])
    results = [x if isinstance(x, Literal) else names.get(x, x) for x in jaxpr.outvars]
    return NormalizedSteps([*early, *late], results, operations)


def _merge_duplicates(jaxpr: Jaxpr, operations: OperationTable) -> tuple[list[RerollStep], dict[Var, Var]]:
    """Return the needed equations as steps, with duplicates merged, and the replacements of variables.

    The replacements map each result of a dropped duplicate to that of the step that stands for it.
    """
    merged: list[RerollStep] = []
    position_by_key: dict[Any, int] = {}
    replacements: dict[Any, Any] = {}
    literal_keys: dict[int, Any] = {}
    for number in find_needed(jaxpr, operations):
        operation, inputs, outputs, code, lasti, origin = jaxpr.raw[number]
        if replacements:
            inputs = [x if x.__class__ is Literal else replacements.get(x, x) for x in inputs]
        facts = operations[id(operation)]
        key: list[Any] = [facts.number]
        for x in inputs:
            if x.__class__ is not Literal:
                key.append(id(x))
                continue
            literal = literal_keys.get(id(x))
            if literal is None:
                literal = literal_keys[id(x)] = literal_key(x)
            key.append(literal)
        if facts.can_merge:
            position = position_by_key.setdefault(tuple(key), len(merged))
            if position < len(merged):
                replacements.update(zip(outputs, merged[position].outputs, strict=True))
                merged[position] = merged[position]._replace(copies=merged[position].copies + 1)
                continue
        merged.append(RerollStep(number, operation, tuple(inputs), outputs, code, lasti, origin))
    return merged, replacements


def find_needed(jaxpr: Jaxpr, operations: OperationTable) -> list[int]:
    """Return the indices of the equations that have effects or that results depend on; fill in ``operations``."""
    used = set(map(id, jaxpr.outvars))
    needed = []
    for number in range(len(jaxpr.raw) - 1, -1, -1):
        operation, inputs, outputs, *_ = jaxpr.raw[number]
        facts = operations.get(id(operation)) or operations.add(operation)
        is_used = id(outputs[0]) in used if len(outputs) == 1 else not used.isdisjoint(map(id, outputs))
        if is_used or facts.has_effects:
            used.update(map(id, inputs))
            needed.append(number)
    return needed[::-1]


def _hoist(steps: Sequence[RerollStep], inputs: Sequence[Var]) -> tuple[list[RerollStep], list[RerollStep]]:
    """Partition steps into those that come first and the others.

    A step comes first if it depends on none of the others, and stands for several equations or takes one of several
    slices of an array. ``inputs`` are the program's constants and operands.
    """
    slices: dict[int, int] = defaultdict(int)
    for step in steps:
        if step.operation.__class__ is Slice:
            slices[id(step.inputs[0])] += 1
    available = set(map(id, inputs))
    slice_ids: set[int] = set()  # slices, and reshaped slices
    early: list[RerollStep] = []
    late: list[RerollStep] = []
    for step in steps:
        operation_class = step.operation.__class__
        if operation_class is Slice:
            is_slice = slices[id(step.inputs[0])] > 1
        else:
            is_slice = operation_class in RESHAPES and id(step.inputs[0]) in slice_ids
        if (is_slice or step.copies > 1) and all(x.__class__ is Literal or id(x) in available for x in step.inputs):
            available.update(map(id, step.outputs))
            if is_slice:
                slice_ids.update(map(id, step.outputs))
            early.append(step)
        else:
            late.append(step)
    return early, late
