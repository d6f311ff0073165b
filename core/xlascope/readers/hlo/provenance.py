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
from .uses import MOVES, Place, Uses

Paths = tuple[EquationPath, ...]
#: The equations behind every instruction, by the names of its computation and of itself.
Known = Mapping[tuple[str, str], Paths]

#: Names of operations that are products, and the opcodes that compute products.
_PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})
_MULTIPLY_AND_ADD = frozenset({"dot", "convolution"})
_REDUCES = frozenset({"reduce", "reduce-window"})
#: Opcodes that run computations on values that they carry.
_HOLD = frozenset({"while", "conditional"})
#: Opcodes that compute nothing: a product's name on one of these does not show which instruction computes it.
_NO_WORK = MOVES | {"parameter", "constant", "tuple", "broadcast", "fusion"}


def provenance_of(module: Module) -> dict[tuple[str, str], Paths]:
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
    rules = _Proofs(module)
    return {key: _paths_in(rules.name(key)) for key, _ in rules.instructions}


def data_of(module: Module, provenance: Known) -> dict[tuple[str, str], Paths]:
    """Return the equations whose data each instruction holds: those it works for, or of a copy those of its source.

    Values carried by a loop are attributed to the loop, and operands of a conditional's branches to the
    conditional.

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
        for key, instruction in _instructions(module)
        for name in instruction.called
        if instruction.opcode in _HOLD
    }
    data: dict[tuple[str, str], Paths] = dict(provenance)
    for computation in reversed(module.computations.values()):  # callers follow the computations they call
        carried = data.get(holders.get(computation.name, ("", "")), ())
        for name, instruction in computation.instructions.items():
            if instruction.opcode == "parameter":
                data[computation.name, name] = carried
            elif instruction.opcode in MOVES and instruction.operands and not data[computation.name, name]:
                data[computation.name, name] = data.get((computation.name, instruction.operands[0]), ())
    return data


def named_paths(instruction: Instruction) -> Paths:
    """Return the equations in an instruction's name; XLA joins the names of instructions that it merges."""
    return _paths_in(instruction.op_name)


@functools.lru_cache(maxsize=8192)
def _paths_in(op_name: str) -> Paths:
    return tuple(absolute_paths(op_name))


def _instructions(module: Module) -> Iterator[tuple[Place, Instruction]]:
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            yield Place(computation.name, instruction.name), instruction


