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
from ...transforms.dce import needed_equations

#: Of what a copy is not the same: a barrier keeps what is behind it apart, and some numbers are others each time.
_APART = (OptimizationBarrier, RngUniform)


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
    numbered: Any = [(*equation, number) for number, equation in enumerate(jaxpr.raw)]
    _, needed = needed_equations(numbered, jaxpr.outvars)
    found: list[Step] = []
    places: dict[Any, int] = {}
    names: dict[Var, Var] = {}
    for operation, given, outputs, code, lasti, origin, number in needed:  # type: ignore[misc]
        inputs = tuple(x if x.__class__ is Literal else names.get(x, x) for x in given)
        key = None
        if not operation.effects and not isinstance(operation, _APART):
            key = (operation, *(literal_key(x) if x.__class__ is Literal else id(x) for x in inputs))
        place = places.get(key) if key is not None else None
        if place is not None and len(found[place].outputs) == len(outputs):
            names.update(zip(outputs, found[place].outputs, strict=True))
            found[place] = found[place]._replace(copies=found[place].copies + 1)
            continue
        if key is not None:
            places[key] = len(found)
        found.append(Step(number, operation, inputs, outputs, code, lasti, origin))
    return found, names


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
