"""Fusion decisions about two equations and their outcome, found by replaying which instructions each kernel holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Literal, NamedTuple

from ..readers.hlo.equations import RENAMING_OPCODES, instructions_by_equation
from ..readers.hlo.text import Computation, Module
from ..records.decisions import FusionDecision
from ..records.paths import EquationPath


class Verdict(NamedTuple):
    """Outcome of an edge between two equations.

    The outcome is ``fused`` or ``refused`` by ``decisions`` (the last one decided), ``never`` when no pass
    considered the pair, and ``gone`` when an equation has no instruction left, which ``missing`` lists.
    ``neighbours`` says whether one uses the other's result when fusion begins.
    """

    outcome: Literal["fused", "refused", "never", "gone"]
    decisions: tuple[FusionDecision, ...] = ()
    missing: tuple[str, ...] = ()
    neighbours: bool = False


def find_verdict(edge: tuple[str, str], decisions: Sequence[FusionDecision], module: Module) -> Verdict:
    """Return the outcome of the edge between two equations, given by their paths.

    ``module`` is the HLO before the first decision. Kernels may be named instead of equations. ``decisions`` are all
    fusion decisions in order. A path includes the equations inside it.
    """
    instructions = instructions_by_equation(module)
    first, second = (_instructions_at(path, instructions, decisions) for path in edge)
    missing = tuple(path for path, names in zip(edge, (first, second), strict=True) if not names)
    if missing:
        return Verdict("gone", missing=missing)
    if first & second:
        return Verdict("fused", neighbours=True)
    between, sources = _find_renames_between(module, first, second)
    neighbours = bool(sources)
    about: list[FusionDecision] = []
    for decision, producer, consumer in replay_decisions(decisions):
        united = producer | consumer
        if decision.action == "fused" and united & first and united & second:
            return Verdict("fused", (*about, decision), neighbours=neighbours)
        forth = producer & (first | between) and consumer & (second | between)
        back = producer & (second | between) and consumer & (first | between)
        if decision.action == "refused" and (forth or back):
            about.append(decision)
    if neighbours and not about:  # this pass fuses a producer into all of its users or into none
        involving_source = (candidate for candidate, producer, _ in replay_decisions(decisions) if producer & sources)
        about = [
            candidate
            for candidate in involving_source
            if candidate.action == "refused" and candidate.pass_name == "PriorityFusion"
        ]
    return Verdict("refused", tuple(about), (), True) if neighbours and about else Verdict("never", (), (), neighbours)


def _find_renames_between(module: Module, first: set[str], second: set[str]) -> tuple[set[str], set[str]]:
    """Return the instructions that only rename one end's result for the other, and the results that are used.

    ``first`` and ``second`` are the instructions of the two ends of an edge.
    """
    names: set[str] = set()
    sources: set[str] = set()
    for start, end in ((first, second), (second, first)):
        for computation in module.computations.values():
            for instruction in computation.instructions.values():
                if instruction.name in end:
                    for operand in instruction.operands:
                        passed, source = _trace_renames(computation, operand)
                        if source in start:
                            names |= passed
                            sources.add(source)
    return names, sources


def _trace_renames(computation: Computation, name: str) -> tuple[set[str], str]:
    """Follow a value back through instructions that only rename it.

    Returns the names of these instructions, and the name of the instruction that computes the value. ``name`` is the
    instruction to begin with, in ``computation``.
    """
    passed: set[str] = set()
    instruction = computation.instructions.get(name)
    while instruction is not None and instruction.opcode in RENAMING_OPCODES and instruction.operands:
        passed.add(instruction.name)
        name = instruction.operands[0]
        instruction = computation.instructions.get(name)
    return passed, name


def replay_decisions(decisions: Iterable[FusionDecision]) -> Iterable[tuple[FusionDecision, set[str], set[str]]]:
    """Yield (decision, producer, consumer): each decision with the instructions that both kernels hold at that time."""
    groups: dict[str, set[str]] = {}
    unnamed: set[str] = set()
    for decision in decisions:
        producer, consumer = (_find_group(name, groups, unnamed) for name in (decision.producer, decision.consumer))
        yield decision, producer, consumer
        if decision.action == "fused":
            united = producer | consumer
            groups[decision.result or decision.consumer] = united
            if not decision.result:  # the next unknown name is that of this fusion
                unnamed = united


def _find_group(name: str, groups: dict[str, set[str]], unnamed: set[str]) -> set[str]:
    """Return the instructions that the kernel ``name`` holds so far; an instruction that was not fused holds itself.

    ``groups`` are the kernels by name. ``unnamed`` are the instructions of a fusion whose name is not known yet: the
    next new fusion name gets them.
    """
    members = groups.get(name)
    if members is None and unnamed and name.partition(".")[0].endswith("fusion"):
        groups[name] = members = set(unnamed)
        unnamed.clear()
    return {name} if members is None else members


def _instructions_at(
    end: str, instructions: Mapping[EquationPath, Set[str]], decisions: Sequence[FusionDecision]
) -> set[str]:
    """Return the names of the instructions of one end of an edge.

    ``end`` is the path of an equation, which includes those inside it, or the name of an instruction or a kernel.
    ``instructions`` are those of each equation.
    """
    if EquationPath.meant_by(end):
        return {name for path, names in instructions.items() if path == end or path.within(end) for name in names}
    if any(end in names for names in instructions.values()):
        return {end}
    members: set[str] = set()
    for decision, producer, consumer in replay_decisions(decisions):
        if decision.action == "fused" and decision.result == end:
            members |= producer | consumer
    return members
