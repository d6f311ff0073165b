"""A program's equations as steps: without those that nothing needs, what is computed twice merged, and in an order in
which repeats show.
"""

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

#: Of what a copy is not the same: a barrier keeps what is behind it apart, and some numbers are others each time.
_APART = frozenset({OptimizationBarrier, RngUniform})


def has_barriers(operation: Operation, known: dict[int, bool]) -> bool:
    """Whether an operation is a barrier or holds one; ``known`` remembers that of those that hold programs."""
    if not operation.composite:
        return Trait.BARRIER in operation.traits
    if id(operation) not in known:
        inner = (equation[0] for body in operation.bodies() for equation in body.jaxpr.raw)
        known[id(operation)] = Trait.BARRIER in operation.traits or any(has_barriers(each, known) for each in inner)
    return known[id(operation)]


class Step(NamedTuple):
    """An equation, the ``number``-th of the program, which stands for ``copies`` that compute the same."""

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
    """What tells a literal from others."""
    return key_of(x.val), id(x.aval)


def steps_of(jaxpr: Jaxpr) -> Steps:
    """The steps of a program: those that do not differ from repeat to repeat, and slices that are taken of one array,
    come first, so that what is left repeats.
    """
    merged, names = _merged(jaxpr)
    early, late = _hoisted(merged, [*jaxpr.constvars, *jaxpr.invars])
    return Steps([*early, *late], [x if isinstance(x, Literal) else names.get(x, x) for x in jaxpr.outvars])


def _merged(jaxpr: Jaxpr) -> tuple[list[Step], dict[Var, Var]]:
    """The steps that are needed, in the order of the equations, and by what a value's name is replaced."""
    needed = _needed(jaxpr)
    found: list[Step] = []
    places: dict[Any, int] = {}
    names: dict[Any, Any] = {}
    literals: dict[int, Any] = {}
    for number, (operation, given, outputs, code, lasti, origin) in enumerate(jaxpr.raw):
        if not needed[number]:
            continue
        inputs = []
        key: list[Any] = [operation]
        for x in given:
            if x.__class__ is Literal:
                if id(x) not in literals:
                    literals[id(x)] = literal_key(x)
                key.append(literals[id(x)])
            else:
                x = names.get(x, x)
                key.append(id(x))
            inputs.append(x)
        if not operation.effects and operation.__class__ not in _APART:
            place = places.setdefault(tuple(key), len(found))
            if place < len(found):
                names.update(zip(outputs, found[place].outputs, strict=True))
                found[place] = found[place]._replace(copies=found[place].copies + 1)
                continue
        found.append(Step(number, operation, tuple(inputs), outputs, code, lasti, origin))
    return found, names


def _needed(jaxpr: Jaxpr) -> list[bool]:
    """Which equations results or effects need."""
    used = {id(x) for x in jaxpr.outvars}
    found = []
    for operation, inputs, outputs, *_ in reversed(jaxpr.raw):
        needed = any(id(v) in used for v in outputs) or bool(operation.effects)
        if needed:
            used.update(map(id, inputs))
        found.append(needed)
    return found[::-1]


def _hoisted(steps: Sequence[Step], given: Sequence[Var]) -> tuple[list[Step], list[Step]]:
    """Steps that come first, and the others: first comes what needs nothing of the others and stands for several
    equations, or takes one of several slices of an array.
    """
    slices: dict[int, int] = defaultdict(int)
    for step in steps:
        if isinstance(step.operation, Slice):
            slices[id(step.inputs[0])] += 1
    known = {id(v) for v in given}
    cut: set[int] = set()  # slices, and what is reshaped of them
    early: list[Step] = []
    late: list[Step] = []
    for step in steps:
        of = id(step.inputs[0]) if step.inputs else 0
        is_slice = isinstance(step.operation, Slice) and slices[of] > 1
        is_slice = is_slice or (isinstance(step.operation, Squeeze | Reshape) and of in cut)
        first = is_slice or step.copies > 1
        if first and all(x.__class__ is Literal or id(x) in known for x in step.inputs):
            known.update(map(id, step.outputs))
            if is_slice:
                cut.update(map(id, step.outputs))
            early.append(step)
        else:
            late.append(step)
    return early, late
