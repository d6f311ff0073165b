"""Provenance of HLO instructions: the equations that an instruction works for, where that can be proved.

An instruction's metadata name proves its equation: XLA keeps the names of its input, and joins the names of
instructions that it merges. XLA also creates instructions without a name. Being used by an equation proves
nothing, because an operand is the work of another equation. Such an instruction is attributed by one of these
rules, or not at all.

1. *Root of a fusion.* The root of a fused computation has the name of its fusion.
2. *First stage of a reduction.* XLA reduces a large array in two stages: ``reduce-window`` over windows that do not
   overlap, then ``reduce``. Where a single ``reduce`` with the same function is the only user of the windows'
   results, the two are one reduction, and the name of the second is that of the first.
3. *Product written as multiply and sum.* Where a sum has the name of a product (``dot_general``), and its only
   operand is a ``multiply`` without other users, that is the product's multiplication.
4. *Product under another shape.* Where the only users of a ``dot`` or ``convolution`` move values (``bitcast``), with
   the name of a product that no other computing instruction has, and the users after them work for other equations,
   it is that product.
5. *Initial buffer of a loop.* A constant is no equation's work, and where several loops start from equal constants
   XLA keeps one without a name. A ``broadcast`` of a constant scalar whose only users are loops is attributed to
   these loops: it is written out because they need the buffer.

A copy has no equation, because it computes nothing. The source of the copied data is recorded separately
(:func:`data_of`).
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from ...records.op_names import absolute_paths, merged_names
from ...records.paths import EquationPath
from .text import Instruction, Module
from .uses import MOVE_OPCODES, InstructionRef, UseGraph

EquationPaths = tuple[EquationPath, ...]
#: The equations behind every instruction, by the names of its computation and of itself.
ProvenanceMap = Mapping[tuple[str, str], EquationPaths]

#: Names of operations that are products, and the opcodes that compute products.
_PRODUCT_OPERATIONS = frozenset({"dot_general", "conv_general_dilated"})
_PRODUCT_OPCODES = frozenset({"dot", "convolution"})
_REDUCE_OPCODES = frozenset({"reduce", "reduce-window"})
#: Opcodes that run computations on values that they carry.
_CONTROL_FLOW_OPCODES = frozenset({"while", "conditional"})
#: Opcodes that compute nothing: a product's name on one of these does not show which instruction computes it.
_NON_COMPUTING_OPCODES = MOVE_OPCODES | {"parameter", "constant", "tuple", "broadcast", "fusion"}


def provenance_of(module: Module) -> dict[tuple[str, str], EquationPaths]:
    """Return the equations of every instruction, by the names of its computation and of itself.

    >>> from .text import read_module
    >>> module = read_module('''HloModule jit_f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   %abs.1 = f32[4]{0} abs(%x)
    ...   ROOT %sin.1 = f32[4]{0} sine(%abs.1), metadata={op_name="jit(f)/e0/sin"}
    ... }''')
    >>> found = provenance_of(module)
    >>> found["main", "sin.1"], found["main", "abs.1"]
    (('0',), ())
    """
    rules = _ProvenanceRules(module)
    return {key: _parse_paths(rules.name_of(key)) for key, _ in rules.instructions}


def data_of(module: Module, provenance: ProvenanceMap) -> dict[tuple[str, str], EquationPaths]:
    """Return for each instruction the equations whose results it holds: those it works for, or of a copy its source's.

    A fusion that has no equation of its own holds the result of the instruction at its root: the zeros that a loop's
    buffers start from, for instance.
    Values carried by a loop are attributed to the loop, and operands of a conditional's branches to the conditional.
    ``provenance`` is the result of :func:`provenance_of`.

    >>> from .text import read_module
    >>> module = read_module('''HloModule jit_f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   %sin.1 = f32[4]{0} sine(%x), metadata={op_name="jit(f)/e0/sin"}
    ...   ROOT %copy.1 = f32[4]{0} copy(%sin.1)
    ... }''')
    >>> provenance = provenance_of(module)
    >>> provenance["main", "copy.1"], data_of(module, provenance)["main", "copy.1"]
    ((), ('0',))
    """
    holders = {
        name: key
        for key, instruction in _iter_instructions(module)
        for name in instruction.called
        if instruction.opcode in _CONTROL_FLOW_OPCODES
    }
    data: dict[tuple[str, str], EquationPaths] = dict(provenance)
    for computation in reversed(module.computations.values()):  # callers follow the computations they call
        carried = data.get(holders.get(computation.name, ("", "")), ())
        for name, instruction in computation.instructions.items():
            if instruction.opcode == "parameter":
                data[computation.name, name] = carried
            elif instruction.opcode in MOVE_OPCODES and instruction.operands and not data[computation.name, name]:
                data[computation.name, name] = data.get((computation.name, instruction.operands[0]), ())
            elif instruction.opcode == "fusion" and not data[computation.name, name]:
                data[computation.name, name] = _equations_of_root(module, instruction, provenance)
    return data


def _equations_of_root(module: Module, fusion: Instruction, provenance: ProvenanceMap) -> EquationPaths:
    """Return the equations of the instruction whose result is a fusion's; a nameless constant's come from its users."""
    inside = module.computations.get(fusion.called[0]) if fusion.called else None
    return provenance[inside.name, inside.root.name] if inside is not None and inside.root is not None else ()


def named_paths(instruction: Instruction) -> EquationPaths:
    """Return the equations in an instruction's name; XLA joins the names of instructions that it merges."""
    return _parse_paths(instruction.op_name)


