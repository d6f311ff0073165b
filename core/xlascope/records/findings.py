"""What the doctor found, as records: a program's findings, each with the numbers that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from .paths import EquationPath
from .programs import SourceRange


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that a finding rests on: its name, its value in ``unit`` (``s``, ``B``, ``FLOP``, ``""`` for a count or
    a part of one), and ``source``, who says so: a clock, the profiler, the compiler's plan, or our own count.
    """

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a program, and what to do about it.

    ``rule`` names the rule that found it, ``sentence`` says what is wrong, with its numbers, and ``action`` the one
    thing to do. ``source`` is the user's line (None where it is not known), ``kernel`` the kernel and ``equation`` the
    equation where it shows. ``share`` is the part of what is spent that is at stake, from 0 to 1, by which findings are
    in order; ``seconds`` is the time at stake (0.0 where it is memory that is): of a call, or in all if it is the time
    of tracing and compiling. ``what_if`` is the change by which it can be tried, a kind of
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
    """A program as the doctor sees it: its findings, what matters most first. None of them is an answer as well.

    ``rules`` are the names of the rules that were asked, and ``notes`` say what could not be judged, and why.
    """

    program: int
    function: str
    time: float
    findings: tuple[Finding, ...]
    rules: tuple[str, ...]
    notes: tuple[str, ...] = ()
