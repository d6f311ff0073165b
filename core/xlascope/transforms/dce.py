"""Dead code elimination, and the dependence of results on operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, RawEquation
from ..ir.operation import Operation
from ..xla.system.hooks import HOOKS

Mask = tuple[bool, ...]


def dce_program(program: ClosedJaxpr, used: Sequence[bool]) -> tuple[ClosedJaxpr, Mask]:
    """Return the program that computes only the results marked in ``used``, and the mask of the operands that it takes.

    A program that needs all of its operands and equations for all of its results is returned as it is.
    """
    key = ("dce", tuple(used))
    entry = program.derived.get(key)
    if entry is None:
        entry = program.derived[key] = _eliminate_dead_code(program, used)
    return entry


def _eliminate_dead_code(program: ClosedJaxpr, used: Sequence[bool]) -> tuple[ClosedJaxpr, Mask]:
    """Return the program for the used results, and the mask of its operands, as :func:`dce_program` does uncached."""
    jaxpr = program.jaxpr
    outvars = [x for x, use in zip(jaxpr.outvars, used, strict=True) if use]
    needed, raw = find_live_equations(jaxpr.raw, outvars)
    used_inputs = tuple(id(v) in needed for v in jaxpr.invars)
    consts = [id(v) in needed for v in jaxpr.constvars]
    is_unchanged = len(raw) == len(jaxpr.raw) and all(a is b for a, b in zip(raw, jaxpr.raw, strict=True))
    if all(used) and all(used_inputs) and all(consts) and is_unchanged:
        return program, used_inputs
    names = jaxpr.argument_names or ("",) * len(jaxpr.invars)
    live_jaxpr = Jaxpr(
        [v for v, keep in zip(jaxpr.constvars, consts, strict=True) if keep],
        [v for v, keep in zip(jaxpr.invars, used_inputs, strict=True) if keep],
        outvars,
        raw,
        jaxpr.name,
        [name for name, keep in zip(names, used_inputs, strict=False) if keep],
    )
    return ClosedJaxpr(live_jaxpr, [c for c, keep in zip(program.consts, consts, strict=True) if keep]), used_inputs


def drop_dead_equations(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program without the equations that no result and no effect needs, in its bodies too.

    Its operands stay.
    """
    jaxpr = program.jaxpr
    _, raw = find_live_equations(jaxpr.raw, jaxpr.outvars, in_bodies=True)
    live = Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, raw, jaxpr.name, jaxpr.argument_names)
    return ClosedJaxpr(live, program.consts)


HOOKS.eliminate_dead_code = drop_dead_equations


def restrict_program(program: ClosedJaxpr, used: Mask, used_inputs: Mask) -> ClosedJaxpr:
    """Return the program that computes the results marked in ``used`` from the operands marked in ``used_inputs``.

    These operands remain whether or not they are needed. The program must have no constants.
    """
    key = ("restricted", used, used_inputs)
    restricted = program.derived.get(key)
    if restricted is None:
        needed = dce_program(program, used)[0].jaxpr
        invars = [v for v, keep in zip(program.jaxpr.invars, used_inputs, strict=True) if keep]
        restricted = program.derived[key] = ClosedJaxpr(Jaxpr((), invars, needed.outvars, needed.raw, needed.name))
    return restricted


def find_live_equations(
    raw: Sequence[RawEquation], outvars: Sequence[Any], *, effects: bool = True, in_bodies: bool = False
) -> tuple[set[int], list[RawEquation]]:
    """Return the ids of the variables that ``outvars`` depend on, and the equations that compute them, in order.

    ``raw`` are the equations of a program. Unless ``effects`` is false, equations with effects are live as
    well, and what they depend on. Programs that equations hold are reduced where a result is unused, with
    ``in_bodies`` all of them.
    """
    needed = {id(x) for x in outvars if x.__class__ is not Literal}
    live: list[RawEquation] = []
    for equation in reversed(raw):
        operation, inputs, outputs, *trailing = equation
        use = [id(v) in needed for v in outputs]
        if not any(use) and not (effects and operation.effects):
            continue
        operands: Sequence[bool] = (True,) * len(inputs)
        if operation.dce_rule is not None and (in_bodies or not all(use)):
            operation, operands, results = operation.dce_rule(tuple(use))
            inputs = [x for x, keep in zip(inputs, operands, strict=True) if keep]
            outputs = [v for v, keep in zip(outputs, results, strict=True) if keep]
            equation = (operation, inputs, outputs, *trailing)
        needed.update(id(x) for x in inputs if x.__class__ is not Literal)
        live.append(equation)
    return needed, live[::-1]


def fixed_point(step: Callable[[Mask], Sequence[bool]], marks: Mask) -> Mask:
    """Return the least mask that includes ``marks`` and that ``step`` does not grow, as in the analysis of a loop.

    ``step`` maps the mask of a loop's carry to the mask after one iteration.
    """
    while True:
        merged = tuple(a or b for a, b in zip(marks, step(marks), strict=True))
        if merged == marks:
            return marks
        marks = merged


def find_dependent_results(program: ClosedJaxpr, marked: Sequence[bool]) -> Mask:
    """Return the mask of the results of a program that depend on the operands marked in ``marked``."""
    key = ("dependence", tuple(marked))
    dependent = program.derived.get(key)
    if dependent is None:
        jaxpr = program.jaxpr
        reached = {id(v) for v, mark in zip(jaxpr.invars, marked, strict=True) if mark}
        propagate_dependence(jaxpr.raw, reached)
        dependent = program.derived[key] = tuple(id(x) in reached for x in jaxpr.outvars)
    return dependent


def propagate_dependence(raw: Sequence[RawEquation], reached: set[int]) -> None:
    """Add to ``reached`` the ids of all variables of the equations ``raw`` that depend on those in it."""
    for operation, inputs, outputs, *_ in raw:
        marks = [id(x) in reached for x in inputs]
        if any(marks):
            reached.update(
                id(v)
                for v, mark in zip(outputs, find_dependent_op_results(operation, marks, len(outputs)), strict=True)
                if mark
            )


def find_dependent_op_results(operation: Operation, marks: Sequence[bool], count: int) -> list[bool]:
    """Return for each result of an operation whether it depends on the operands marked in ``marks``.

    ``count`` is the number of results.
    """
    flags = operation.dependence(marks)
    return [any(marks)] * count if flags is None else flags
