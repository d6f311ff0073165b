"""Records of what a compiler reports about itself: fusion decisions with their reasons, and passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .paths import EquationPath


@dataclass(frozen=True, slots=True)
class FusionDecision:
    """One step of a fusion pass: it fused ``producer`` into ``consumer``, giving ``result``, or refused to.

    Names are those of HLO instructions. ``reason`` is XLA's text and ``plain`` our explanation (``""`` for
    none); ``fused_seconds`` and ``unfused_seconds`` are XLA's estimates of the time of both with and without
    fusion, None where the pass makes none.
    """

    step: int
    pass_name: str
    action: Literal["fused", "refused"]
    producer: str
    consumer: str
    result: str = ""
    reason: str = ""
    plain: str = ""
    fused_seconds: float | None = None
    unfused_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """Separate compilation that recorded the compiler's fusion decisions and their reasons.

    ``target`` is what it was compiled for (``cpu``, ``gpu:h100``), ``module`` names what was compiled (the
    whole program, or which part of it), ``before`` is its HLO just before the first of those decisions, and
    ``decisions`` are in chronological order. ``complete`` is False when the time budget ended first, and
    ``note`` says what is missing or cannot be compared.

    For a question about two equations, ``edge`` is their paths, ``outcome`` the result (``never``: no pass
    considered the pair; ``gone``: one of them had no instruction any more; ``different``: the program that
    ran was fused differently, so that no reason can be given), ``about`` the steps that concern them, the
    deciding one last, and ``answer`` a summary in a sentence or two.
    """

    program: int
    function: str
    time: float
    seconds: float
    target: str
    module: str
    before: str
    decisions: tuple[FusionDecision, ...]
    complete: bool
    note: str = ""
    edge: tuple[str, ...] = ()
    outcome: Literal["", "fused", "refused", "never", "gone", "different"] = ""
    about: tuple[int, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Pass:
    """Compiler pass that changed the program.

    ``added``, ``removed`` and ``changed`` count instructions of the whole module, matched by name;
    ``instructions`` is their number after the pass. ``diff`` is a unified diff without context; if it is
    shortened, it says so. ``gone`` are the paths of the equations that have no instruction any more, and
    ``lines`` has for each line of ``diff`` the paths of the equations in its metadata (empty without such
    metadata).
    """

    step: int
    name: str
    pipeline: str
    instructions: int
    added: int
    removed: int
    changed: int
    diff: str
    gone: tuple[EquationPath, ...] = ()
    lines: tuple[tuple[EquationPath, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Passes:
    """Record of a program after each compiler pass, from a separate compilation for ``target``.

    Passes that changed nothing are left out. ``first`` is the HLO before the first pass, and ``seen`` are the
    paths of the equations that had an instruction after any pass. ``complete`` is False when the time budget
    ended first.
    """

    program: int
    function: str
    time: float
    seconds: float
    target: str
    module: str
    first: str
    passes: tuple[Pass, ...]
    complete: bool
    note: str = ""
    seen: tuple[EquationPath, ...] = ()
