"""Names, types and lines of probed values, from the record of their program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...records import Equation, EquationPath, Jaxpr, ProbedValue, Variable


def complete_values(jaxpr: Jaxpr, values: Iterable[ProbedValue]) -> tuple[ProbedValue, ...]:
    """Return the values with the names, types and lines that the record of their program has."""
    levels = dict(_levels(jaxpr))
    names_by_position = {"argument": (*jaxpr.constants, *jaxpr.inputs), "output": jaxpr.outputs}
    completed = []
    for value in values:
        if value.path:
            equation, level = levels[value.path]
            name = (equation.outputs if value.position == "result" else equation.inputs)[value.index]
            source = equation.source
        else:
            level, source, name = jaxpr, None, names_by_position[value.position][value.index]
        variable = level.variables.get(name) or Variable(name, (), "", False)
        completed.append(
            replace(value, name=name, shape=variable.shape, dtype=variable.dtype, label=variable.label, source=source)
        )
    return tuple(completed)


def _levels(jaxpr: Jaxpr) -> Iterator[tuple[EquationPath, tuple[Equation, Jaxpr]]]:
    """Yield each equation with the program or body whose equation it is."""
    for equation in jaxpr.equations:
        yield equation.path, (equation, jaxpr)
        for body in equation.bodies:
            yield from _levels(body)
