"""What a program's results need: the equations they depend on, and the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, RawEquation
from ..ir.operation import Operation

Used = tuple[bool, ...]


def dce_program(program: ClosedJaxpr, used: Sequence[bool]) -> tuple[ClosedJaxpr, Used]:
    """The program that computes only the marked results, of only the operands that they need; and which these are.

    A program that needs everything is returned as it is.
    """
    key = ("dce", tuple(used))
    found = program.derived.get(key)
    if found is None:
        found = program.derived[key] = _dce(program, used)
    return found


def _dce(program: ClosedJaxpr, used: Sequence[bool]) -> tuple[ClosedJaxpr, Used]:
    jaxpr = program.jaxpr
    outvars = [x for x, use in zip(jaxpr.outvars, used, strict=True) if use]
    needed, raw = needed_equations(jaxpr.raw, outvars)
    kept = tuple(id(v) in needed for v in jaxpr.invars)
    consts = [id(v) in needed for v in jaxpr.constvars]
    whole = len(raw) == len(jaxpr.raw) and all(a is b for a, b in zip(raw, jaxpr.raw, strict=True))
    if all(used) and all(kept) and all(consts) and whole:
        return program, kept
    names = jaxpr.argument_names or ("",) * len(jaxpr.invars)
    made = Jaxpr(
        [v for v, keep in zip(jaxpr.constvars, consts, strict=True) if keep],
        [v for v, keep in zip(jaxpr.invars, kept, strict=True) if keep],
        outvars,
        raw,
        jaxpr.name,
        [name for name, keep in zip(names, kept, strict=False) if keep],
    )
    return ClosedJaxpr(made, [c for c, keep in zip(program.consts, consts, strict=True) if keep]), kept


def restricted_program(program: ClosedJaxpr, used: Used, kept: Used) -> ClosedJaxpr:
    """The program without constants that computes the used results of the kept operands, needed or not."""
    key = ("restricted", used, kept)
    found = program.derived.get(key)
    if found is None:
        needed = dce_program(program, used)[0].jaxpr
        invars = [v for v, keep in zip(program.jaxpr.invars, kept, strict=True) if keep]
        found = program.derived[key] = ClosedJaxpr(Jaxpr((), invars, needed.outvars, needed.raw, needed.name))
    return found


def needed_equations(
    raw: Sequence[RawEquation], outvars: Sequence[Any], *, effects: bool = True
) -> tuple[set[int], list[RawEquation]]:
    """The ids of the variables that ``outvars`` depend on, and the equations that make them, in order.

    Equations that do something besides giving results are kept, with what they depend on, unless ``effects`` is false.
    """
    needed = {id(x) for x in outvars if x.__class__ is not Literal}
    kept: list[RawEquation] = []
    for equation in reversed(raw):
        operation, inputs, outputs, *rest = equation
        use = [id(v) in needed for v in outputs]
        if not any(use) and not (effects and operation.effects):
            continue
        operands: Sequence[bool] = (True,) * len(inputs)
        if operation.dce_rule is not None and not all(use):
            operation, operands, results = operation.dce_rule(tuple(use))
            inputs = [x for x, keep in zip(inputs, operands, strict=True) if keep]
            outputs = [v for v, keep in zip(outputs, results, strict=True) if keep]
            equation = (operation, inputs, outputs, *rest)
        needed.update(id(x) for x in inputs if x.__class__ is not Literal)
        kept.append(equation)
    return needed, kept[::-1]


def fixed_point(step: Callable[[Used], Sequence[bool]], marks: Used) -> Used:
    """The smallest marks that hold the given ones and what ``step`` makes of them: how marks spread around a loop."""
    while True:
        grown = tuple(a or b for a, b in zip(marks, step(marks), strict=True))
        if grown == marks:
            return marks
        marks = grown


def dependence(program: ClosedJaxpr, marked: Sequence[bool]) -> Used:
    """Which results of a program depend on the marked operands."""
    key = ("dependence", tuple(marked))
    found = program.derived.get(key)
    if found is None:
        jaxpr = program.jaxpr
        reached = {id(v) for v, mark in zip(jaxpr.invars, marked, strict=True) if mark}
        spread_dependence(jaxpr.raw, reached)
        found = program.derived[key] = tuple(id(x) in reached for x in jaxpr.outvars)
    return found


def spread_dependence(raw: Sequence[RawEquation], reached: set[int]) -> None:
    """Add to ``reached`` the ids of all variables that depend on those in it."""
    for operation, inputs, outputs, *_ in raw:
        marks = [id(x) in reached for x in inputs]
        if any(marks):
            reached.update(
                id(v)
                for v, mark in zip(outputs, results_depending(operation, marks, len(outputs)), strict=True)
                if mark
            )


def results_depending(operation: Operation, marks: Sequence[bool], count: int) -> list[bool]:
    """Which of the ``count`` results of an operation depend on the marked operands."""
    found = operation.dependence(marks)
    return [any(marks)] * count if found is None else found