class _Proofs:
    """Names of the instructions of a module: those in their metadata, and those derived by the rules."""

    def __init__(self, module: Module) -> None:
        self.instructions = list(_instructions(module))
        self._module = module
        self._names = {
            ref: instruction.op_name for ref, instruction in self.instructions if _paths_in(instruction.op_name)
        }
        self._names |= self._roots()
        self._uses = Uses(module, lambda instruction: not _paths_in(instruction.op_name))
        unnamed = [(ref, instruction) for ref, instruction in self.instructions if ref not in self._names]
        for opcode in ("reduce-window", "multiply"):
            for ref, instruction in reversed(unnamed):  # name the last stage of a reduction first
                if instruction.opcode == opcode and (name := self._reduced(ref, instruction)):
                    self._names[ref] = name
        self._names |= self._products([ref for ref, instruction in unnamed if instruction.opcode in _MULTIPLY_AND_ADD])
        self._names |= self._rooms([ref for ref, instruction in unnamed if instruction.opcode == "broadcast"])

    def name(self, ref: Place) -> str:
        """Return the name of an instruction, from its metadata or a rule, or ``""``."""
        return self._names.get(ref, "")

    def _roots(self) -> dict[Place, str]:
        """Apply rule 1: name the roots of fusions."""
        names = {}
        for ref, instruction in self.instructions:
            inside = (
                self._module.computations.get(instruction.called[0])
                if instruction.opcode == "fusion" and instruction.called
                else None
            )
            root = Place(inside.name, inside.root.name) if inside is not None and inside.root is not None else None
            if root is not None and ref in self._names and root not in self._names:
                names[root] = self._names[ref]
        return names

    def _reduced(self, ref: Place, instruction: Instruction) -> str:
        """Apply rules 2 and 3: return the name of the reduction that is an instruction's only user, or ``""``."""
        users = self._uses.takers(ref)
        user_ref = users[0] if len(users) == 1 else None
        if user_ref is None or self._uses.at(user_ref).opcode not in _REDUCES:
            return ""
        name, user = self.name(user_ref), self._uses.at(user_ref)
        if instruction.opcode == "reduce-window":
            return name if _apart(instruction) and self._function(instruction) == self._function(user) else ""
        return name if _is_product(name) and self._function(user)[-1:] == ("add",) else ""

    def _function(self, reduction: Instruction) -> tuple[str, ...]:
        """Return the opcodes of the function that a reduction applies, in order."""
        applied = self._module.computations.get(reduction.attribute("to_apply").lstrip("%"))
        return tuple(step.opcode for step in applied.instructions.values()) if applied is not None else ()

    def _products(self, nameless: list[Place]) -> dict[Place, str]:
        """Apply rule 4: name products that have another shape."""
        if not nameless:
            return {}
        computed = {
            path
            for ref, instruction in self.instructions
            if instruction.opcode not in _NO_WORK
            for path in _paths_in(self.name(ref))
        }
        claims: dict[str, list[Place]] = defaultdict(list)
        for ref in nameless:
            names = {self._finished(user) for user in self._uses.takers(ref)}
            if len(names) == 1:
                claims[names.pop()].append(ref)
        return {
            refs[0]: name
            for name, refs in claims.items()
            if len(refs) == 1 and _is_product(name) and computed.isdisjoint(_paths_in(name))
        }

    def _rooms(self, nameless: list[Place]) -> dict[Place, str]:
        """Apply rule 5: give initial buffers the names of their loops, joined as XLA joins merged names."""
        buffer_names = {}
        for ref in nameless:
            loops = self._loops(ref) if self._fills(ref) else None
            if loops:
                buffer_names[ref] = ";".join(dict.fromkeys(loops))
        return buffer_names

    def _fills(self, ref: Place) -> bool:
        """Return whether an instruction fills its result with one constant, which may be a fusion's operand."""
        inside = self._module.computations[ref.computation].instructions
        values = [inside[name] for name in self._uses.at(ref).operands]
        if all(value.opcode == "parameter" for value in values) and (outside := self._uses.fusion(ref.computation)):
            around = self._module.computations[outside.computation].instructions
            values = [around[name] for name in self._uses.at(outside).operands]
        return all(value.opcode == "constant" for value in values)

    def _loops(self, ref: Place) -> list[str]:
        """Return the names of the loops that start from a value; empty if the value has other users."""
        starts = self._uses.takers(ref)
        users = [user for start in starts for user in (self._uses.takers(start) if self._packs(start) else [None])]
        loops = [user for user in users if user is not None and self._uses.at(user).opcode == "while"]
        named = [name for user in loops if (name := self.name(user))]
        return named if len(named) == len(users) else []

    def _packs(self, ref: Place | None) -> TypeGuard[Place]:
        return ref is not None and self._uses.at(ref).opcode == "tuple"

    def _finished(self, ref: Place | None) -> str:
        """Return the name of an instruction that moves a value to users of other names, or ``""``."""
        if ref is None or self._uses.at(ref).opcode not in MOVES:
            return ""
        users = self._uses.takers(ref)
        return self.name(ref) if all(user is None or self.name(user) for user in users) else ""


def _is_product(op_name: str) -> bool:
    """Return whether a name is that of exactly one product."""
    named = len(merged_names(op_name)) == 1 and len(_paths_in(op_name)) > 0
    return named and op_name.rpartition("/")[2] in _PRODUCTS


def _apart(window: Instruction) -> bool:
    """Return whether the windows of a reduction tile the input: their size equals the stride, without dilation."""
    size = window.attribute("size")
    return size != "" and size == window.attribute("stride") and not window.attribute("rhs_dilate")
