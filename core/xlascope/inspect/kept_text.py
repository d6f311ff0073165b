"""What is kept in memory that XLA would compute again, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.figures import plural
from ..records import Equation, EquationPath, Traced, Variable

#: Equations named in a line.
_MOST_NAMES = 8


def kept_line(kept: Sequence[EquationPath]) -> list[str]:
    """Which equations' results are kept, and why, in a line; none when none are."""
    if not kept:
        return []
    named = ", ".join([*kept[:_MOST_NAMES], *(["…"] if len(kept) > _MOST_NAMES else [])])
    return [f"{_results(kept)} kept in memory, which XLA would compute again in several kernels: equations {named}"]


def kept_text(traced: Traced, values: Mapping[EquationPath, int], because: str = "") -> str:
    """The equations whose results are kept, a line each, and in how many kernels each would be computed otherwise;
    where none are, the reason, if there is another than that none is worth it.
    """
    equations = {each.path: each for each in traced.jaxpr.walk()}
    many = plural(len(equations), "equation")
    if not values:
        told = f"{traced.function}: nothing is kept that would be computed again ({many})"
        return f"{told}: {because}" if because else told
    titles = {each.file: each.title for each in traced.sources}
    levels = (traced.jaxpr, *(body for each in equations.values() for body in each.bodies))
    variables = {name: variable for level in levels for name, variable in level.variables.items()}
    lines = [f"{traced.function}: {_results(values)} kept of {many}, otherwise computed in so many kernels each:"]
    for path, kernels in values.items():
        lines.append(f"  {kernels or '?'} × {path} {_told(equations[path], variables, titles)}")
    return "\n".join(lines)


def _told(equation: Equation, variables: Mapping[str, Variable], titles: Mapping[str, str]) -> str:
    """An equation's operation, the type of its result, and the user's line."""
    result, source = variables.get(equation.outputs[0]), equation.source
    type_text = "" if result is None else f" {result.type_text}"
    place = "" if source is None else f", {titles.get(source.file, source.file)}:{source.line}"
    return f"{equation.operation}{type_text}{place}"


def _results(kept: Sequence[EquationPath] | Mapping[EquationPath, int]) -> str:
    return "1 result is" if len(kept) == 1 else f"{len(kept)} results are"
