"""Which decisions are about two equations, and what came of them: a replay that keeps who is inside of whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Literal, NamedTuple

from ..readers.hlo.equations import RENAMING, instructions_of
from ..readers.hlo.text import Computation, Module
from ..records.decisions import FusionDecision
from ..records.paths import EquationPath


class Verdict(NamedTuple):
    """What became of an edge: ``fused`` or ``refused`` by the decisions given (the last one decided), ``never`` when
    no pass looked at the pair, and ``gone`` when an equation has no instruction left, which ``missing`` lists.

    ``neighbours`` says whether one takes the other's result when fusion begins.
    """

    outcome: Literal["fused", "refused", "never", "gone"]
    decisions: tuple[FusionDecision, ...] = ()
    missing: tuple[str, ...] = ()
    neighbours: bool = False


def verdict_on(edge: tuple[str, str], decisions: Sequence[FusionDecision], module: Module) -> Verdict:
    """What became of the edge between two equations; a path stands for the equations inside it too.

    ``module`` is the HLO before the first decision. Kernels may be named instead of equations.
    """
    instructions = instructions_of(module)
    first, second = (_of(path, instructions, decisions) for path in edge)
    missing = tuple(path for path, found in zip(edge, (first, second), strict=True) if not found)
    if missing:
        return Verdict("gone", missing=missing)
    if first & second:
        return Verdict("fused", neighbours=True)
    between, sources = _between(module, first, second)
    neighbours = bool(sources)
    about: list[FusionDecision] = []
    for decision, producer, consumer in replayed(decisions):
        united = producer | consumer
        if decision.action == "fused" and united & first and united & second:
            return Verdict("fused", (*about, decision), neighbours=neighbours)
        forth = producer & (first | between) and consumer & (second | between)
        back = producer & (second | between) and consumer & (first | between)
        if decision.action == "refused" and (forth or back):
            about.append(decision)
    if neighbours and not about:  # this pass takes a producer into all of its users or into none
        told = (each for each, producer, _ in replayed(decisions) if producer & sources)
        about = [each for each in told if each.action == "refused" and each.pass_name == "PriorityFusion"]
    return Verdict("refused", tuple(about), (), True) if neighbours and about else Verdict("never", (), (), neighbours)


def _between(module: Module, first: set[str], second: set[str]) -> tuple[set[str], set[str]]:
    """The instructions that only rename the one's result for the other, and those whose results are taken."""
    names: set[str] = set()
    sources: set[str] = set()
    for start, end in ((first, second), (second, first)):
        for computation in module.computations.values():
            for each in computation.instructions.values():
                if each.name in end:
                    for operand in each.operands:
                        passed, source = _renamed(computation, operand)
                        if source in start:
                            names |= passed
                            sources.add(source)
    return names, sources


def _renamed(computation: Computation, name: str) -> tuple[set[str], str]:
    """Through bitcasts and the like, back to what computes the value: their names, and its name."""
    passed: set[str] = set()
    instruction = computation.instructions.get(name)
    while instruction is not None and instruction.opcode in RENAMING and instruction.operands:
        passed.add(instruction.name)
        name = instruction.operands[0]
        instruction = computation.instructions.get(name)
    return passed, name


def replayed(decisions: Iterable[FusionDecision]) -> Iterable[tuple[FusionDecision, set[str], set[str]]]:
    """Each decision with the instructions that its producer and its consumer hold at that moment."""
    groups: dict[str, set[str]] = {}
    unnamed: set[str] = set()
    for each in decisions:
        producer, consumer = (_group(name, groups, unnamed) for name in (each.producer, each.consumer))
        yield each, producer, consumer
        if each.action == "fused":
            united = producer | consumer
            groups[each.result or each.consumer] = united
            if not each.result:  # the next name that nobody knows is that of what came of it
                unnamed = united


def _group(name: str, groups: dict[str, set[str]], unnamed: set[str]) -> set[str]:
    known = groups.get(name)
    if known is None and unnamed and name.partition(".")[0].endswith("fusion"):
        groups[name] = known = set(unnamed)
        unnamed.clear()
    return {name} if known is None else known


def _of(end: str, instructions: Mapping[EquationPath, Set[str]], decisions: Sequence[FusionDecision]) -> set[str]:
    """The instructions of one end of an edge: an equation and those inside of it, or a kernel of that name."""
    if EquationPath.meant_by(end):
        return {name for path, names in instructions.items() if path == end or path.within(end) for name in names}
    if any(end in names for names in instructions.values()):
        return {end}
    inside: set[str] = set()
    for decision, producer, consumer in replayed(decisions):
        if decision.action == "fused" and decision.result == end:
            inside |= producer | consumer
    return inside
