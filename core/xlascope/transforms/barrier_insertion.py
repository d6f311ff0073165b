"""Insertion of an optimization barrier between two equations, so that the compiler cannot fuse them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..ir.jaxpr import ClosedJaxpr, Jaxpr, RawEquation, Var
from ..ir.operation import Operation
from ..operations.barriers import OptimizationBarrier
from ..records.paths import EquationPath, Step
from .dce import propagate_dependence


def split_program(program: ClosedJaxpr, first: str, second: str) -> ClosedJaxpr:
    """Return the program with an optimization barrier between two equations, so that they cannot be fused.

    The barrier is before equation ``second``, on the values that it takes from equation ``first``. Equations
    are named by their paths (``"3"``, ``"12/4"``). For equations in different bodies the barrier is between
    the equations that hold them in their innermost common body; of a body that several calls share, only the
    copy of this call changes. Raises ValueError for an invalid path, and where no value passes from one
    equation to the other.
    """
    steps = [_resolve_path(program, path) for path in (first, second)]
    depth = next((i for i, (a, b) in enumerate(zip(*steps, strict=False)) if a != b), None)
    if depth is None:
        raise ValueError(f"there is nothing between equations {first} and {second}: one is in the other")
    before, after = sorted((path_steps[depth] for path_steps in steps), key=lambda step: step.number)
    if before.body != after.body:
        raise ValueError(f"equations {first} and {second} are in different branches: nothing passes between them")
    rewritten = _insert_barrier(program, steps[0][:depth], before, after)
    if rewritten is None:
        raise ValueError(f"nothing passes between equations {first} and {second}: neither uses what the other computes")
    return rewritten


def _insert_barrier(program: ClosedJaxpr, outer: Sequence[Step], before: Step, after: Step) -> ClosedJaxpr | None:
    """Return the program with a barrier between two equations of a body; None if nothing passes between them.

    ``outer`` are the steps of the path that leads to the body. ``before`` and ``after`` are the last steps of
    the equations' paths. The operations that hold the body are rebuilt.
    """
    raw = list(program.jaxpr.raw)
    if outer:
        operation, *trailing = raw[outer[0].number]
        body = operation.bodies()[outer[1].body if len(outer) > 1 else before.body]
        inner = _insert_barrier(body, outer[1:], before, after)
        if inner is None:
            return None
        raw[outer[0].number] = (_replace_body(operation, body, inner), *trailing)
    else:
        barrier = _make_barrier(raw, before.number, after.number)
        if barrier is None:
            return None
        raw[after.number : after.number + 1] = barrier
    old = program.jaxpr
    new_jaxpr = Jaxpr(old.constvars, old.invars, old.outvars, raw, old.name, lambda: old.argument_names)
    return ClosedJaxpr(new_jaxpr, program.consts)


def _make_barrier(raw: Sequence[RawEquation], before: int, after: int) -> list[RawEquation] | None:
    """Return a barrier and the equation ``after`` that reads its results; None if nothing passes between the equations.

    ``raw`` are the equations of a body, ``before`` and ``after`` indices of two of them. The barrier's inputs
    are the inputs of the later equation that depend on the earlier one.
    """
    reached = {id(v) for v in raw[before][2]}
    propagate_dependence(raw[before + 1 : after], reached)
    operation, inputs, outputs, code, lasti, origin = raw[after]
    crossing = list({id(x): x for x in inputs if id(x) in reached}.values())
    if not crossing:
        return None
    barrier_outputs = {id(x): Var(x.aval) for x in crossing}
    barrier: RawEquation = (OptimizationBarrier(), crossing, list(barrier_outputs.values()), code, lasti, origin)
    return [barrier, (operation, [barrier_outputs.get(id(x), x) for x in inputs], outputs, code, lasti, origin)]


def _replace_body(operation: Operation, old: ClosedJaxpr, new: ClosedJaxpr) -> Operation:
    """Return the operation with its program ``old`` replaced by ``new``.

    Raises ValueError for an operation that makes its programs itself.
    """

    def replace_value(value: Any) -> Any:
        if value is old:
            return new
        return tuple(map(replace_value, value)) if isinstance(value, tuple) else value

    fields = {field.name: replace_value(getattr(operation, field.name)) for field in dataclasses.fields(operation)}  # type: ignore[arg-type]
    replaced = dataclasses.replace(operation, **fields)  # type: ignore[type-var]
    if all(body is not new for body in replaced.bodies()):
        raise ValueError(f"{operation.name} makes its program itself: equations inside of it cannot be split")
    return replaced


def _resolve_path(program: ClosedJaxpr, path: str) -> tuple[Step, ...]:
    """Return the steps of an equation's path; raise ValueError if the program has no such equation."""
    steps = EquationPath.parse(path).steps
    bodies: Sequence[ClosedJaxpr] = (program,)
    for body, number in steps:
        if body >= len(bodies) or number >= len(bodies[body].jaxpr.raw):
            raise ValueError(f"the program has no equation {path}")
        bodies = bodies[body].jaxpr.raw[number][0].bodies()
    return steps
