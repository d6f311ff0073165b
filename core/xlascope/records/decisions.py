"""What a compiler told of itself, as records: its fusion decisions with their reasons, and its passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .paths import EquationPath


@dataclass(frozen=True, slots=True)
class FusionDecision:
    """One step of a fusion pass: it fused ``producer`` into ``consumer``, giving ``result``, or refused to.

    Names are those of HLO instructions. ``reason`` is in XLA's words and ``plain`` in ours (``""`` where there are none
    to give); the times are XLA's estimates for the unit fused and not, in seconds, None where the pass makes none.
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
    """A compilation of its own, made to hear the compiler's fusion decisions and their reasons.

    ``target`` is what it was compiled for (``cpu``, ``gpu:h100``), ``module`` names what was compiled (the whole
    program, or which part of it), ``before`` is its HLO just before the first of those decisions, and ``decisions`` are
    in the order in which they fell. ``complete`` is False when the budget ended first, and ``note`` says what is
    missing or cannot be compared.

    Where it was asked about two equations, ``edge`` is their paths, ``outcome`` what became of them (``never``: no pass
    looked at the pair; ``gone``: one of them had no instruction any more; ``different``: the program that ran was fused
    differently here, so that no reason can be given), ``about`` the steps that are about them, the one that decided
    last, and ``answer`` says so in a sentence or two.
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
    """One pass of the compiler that changed the program.

    ``added``, ``removed`` and ``changed`` count instructions by name, in the whole module; ``instructions`` counts
    those there are afterwards. ``diff`` says which, as a unified diff without context, shortened where it says so.
    ``gone`` are the paths of the equations that no instruction belongs to any more, and ``lines`` for each line of
    ``diff`` those of the equations that it belongs to by its own name (none, where no name says it).
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
    """A program pass by pass, from a compilation of its own for ``target``; passes that changed nothing are left out.

    ``first`` is the HLO that the first pass was given, and ``seen`` are the paths of the equations that had an
    instruction after any pass. ``complete`` is False when the budget ended first.
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
