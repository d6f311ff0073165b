"""Insertion of an optimization barrier between two equations, so that the compiler cannot fuse them."""

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
    """Insert a barrier before equation ``second`` on all that it takes from equation ``first``.

    Equations are named by their paths (``"3"``, ``"12/4"``). For equations in different bodies the barrier is
    between the equations that hold them in their innermost common body; a body that several calls share is
    changed for this one alone. Raises ValueError for an invalid path, and where no value passes from one equation
    to the other.
    """
    steps = [_steps(program, path) for path in (first, second)]
    depth = next((i for i, (a, b) in enumerate(zip(*steps, strict=False)) if a != b), None)
    if depth is None:
        raise ValueError(f"there is nothing between equations {first} and {second}: one is in the other")
    before, after = sorted((path_steps[depth] for path_steps in steps), key=lambda step: step.number)
    if before.body != after.body:
        raise ValueError(f"equations {first} and {second} are in different branches: nothing passes between them")
    rewritten = _rewritten(program, steps[0][:depth], before, after)
    if rewritten is None:
        raise ValueError(f"nothing passes between equations {first} and {second}: neither uses what the other computes")
    return rewritten


def _rewritten(program: ClosedJaxpr, outer: Sequence[Step], before: Step, after: Step) -> ClosedJaxpr | None:
    """Insert the barrier in the body at the path ``outer``, and rebuild the operations that hold that body."""
    raw = list(program.jaxpr.raw)
    if outer:
        operation, *trailing = raw[outer[0].number]
        body = operation.bodies()[outer[1].body if len(outer) > 1 else before.body]
        inner = _rewritten(body, outer[1:], before, after)
        if inner is None:
            return None
        raw[outer[0].number] = (_holding(operation, body, inner), *trailing)
    else:
        barrier = _barrier(raw, before.number, after.number)
        if barrier is None:
            return None
        raw[after.number : after.number + 1] = barrier
    old = program.jaxpr
    new_jaxpr = Jaxpr(old.constvars, old.invars, old.outvars, raw, old.name, lambda: old.argument_names)
    return ClosedJaxpr(new_jaxpr, program.consts)


def _barrier(raw: Sequence[RawEquation], before: int, after: int) -> list[RawEquation] | None:
    """Return the later equation preceded by a barrier on its inputs from the earlier one; None without any."""
    reached = {id(v) for v in raw[before][2]}
    spread_dependence(raw[before + 1 : after], reached)
    operation, inputs, outputs, code, lasti, origin = raw[after]
    crossing = list({id(x): x for x in inputs if id(x) in reached}.values())
    if not crossing:
        return None
    barrier_outputs = {id(x): Var(x.aval) for x in crossing}
    barrier: RawEquation = (OptimizationBarrier(), crossing, list(barrier_outputs.values()), code, lasti, origin)
    return [barrier, (operation, [barrier_outputs.get(id(x), x) for x in inputs], outputs, code, lasti, origin)]


def _holding(operation: Operation, old: ClosedJaxpr, new: ClosedJaxpr) -> Operation:
    """Return the operation with one of its programs replaced."""

    def replace_value(value: Any) -> Any:
        if value is old:
            return new
        return tuple(map(replace_value, value)) if isinstance(value, tuple) else value

    fields = {field.name: replace_value(getattr(operation, field.name)) for field in dataclasses.fields(operation)}  # type: ignore[arg-type]
    replaced = dataclasses.replace(operation, **fields)  # type: ignore[type-var]
    if all(body is not new for body in replaced.bodies()):
        raise ValueError(f"{operation.name} makes its program itself: equations inside of it cannot be split")
    return replaced


def _steps(program: ClosedJaxpr, path: str) -> tuple[Step, ...]:
    """Return the steps of a path; raise ValueError, naming it, when there is no such equation."""
    steps = EquationPath.parse(path).steps
    bodies: Sequence[ClosedJaxpr] = (program,)
    for body, number in steps:
        if body >= len(bodies) or number >= len(bodies[body].jaxpr.raw):
            raise ValueError(f"the program has no equation {path}")
        bodies = bodies[body].jaxpr.raw[number][0].bodies()
    return steps
