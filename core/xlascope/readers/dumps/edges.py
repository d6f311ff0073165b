"""Which decisions are about two equations, and what came of them: a replay that keeps who is inside of whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ...records.decisions import FusionDecision
from ...records.paths import equation_path
from ..hlo.kernels import running
from ..hlo.text import Computation, Instruction, Module

#: Instructions that only name data, and those that hold no work of an equation (merged constants among them).
_RENAMING = frozenset({"bitcast", "get-tuple-element"})
_NOBODYS = frozenset({"parameter", "constant", "tuple", "get-tuple-element"})


class Verdict(NamedTuple):
    """What became of an edge: ``fused`` or ``refused`` by the decisions given (the last one decided), ``never`` when
    no pass looked at the pair, and ``gone`` when an equation has no instruction left, which ``missing`` lists.

    ``neighbours`` says whether one takes the other's result when fusion begins.
    """

    outcome: Literal["fused", "refused", "never", "gone"]
    decisions: tuple[FusionDecision, ...] = ()
    missing: tuple[str, ...] = ()
    neighbours: bool = False


def instructions_of(module: Module) -> dict[str, set[str]]:
    """The instructions of each equation of a module, by the equation's path; those in fusions count for the fusion.

    A bitcast bears the name of what it renames: it counts for an equation that has nothing else, a reshape.
    """
    found: dict[str, set[str]] = {}
    names_only: dict[str, set[str]] = {}
    for computation in running_computations(module):
        for each in computation.instructions.values():
            kept = names_only if each.opcode in _RENAMING else found
            for path in paths_in(module, each.name, computation.instructions):
                kept.setdefault(path, set()).add(each.name)
    return names_only | found


def running_computations(module: Module) -> list[Computation]:
    """The computations that run: those that no fusion looks into and that are not applied element by element."""
    return list({computation.name: computation for computation, _ in running(module)}.values())


def paths_in(module: Module, name: str, instructions: Mapping[str, Instruction]) -> tuple[str, ...]:
    """The equations of an instruction: its own, and for a fusion those of what is inside."""
    instruction = instructions[name]
    if instruction.opcode in _NOBODYS:
        return ()
    names = [instruction.op_name]
    if instruction.opcode == "fusion":
        for called in instruction.called:
            body = module.computations.get(called)
            if body is not None:
                names += [
                    each.op_name for each in body.instructions.values() if each.opcode not in _NOBODYS | _RENAMING
                ]
    return tuple(dict.fromkeys(path for name in names for path in absolute_paths(name)))


def absolute_paths(op_name: str) -> list[str]:
    """The equations that an instruction's name tells; a name inside of a body that is not inlined yet tells none."""
    found = (equation_path(part) for part in op_name.split(";") if part.startswith("jit("))
    return [path for path in found if path]


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
    while instruction is not None and instruction.opcode in _RENAMING and instruction.operands:
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


def _of(path: str, instructions: Mapping[str, Collection[str]], decisions: Sequence[FusionDecision]) -> set[str]:
    found = {name for key, names in instructions.items() if key == path or key.startswith(f"{path}/") for name in names}
    if found or path[:1].isdigit():
        return found
    if any(path in names for names in instructions.values()):
        return {path}
    inside: set[str] = set()
    for decision, producer, consumer in replayed(decisions):
        if decision.action == "fused" and decision.result == path:
            inside |= producer | consumer
    return inside
