"""Which instructions of an HLO module belong to which equations, by their own names alone: nothing is inferred."""

from __future__ import annotations

from collections.abc import Mapping

from ...records.op_names import absolute_paths
from ...records.paths import EquationPath
from .kernels import running
from .text import Computation, Instruction, Module

#: Instructions that only name data, and those that hold no work of an equation (merged constants among them).
RENAMING = frozenset({"bitcast", "get-tuple-element"})
_NOBODYS = frozenset({"parameter", "constant", "tuple", "get-tuple-element"})


def instructions_of(module: Module) -> dict[EquationPath, set[str]]:
    """The instructions of each equation of a module, by the equation's path; those in fusions count for the fusion.

    A bitcast bears the name of what it renames: it counts for an equation that has nothing else, a reshape.
    """
    found: dict[EquationPath, set[str]] = {}
    names_only: dict[EquationPath, set[str]] = {}
    for computation in running_computations(module):
        for each in computation.instructions.values():
            kept = names_only if each.opcode in RENAMING else found
            for path in paths_in(module, each.name, computation.instructions):
                kept.setdefault(path, set()).add(each.name)
    return names_only | found


def running_computations(module: Module) -> list[Computation]:
    """The computations that run: those that no fusion looks into and that are not applied element by element."""
    return list({computation.name: computation for computation, _ in running(module)}.values())


def paths_in(module: Module, name: str, instructions: Mapping[str, Instruction]) -> tuple[EquationPath, ...]:
    """The equations of an instruction: its own, and for a fusion those of what is inside."""
    instruction = instructions[name]
    if instruction.opcode in _NOBODYS:
        return ()
    names = [instruction.op_name]
    if instruction.opcode == "fusion":
        for called in instruction.called:
            body = module.computations.get(called)
            if body is not None:
                names += [each.op_name for each in body.instructions.values() if each.opcode not in _NOBODYS | RENAMING]
    return tuple(dict.fromkeys(path for name in names for path in absolute_paths(name)))
