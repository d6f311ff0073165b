"""Text about results kept in memory that XLA would otherwise recompute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.formatting import plural
from ..records import Equation, EquationPath, Traced, Variable

#: Equations named in a line.
_MAX_NAMES = 8


def materialization_line(paths: Sequence[EquationPath]) -> list[str]:
    """Return one line that names the equations whose results are kept in memory, as a list; empty if there are none."""
    if not paths:
        return []
    names = ", ".join([*paths[:_MAX_NAMES], *(["…"] if len(paths) > _MAX_NAMES else [])])
    return [f"{_results(paths)} kept in memory, which XLA would compute again in several kernels: equations {names}"]


def materialization_text(traced: Traced, values: Mapping[EquationPath, int], reason: str = "") -> str:
    """Return a line for each equation whose result is kept in memory, with the kernels that would recompute it.

    ``values`` are the numbers of these kernels (0 if unknown) by equation. If there are none, the text gives
    ``reason`` (``""`` if keeping was possible and no result was worth it).
    """
    equations = {item.path: item for item in traced.jaxpr.walk()}
    count_text = plural(len(equations), "equation")
    if not values:
        text = f"{traced.function}: nothing is kept that would be computed again ({count_text})"
        return f"{text}: {reason}" if reason else text
    titles = {item.file: item.title for item in traced.sources}
    levels = (traced.jaxpr, *(body for item in equations.values() for body in item.bodies))
    variables = {name: variable for level in levels for name, variable in level.variables.items()}
    lines = [f"{traced.function}: {_results(values)} kept of {count_text}, otherwise computed in so many kernels each:"]
    for path, kernels in values.items():
        lines.append(f"  {kernels or '?'} × {path} {_describe_equation(equations[path], variables, titles)}")
    return "\n".join(lines)


def _describe_equation(equation: Equation, variables: Mapping[str, Variable], titles: Mapping[str, str]) -> str:
    """Return an equation's operation, the type of its result, and its source line.

    ``variables`` are those of all bodies by name, ``titles`` the titles of source files.
    """
    result, source = variables.get(equation.outputs[0]), equation.source
    type_text = "" if result is None else f" {result.type_text}"
    location = "" if source is None else f", {titles.get(source.file, source.file)}:{source.line}"
    return f"{equation.operation}{type_text}{location}"


def _results(materialized: Sequence[EquationPath] | Mapping[EquationPath, int]) -> str:
    return "1 result is" if len(materialized) == 1 else f"{len(materialized)} results are"
