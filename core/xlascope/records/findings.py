"""Records of the doctor: a program's findings, each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from .paths import EquationPath
from .programs import SourceRange


@dataclass(frozen=True, slots=True)
class Measure:
    """Number that a finding is based on.

    Its name, its value in ``unit`` (``s``, ``B``, ``FLOP``, ``""`` for a count or a fraction), and its
    ``source``: a clock, the profiler, the compiler's plan, or our own estimate.
    """

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Problem of a program, and how to fix it.

    ``rule`` names the rule that found it, ``sentence`` describes the problem, with its numbers, and
    ``action`` what to do. ``source`` is the user's line (None where it is not known), ``kernel`` the kernel
    and ``equation`` the equation where it occurs. ``share`` is the fraction of the cost attributable to it,
    from 0 to 1, by which findings are ordered; ``seconds`` is the attributable time (0.0 for memory): per
    call, or in total for the time of tracing and compiling. ``what_if`` is a change to try, a kind of
    :func:`xlascope.inspect.what_if` and its values (``("dtype", "bfloat16")``); empty where there is none.
    """

    rule: str
    sentence: str
    action: str
    share: float
    seconds: float
    source: SourceRange | None = None
    kernel: str = ""
    equation: EquationPath | None = None
    evidence: tuple[Measure, ...] = ()
    what_if: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Diagnosis of a program: its findings, the most important first; empty if there are none.

    ``rules`` are the names of the rules that were evaluated, and ``notes`` say what could not be judged, and why.
    """

    program: int
    function: str
    time: float
    findings: tuple[Finding, ...]
    rules: tuple[str, ...]
    notes: tuple[str, ...] = ()
