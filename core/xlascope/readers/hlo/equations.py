"""Instructions of an HLO module by equation, from the instructions' own names alone."""

from __future__ import annotations

from collections.abc import Mapping

from ...records.op_names import absolute_paths
from ...records.paths import EquationPath
from .kernels import iter_executed
from .text import Computation, Instruction, Module

#: Opcodes that only rename data, and opcodes that do no work for an equation (merged constants among them).
RENAMING_OPCODES = frozenset({"bitcast", "get-tuple-element"})
_WITHOUT_SOURCE = frozenset({"parameter", "constant", "tuple", "get-tuple-element"})


def instructions_by_equation(module: Module) -> dict[EquationPath, set[str]]:
    """Return the instructions of each equation, by the equation's path; instructions in a fusion count as it.

    A bitcast has the name of the value that it renames. It counts only for an equation that has no other
    instruction, such as a reshape.
    """
    computing: dict[EquationPath, set[str]] = {}
    names_only: dict[EquationPath, set[str]] = {}
    for computation in executed_computations(module):
        for instruction in computation.instructions.values():
            target = names_only if instruction.opcode in RENAMING_OPCODES else computing
            for path in equation_paths(module, instruction.name, computation.instructions):
                target.setdefault(path, set()).add(instruction.name)
    return names_only | computing


def executed_computations(module: Module) -> list[Computation]:
    """Return the computations that run: not the bodies of fusions or of element-wise functions."""
    return list({computation.name: computation for computation, _ in iter_executed(module)}.values())


def equation_paths(module: Module, name: str, instructions: Mapping[str, Instruction]) -> tuple[EquationPath, ...]:
    """Return the equations of an instruction: its own and, for a fusion, those of the instructions inside.

    ``instructions`` are those of its computation, by name.
    """
    instruction = instructions[name]
    if instruction.opcode in _WITHOUT_SOURCE:
        return ()
    names = [instruction.op_name]
    if instruction.opcode == "fusion":
        for callee in instruction.called:
            body = module.computations.get(callee)
            if body is not None:
                names += [
                    inner.op_name
                    for inner in body.instructions.values()
                    if inner.opcode not in _WITHOUT_SOURCE | RENAMING_OPCODES
                ]
    return tuple(dict.fromkeys(path for name in names for path in absolute_paths(name)))
