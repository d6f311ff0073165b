"""Why XLA fused what it fused, and why not the rest: for a whole program, or for two of its equations."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, Literal, overload

from ... import records
from ...analysis.verdicts import verdict_on
from ...readers.hlo.kernels import read_kernels
from ...readers.hlo.text import read_module
from ...records.paths import EquationPath
from ...xla.explain import explain
from ...xla.targets import Watch, find_target
from ..jobs import Job
from ..producers import Subject, program_of
from ..program import Program, QuestionError
from ..result import Inspection
from .answered import answered
from .why_text import edge_answer, why_text

Edge = tuple[str, str]

_TOO_SOON = "The budget ended before the compiler came to fusion."
_UNREAD = "What the compiler wrote of this program could not be read."


@overload
def why(
    fun: Subject,
    /,
    *args: Any,
    edge: Edge | None = ...,
    target: str = ...,
    budget: float = ...,
    background: Literal[True],
    **kwargs: Any,
) -> Job[Inspection]: ...
@overload
def why(
    fun: Subject,
    /,
    *args: Any,
    edge: Edge | None = ...,
    target: str = ...,
    budget: float = ...,
    background: Literal[False] = False,
    **kwargs: Any,
) -> Inspection: ...
def why(
    fun: Subject,
    /,
    *args: Any,
    edge: Edge | None = None,
    target: str = "cpu",
    budget: float = 30.0,
    background: bool = False,
    **kwargs: Any,
) -> Inspection | Job[Inspection]:
    """The fusion decisions of the compiler about ``fun(*args, **kwargs)``, with its reasons.

    The program is compiled once more, in a process of its own and past every cache, for this machine's CPU or another
    ``target`` (``gpu:h100``, ``tpu:v5e``). ``edge`` names two equations by their paths (``("3", "4")``), or kernels by
    their names, and the answer is about them: XLA's words, plain words, the pass, its estimate of the cost where it has
    one. When ``budget`` (seconds) is over the compiler is stopped, and what it said until then is told.

    The records are ``Traced`` and ``Explained``. With ``background=True`` the answer is a :class:`~.jobs.Job`. Raises
    QuestionError (a ValueError) for an edge that the program does not have, and what
    :func:`~xlascope.inspect.target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.why(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), edge=("0", "1")))
    sin (0, line 1) and mul (1, line 1) in <lambda> for cpu, asked of the whole program in ...
    They are fused: InstructionFusion put sin... (decision ...).
    """
    chosen = find_target(target)
    program = program_of(fun, args, kwargs)
    given, traced = program.input_for(chosen), program.record
    if edge is not None:
        edge = checked_edge(edge, traced)

    def answer(watch: Watch | None) -> Inspection:
        explained, hlo = explain(given, budget=budget, watch=watch)
        if edge is not None:
            explained = _about(edge, explained, hlo, program)
        return Inspection("why", (traced, explained), why_text(traced, explained))

    return answered(answer, background)


def checked_edge(edge: Edge, traced: records.Traced) -> Edge:
    """The edge, if it is two texts, each the path of an equation or what may be a kernel's name."""
    example = "Example: edge=('3', '4')"
    if isinstance(edge, str) or len(edge) != 2 or not all(isinstance(each, str) for each in edge):
        raise QuestionError(f"edge is two paths of equations, not {edge!r}. {example}")
    paths = {each.path for each in traced.jaxpr.walk()}
    for each in edge:
        if EquationPath.meant_by(each) and each not in paths:
            raise QuestionError(f"there is no equation {each!r} in {traced.function}. {example}")
    if edge[0] == edge[1]:
        raise QuestionError(f"edge names the same equation twice, {edge[0]!r}. {example}")
    outer, inner = sorted(map(EquationPath, edge), key=len)
    if inner.within(outer):
        raise QuestionError(f"equation {outer!r} holds equation {inner!r}: there is no edge between them. {example}")
    return edge[0], edge[1]


def _about(edge: Edge, explained: records.Explained, hlo: str, program: Program) -> records.Explained:
    """The explanation with what it says of an edge."""
    if not explained.before:
        return replace(explained, edge=edge, answer=_UNREAD if explained.complete else _TOO_SOON)
    found = verdict_on(edge, explained.decisions, read_module(explained.before))
    if found.outcome == "never" and not explained.complete:
        return replace(explained, edge=edge, answer="No pass had looked at the pair when the budget ended.")
    outcome: Any = found.outcome
    together = _together(edge, hlo)
    if hlo and explained.target == "cpu" and _differs(edge, hlo, program.host.running()):
        outcome = "different"
    elif together and (outcome == "never" or explained.target.startswith("tpu")):  # whose log does not tell all
        outcome = "fused"
    return replace(
        explained,
        edge=edge,
        outcome=outcome,
        about=tuple(each.step for each in found.decisions),
        answer=edge_answer(outcome, found, together, explained, program.record),
    )


def _together(edge: Edge, hlo: str) -> str:
    """The kernel that has both in the end, ``""`` when there is none."""
    if not hlo:
        return ""
    return next((each.name for each in read_kernels(hlo) if set(edge) <= set(each.equations)), "")


def _differs(edge: Edge, hlo: str, runs: str) -> bool:
    """Whether the program that runs here was fused differently around the edge; one that never ran cannot be."""
    if not runs:
        return False
    running = read_kernels(runs)
    paths = {path for each in edge for path in _paths_of(each, running)}
    return _around(paths, read_kernels(hlo)) != _around(paths, running)


def _paths_of(end: str, kernels: Sequence[records.Kernel]) -> Sequence[EquationPath]:
    """The equations of one end of an edge: itself, or those in the kernel of that name."""
    if EquationPath.meant_by(end):
        return (EquationPath(end),)
    return [path for each in kernels if each.name == end for path in each.equations]


def _around(paths: Set[EquationPath], kernels: Sequence[records.Kernel]) -> list[tuple[EquationPath, ...]]:
    return sorted(each.equations for each in kernels if paths & set(each.equations))
