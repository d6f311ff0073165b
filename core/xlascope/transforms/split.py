"""A program with a barrier between two of its equations, so that the compiler cannot make one kernel of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..ir.jaxpr import ClosedJaxpr, Jaxpr, RawEquation, Var
from ..ir.operation import Operation
from ..operations.barriers import OptimizationBarrier
from ..records.paths import EquationPath, Step
from .dce import spread_dependence


def split_program(program: ClosedJaxpr, first: str, second: str) -> ClosedJaxpr:
    """The program with a barrier before equation ``second`` on all that it takes from equation ``first``.

    Equations are named by their paths (``"3"``, ``"12/4"``). Of equations in different bodies those are split that hold
    them in the body that both share; a body that several calls share is changed for this one alone. Raises ValueError
    for a path that leads nowhere, and where nothing passes from one to the other.
    """
    steps = [_steps(program, path) for path in (first, second)]
    depth = next((i for i, (a, b) in enumerate(zip(*steps, strict=False)) if a != b), None)
    if depth is None:
        raise ValueError(f"there is nothing between equations {first} and {second}: one is in the other")
    before, after = sorted((each[depth] for each in steps), key=lambda step: step.number)
    if before.body != after.body:
        raise ValueError(f"equations {first} and {second} are in different branches: nothing passes between them")
    found = _rewritten(program, steps[0][:depth], before, after)
    if found is None:
        raise ValueError(f"nothing passes between equations {first} and {second}: neither uses what the other computes")
    return found


def _rewritten(program: ClosedJaxpr, outer: Sequence[Step], before: Step, after: Step) -> ClosedJaxpr | None:
    """Go down the steps of ``outer``, split there, and on the way up hold each new body in a new operation."""
    raw = list(program.jaxpr.raw)
    if outer:
        operation, *rest = raw[outer[0].number]
        body = operation.bodies()[outer[1].body if len(outer) > 1 else before.body]
        inner = _rewritten(body, outer[1:], before, after)
        if inner is None:
            return None
        raw[outer[0].number] = (_holding(operation, body, inner), *rest)
    else:
        barrier = _barrier(raw, before.number, after.number)
        if barrier is None:
            return None
        raw[after.number : after.number + 1] = barrier
    old = program.jaxpr
    made = Jaxpr(old.constvars, old.invars, old.outvars, raw, old.name, lambda: old.argument_names)
    return ClosedJaxpr(made, program.consts)


def _barrier(raw: Sequence[RawEquation], before: int, after: int) -> list[RawEquation] | None:
    """The later equation behind a barrier on what reaches it from the earlier one; None when nothing does."""
    reached = {id(v) for v in raw[before][2]}
    spread_dependence(raw[before + 1 : after], reached)
    operation, inputs, outputs, code, lasti, origin = raw[after]
    crossing = list({id(x): x for x in inputs if id(x) in reached}.values())
    if not crossing:
        return None
    passed = {id(x): Var(x.aval) for x in crossing}
    barrier: RawEquation = (OptimizationBarrier(), crossing, list(passed.values()), code, lasti, origin)
    return [barrier, (operation, [passed.get(id(x), x) for x in inputs], outputs, code, lasti, origin)]


def _holding(operation: Operation, old: ClosedJaxpr, new: ClosedJaxpr) -> Operation:
    """The operation with one of the programs that it holds exchanged."""

    def exchanged(value: Any) -> Any:
        if value is old:
            return new
        return tuple(map(exchanged, value)) if isinstance(value, tuple) else value

    fields = {each.name: exchanged(getattr(operation, each.name)) for each in dataclasses.fields(operation)}  # type: ignore[arg-type]
    made = dataclasses.replace(operation, **fields)  # type: ignore[type-var]
    if all(body is not new for body in made.bodies()):
        raise ValueError(f"{operation.name} makes its program itself: equations inside of it cannot be split")
    return made


def _steps(program: ClosedJaxpr, path: str) -> tuple[Step, ...]:
    """The steps of a path; raises ValueError, naming it, when no equation is there."""
    steps = EquationPath.parse(path).steps
    bodies: Sequence[ClosedJaxpr] = (program,)
    for body, number in steps:
        if body >= len(bodies) or number >= len(bodies[body].jaxpr.raw):
            raise ValueError(f"the program has no equation {path}")
        bodies = bodies[body].jaxpr.raw[number][0].bodies()
    return steps