@functools.lru_cache(maxsize=8192)
def _parse_paths(op_name: str) -> EquationPaths:
    return tuple(absolute_paths(op_name))


def _iter_instructions(module: Module) -> Iterator[tuple[InstructionRef, Instruction]]:
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            yield InstructionRef(computation.name, instruction.name), instruction


class _ProvenanceRules:
    """Names of the instructions of a module: those in their metadata, and those that the module's rules derive."""

    def __init__(self, module: Module) -> None:
        self.instructions = list(_iter_instructions(module))
        self._module = module
        self._names = {
            ref: instruction.op_name for ref, instruction in self.instructions if _parse_paths(instruction.op_name)
        }
        self._names |= self._name_fusion_roots()
        self._uses = UseGraph(module, lambda instruction: not _parse_paths(instruction.op_name))
        unnamed = [(ref, instruction) for ref, instruction in self.instructions if ref not in self._names]
        for opcode in ("reduce-window", "multiply"):
            for ref, instruction in reversed(unnamed):  # name the last stage of a reduction first
                if instruction.opcode == opcode and (name := self._name_of_reduction(ref, instruction)):
                    self._names[ref] = name
        self._names |= self._name_products(
            [ref for ref, instruction in unnamed if instruction.opcode in _PRODUCT_OPCODES]
        )
        self._names |= self._name_loop_buffers(
            [ref for ref, instruction in unnamed if instruction.opcode == "broadcast"]
        )

    def name_of(self, ref: InstructionRef) -> str:
        """Return the name of an instruction, from its metadata or a rule, or ``""``."""
        return self._names.get(ref, "")

    def _name_fusion_roots(self) -> dict[InstructionRef, str]:
        """Return names for nameless roots of fused computations: those of their fusions (rule 1 of this module)."""
        names = {}
        for ref, instruction in self.instructions:
            inside = (
                self._module.computations.get(instruction.called[0])
                if instruction.opcode == "fusion" and instruction.called
                else None
            )
            root = (
                InstructionRef(inside.name, inside.root.name)
                if inside is not None and inside.root is not None
                else None
            )
            if root is not None and ref in self._names and root not in self._names:
                names[root] = self._names[ref]
        return names

    def _name_of_reduction(self, ref: InstructionRef, instruction: Instruction) -> str:
        """Return the name of the reduction that uses an instruction as a part of itself, or ``""``.

        That is the first stage of a reduction, or the multiplication of a product (rules 2 and 3 of this module).
        ``ref`` is the reference to the instruction.
        """
        users = self._uses.find_users(ref)
        user_ref = users[0] if len(users) == 1 else None
        if user_ref is None or self._uses.resolve(user_ref).opcode not in _REDUCE_OPCODES:
            return ""
        name, user = self.name_of(user_ref), self._uses.resolve(user_ref)
        if instruction.opcode == "reduce-window":
            return (
                name
                if _has_disjoint_windows(instruction)
                and self._applied_opcodes(instruction) == self._applied_opcodes(user)
                else ""
            )
        return name if _is_single_product(name) and self._applied_opcodes(user)[-1:] == ("add",) else ""

    def _applied_opcodes(self, reduction: Instruction) -> tuple[str, ...]:
        """Return the opcodes of the function that a reduction applies, in order."""
        applied = self._module.computations.get(reduction.attribute("to_apply").lstrip("%"))
        return tuple(step.opcode for step in applied.instructions.values()) if applied is not None else ()

    def _name_products(self, nameless: list[InstructionRef]) -> dict[InstructionRef, str]:
        """Return names for nameless products whose results get another shape (rule 4 of this module).

        The result has the names by instruction; each is that of the product's only users, which move its result.
        """
        if not nameless:
            return {}
        computed = {
            path
            for ref, instruction in self.instructions
            if instruction.opcode not in _NON_COMPUTING_OPCODES
            for path in _parse_paths(self.name_of(ref))
        }
        claims: dict[str, list[InstructionRef]] = defaultdict(list)
        for ref in nameless:
            names = {self._name_of_finished_value(user) for user in self._uses.find_users(ref)}
            if len(names) == 1:
                claims[names.pop()].append(ref)
        return {
            refs[0]: name
            for name, refs in claims.items()
            if len(refs) == 1 and _is_single_product(name) and computed.isdisjoint(_parse_paths(name))
        }

    def _name_loop_buffers(self, nameless: list[InstructionRef]) -> dict[InstructionRef, str]:
        """Return names for nameless initial buffers of loops (rule 5 of this module): those of the loops, joined."""
        buffer_names = {}
        for ref in nameless:
            loops = self._loop_names(ref) if self._is_constant_fill(ref) else None
            if loops:
                buffer_names[ref] = ";".join(dict.fromkeys(loops))
        return buffer_names

    def _is_constant_fill(self, ref: InstructionRef) -> bool:
        """Return whether an instruction fills its result with one constant, which may be a fusion's operand."""
        inside = self._module.computations[ref.computation].instructions
        values = [inside[name] for name in self._uses.resolve(ref).operands]
        if all(value.opcode == "parameter" for value in values) and (
            outside := self._uses.enclosing_fusion(ref.computation)
        ):
            around = self._module.computations[outside.computation].instructions
            values = [around[name] for name in self._uses.resolve(outside).operands]
        return all(value.opcode == "constant" for value in values)

    def _loop_names(self, ref: InstructionRef) -> list[str]:
        """Return the names of the loops that start from a value; empty if the value has other users."""
        starts = self._uses.find_users(ref)
        users = [
            user for start in starts for user in (self._uses.find_users(start) if self._is_tuple(start) else [None])
        ]
        loops = [user for user in users if user is not None and self._uses.resolve(user).opcode == "while"]
        names = [name for user in loops if (name := self.name_of(user))]
        return names if len(names) == len(users) else []

    def _is_tuple(self, ref: InstructionRef | None) -> TypeGuard[InstructionRef]:
        return ref is not None and self._uses.resolve(ref).opcode == "tuple"

    def _name_of_finished_value(self, ref: InstructionRef | None) -> str:
        """Return the name of an instruction that moves a value to users with names; ``""`` for any other one."""
        if ref is None or self._uses.resolve(ref).opcode not in MOVE_OPCODES:
            return ""
        users = self._uses.find_users(ref)
        return self.name_of(ref) if all(user is None or self.name_of(user) for user in users) else ""


def _is_single_product(op_name: str) -> bool:
    """Return whether a name is that of exactly one product."""
    has_one_path = len(merged_names(op_name)) == 1 and len(_parse_paths(op_name)) > 0
    return has_one_path and op_name.rpartition("/")[2] in _PRODUCT_OPERATIONS


def _has_disjoint_windows(window: Instruction) -> bool:
    """Return whether the windows of a reduction tile the input: their size equals the stride, without dilation."""
    size = window.attribute("size")
    return size != "" and size == window.attribute("stride") and not window.attribute("rhs_dilate")
