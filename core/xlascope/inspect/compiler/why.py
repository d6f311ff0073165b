"""Fusion decisions of XLA with their reasons, for a whole program or for two of its equations."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, Literal, overload

from ... import records
from ...analysis.verdicts import find_verdict
from ...readers.hlo.kernels import read_kernels
from ...readers.hlo.text import read_module
from ...records.paths import EquationPath
from ...xla.explain import explain_fusion
from ...xla.targets import CompileProgress, find_target
from ..jobs import Job
from ..producers import Subject, program_of
from ..program import Program, QuestionError
from ..result import Inspection
from .background import run_or_start_job
from .why_text import edge_text, why_text

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
    """Explain the fusion decisions of the compiler about ``fun(*args, **kwargs)``.

    The program is compiled once more, in a subprocess and without caches, for this machine's CPU or another
    ``target`` (``gpu:h100``, ``tpu:v5e``). ``edge`` names two equations by their paths (``("3", "4")``), or
    kernels by their names, and the answer is about them: XLA's reason, an explanation in plain words, the pass,
    and its cost estimate if it has one. When ``budget`` (seconds) is over the compiler is stopped, and the answer
    has what it logged until then.

    The records are ``Traced`` and ``Explained``. With ``background=True`` the answer is a :class:`~.jobs.Job`.
    Raises QuestionError (a ValueError) for an edge that the program does not have, and what
    :func:`~xlascope.inspect.target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.why(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), edge=("0", "1")))
    sin (0, line 1) and mul (1, line 1) in <lambda> for cpu, asked of the whole program in ...
    They are fused: InstructionFusion put sin... (decision ...).
    """
    resolved_target = find_target(target)
    program = program_of(fun, args, kwargs)
    compiler_input, traced = program.input_for(resolved_target), program.record
    if edge is not None:
        edge = check_edge(edge, traced)

    def answer(watch: CompileProgress | None) -> Inspection:
        explained, hlo = explain_fusion(compiler_input, budget=budget, watch=watch)
        if edge is not None:
            explained = _explain_edge(edge, explained, hlo, program)
        return Inspection("why", (traced, explained), why_text(traced, explained))

    return run_or_start_job(answer, background)


def check_edge(edge: Edge, traced: records.Traced) -> Edge:
    """Return the edge if it is two equation paths or kernel names; raise QuestionError otherwise.

    Two paths have to exist and to differ, and neither equation may contain the other. Names of kernels are not
    checked.
    """
    example = "Example: edge=('3', '4')"
    if isinstance(edge, str) or len(edge) != 2 or not all(isinstance(item, str) for item in edge):
        raise QuestionError(f"edge is two paths of equations, not {edge!r}. {example}")
    paths = {item.path for item in traced.jaxpr.walk()}
    for item in edge:
        if EquationPath.meant_by(item) and item not in paths:
            raise QuestionError(f"there is no equation {item!r} in {traced.function}. {example}")
    if edge[0] == edge[1]:
        raise QuestionError(f"edge names the same equation twice, {edge[0]!r}. {example}")
    outer, inner = sorted(map(EquationPath, edge), key=len)
    if inner.within(outer):
        raise QuestionError(f"equation {outer!r} holds equation {inner!r}: there is no edge between them. {example}")
    return edge[0], edge[1]


def _explain_edge(edge: Edge, explained: records.Explained, hlo: str, program: Program) -> records.Explained:
    """Return ``explained`` completed by whether and why the compiler fused the two ends of ``edge``.

    ``edge`` are two equation paths or kernel names. Sets ``edge``, ``answer`` (the text), ``outcome``, and ``about``
    (the steps of the fusion decisions that concern the edge). ``explained`` has all fusion decisions of ``program``;
    ``hlo`` is the optimized HLO of that compilation, ``""`` if the time budget ended before. ``outcome`` and ``about``
    stay empty if no decision about the edge could be read.
    """
    if not explained.before:
        return replace(explained, edge=edge, answer=_UNREAD if explained.complete else _TOO_SOON)
    verdict = find_verdict(edge, explained.decisions, read_module(explained.before))
    if verdict.outcome == "never" and not explained.complete:
        return replace(explained, edge=edge, answer="No pass had looked at the pair when the budget ended.")
    outcome: Any = verdict.outcome
    kernel_name = _common_kernel(edge, hlo)
    if hlo and explained.target == "cpu" and _is_fused_differently(edge, hlo, program.host.running()):
        outcome = "different"
    elif kernel_name and (outcome == "never" or explained.target.startswith("tpu")):  # a TPU's log is incomplete
        outcome = "fused"
    return replace(
        explained,
        edge=edge,
        outcome=outcome,
        about=tuple(decision.step for decision in verdict.decisions),
        answer=edge_text(outcome, verdict, kernel_name, explained, program.record),
    )


def _common_kernel(edge: Edge, hlo: str) -> str:
    """Return the name of the kernel in optimized HLO that contains both equations, ``""`` if there is none."""
    if not hlo:
        return ""
    return next((kernel.name for kernel in read_kernels(hlo) if set(edge) <= set(kernel.equations)), "")


def _is_fused_differently(edge: Edge, hlo: str, running_hlo: str) -> bool:
    """Return whether the executable that runs here was fused differently around the edge.

    ``hlo`` is the optimized HLO of the compilation that was explained, ``running_hlo`` that of the executable (``""``
    if it never ran: then False).
    """
    if not running_hlo:
        return False
    running_kernels = read_kernels(running_hlo)
    paths = {path for end in edge for path in _paths_of(end, running_kernels)}
    return _equation_groups(paths, read_kernels(hlo)) != _equation_groups(paths, running_kernels)


def _paths_of(end: str, kernels: Sequence[records.Kernel]) -> Sequence[EquationPath]:
    """Return the paths of the equations that one end of an edge stands for.

    ``end`` is the path of one equation, or the name of one of the ``kernels`` and stands for all in it.
    """
    if EquationPath.meant_by(end):
        return (EquationPath(end),)
    return [path for kernel in kernels if kernel.name == end for path in kernel.equations]


def _equation_groups(paths: Set[EquationPath], kernels: Sequence[records.Kernel]) -> list[tuple[EquationPath, ...]]:
    return sorted(kernel.equations for kernel in kernels if paths & set(kernel.equations))
