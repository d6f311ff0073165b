"""Which equations an instruction works for, as far as its name or its content proves it. Nothing is guessed.

An instruction's name proves it: XLA keeps the names of what it was given, and joins those of what it merges. XLA also
writes instructions without a name. Being used by an equation proves nothing: what feeds an equation is the work of
another. One of these rules has to hold, and where none does no source is known.

1. *The rest of a fusion.* The root of a fused computation has the name of its fusion.
2. *The first part of a reduction.* XLA reduces a large array in two steps: ``reduce-window`` over windows that do not
   overlap, then ``reduce``. Where the windows' results are taken by one ``reduce`` alone, with the same function, the
   two are one reduction, and the name of the second is that of the first.
3. *A product written as multiply and sum.* Where a sum has the name of a product (``dot_general``), and all that it
   sums is one ``multiply`` that nothing else takes, that is the product's multiplication.
4. *A product under another shape.* Where a ``dot`` or ``convolution`` is taken only by what moves values (``bitcast``),
   with the name of one product that names nothing else that computes, and what takes it further works for others, it
   is that product: what has the name is the finished value, and nothing else computes it.
5. *What a loop writes into.* A constant is no equation's work, and where several loops start from equal ones XLA keeps
   one without a name. A ``broadcast`` of a constant scalar that nothing but loops starts from is theirs: it is written
   out because they need the room.

A copy has no equation: it computes nothing. What it copies is known (:func:`data_of`), and told apart from that.
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

#: Operations of ours that multiply and add, and the opcodes that do so.
_PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})
_MULTIPLY_AND_ADD = frozenset({"dot", "convolution"})
_REDUCES = frozenset({"reduce", "reduce-window"})
#: Opcodes that run computations on what they hold.
_HOLD = frozenset({"while", "conditional"})
#: Opcodes with a name that compute nothing: the name of a product on one of these does not say who computes it.
_NO_WORK = MOVES | {"parameter", "constant", "tuple", "broadcast", "fusion"}


def provenance_of(module: Module) -> dict[tuple[str, str], Paths]:
    """The paths of the equations behind every instruction, by the names of its computation and of itself.

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
    proofs = _Proofs(module)
    return {place: _paths_in(proofs.name(place)) for place, _ in proofs.instructions}


def data_of(module: Module, known: Known) -> dict[tuple[str, str], Paths]:
    """Whose data each instruction gives: the equations that it works for, and of a copy those that made what it copies.

    What a loop carries is the loop's, and what the branches of a conditional are given is the conditional's.

    >>> from .text import read_module
    >>> module = read_module('''HloModule jit_f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   %sin.1 = f32[4]{0} sine(%x), metadata={op_name="jit(f)/e0/sin"}
    ...   ROOT %copy.1 = f32[4]{0} copy(%sin.1)
    ... }''')
    >>> known = provenance_of(module)
    >>> known["main", "copy.1"], data_of(module, known)["main", "copy.1"]
    ((), ('0',))
    """
    holders = {name: place for place, each in _instructions(module) for name in each.called if each.opcode in _HOLD}
    found: dict[tuple[str, str], Paths] = dict(known)
    for computation in reversed(module.computations.values()):  # what calls a computation is written below it
        carried = found.get(holders.get(computation.name, ("", "")), ())
        for name, each in computation.instructions.items():
            if each.opcode == "parameter":
                found[computation.name, name] = carried
            elif each.opcode in MOVES and each.operands and not found[computation.name, name]:
                found[computation.name, name] = found.get((computation.name, each.operands[0]), ())
    return found


def named_paths(instruction: Instruction) -> Paths:
    """The equations an instruction's name tells; XLA joins the names of what it merges."""
    return _paths_in(instruction.op_name)


@functools.lru_cache(maxsize=8192)
def _paths_in(op_name: str) -> Paths:
    return tuple(absolute_paths(op_name))


def _instructions(module: Module) -> Iterator[tuple[Place, Instruction]]:
    for computation in module.computations.values():
        for each in computation.instructions.values():
            yield Place(computation.name, each.name), each


class _Proofs:
    """The names that instructions have, and those that follow from their content."""

    def __init__(self, module: Module) -> None:
        self.instructions = list(_instructions(module))
        self._module = module
        self._names = {place: each.op_name for place, each in self.instructions if _paths_in(each.op_name)}
        self._names |= self._roots()
        self._uses = Uses(module, lambda each: not _paths_in(each.op_name))
        unnamed = [(place, each) for place, each in self.instructions if place not in self._names]
        for wanted in ("reduce-window", "multiply"):
            for place, each in reversed(unnamed):  # of several steps of one reduction the last is known first
                if each.opcode == wanted and (name := self._reduced(place, each)):
                    self._names[place] = name
        self._names |= self._products([place for place, each in unnamed if each.opcode in _MULTIPLY_AND_ADD])
        self._names |= self._rooms([place for place, each in unnamed if each.opcode == "broadcast"])

    def name(self, place: Place) -> str:
        """What names an instruction, or proves whose it is; nothing where neither does."""
        return self._names.get(place, "")

    def _roots(self) -> dict[Place, str]:
        """Rule 1."""
        found = {}
        for place, each in self.instructions:
            inside = self._module.computations.get(each.called[0]) if each.opcode == "fusion" and each.called else None
            root = Place(inside.name, inside.root.name) if inside is not None and inside.root is not None else None
            if root is not None and place in self._names and root not in self._names:
                found[root] = self._names[place]
        return found

    def _reduced(self, place: Place, each: Instruction) -> str:
        """Rules 2 and 3: the name of the reduction that alone takes a window's sums, or the terms of a product."""
        takers = self._uses.takers(place)
        taker = takers[0] if len(takers) == 1 else None
        if taker is None or self._uses.at(taker).opcode not in _REDUCES:
            return ""
        name, user = self.name(taker), self._uses.at(taker)
        if each.opcode == "reduce-window":
            return name if _apart(each) and self._function(each) == self._function(user) else ""
        return name if _is_product(name) and self._function(user)[-1:] == ("add",) else ""

    def _function(self, each: Instruction) -> tuple[str, ...]:
        """What a reduction applies to two elements, as opcodes in order."""
        applied = self._module.computations.get(each.attribute("to_apply").lstrip("%"))
        return tuple(step.opcode for step in applied.instructions.values()) if applied is not None else ()

    def _products(self, nameless: list[Place]) -> dict[Place, str]:
        """Rule 4."""
        if not nameless:
            return {}
        computed = {
            path
            for place, each in self.instructions
            if each.opcode not in _NO_WORK
            for path in _paths_in(self.name(place))
        }
        claims: dict[str, list[Place]] = defaultdict(list)
        for place in nameless:
            names = {self._finished(taker) for taker in self._uses.takers(place)}
            if len(names) == 1:
                claims[names.pop()].append(place)
        return {
            places[0]: name
            for name, places in claims.items()
            if len(places) == 1 and _is_product(name) and computed.isdisjoint(_paths_in(name))
        }

    def _rooms(self, nameless: list[Place]) -> dict[Place, str]:
        """Rule 5: the loops' names, as XLA joins those of what it merges."""
        found = {}
        for place in nameless:
            loops = self._loops(place) if self._fills(place) else None
            if loops:
                found[place] = ";".join(dict.fromkeys(loops))
        return found

    def _fills(self, place: Place) -> bool:
        """Whether an instruction writes one constant everywhere; a fusion is given it."""
        inside = self._module.computations[place.computation].instructions
        values = [inside[name] for name in self._uses.at(place).operands]
        if all(each.opcode == "parameter" for each in values) and (outside := self._uses.fusion(place.computation)):
            around = self._module.computations[outside.computation].instructions
            values = [around[name] for name in self._uses.at(outside).operands]
        return all(each.opcode == "constant" for each in values)

    def _loops(self, place: Place) -> list[str]:
        """The names of the loops that start from a value, or none where anything else takes it."""
        starts = self._uses.takers(place)
        takers = [taker for start in starts for taker in (self._uses.takers(start) if self._packs(start) else [None])]
        loops = [taker for taker in takers if taker is not None and self._uses.at(taker).opcode == "while"]
        named = [name for taker in loops if (name := self.name(taker))]
        return named if len(named) == len(takers) else []

    def _packs(self, place: Place | None) -> TypeGuard[Place]:
        return place is not None and self._uses.at(place).opcode == "tuple"

    def _finished(self, place: Place | None) -> str:
        """The name of what moves a value that only others take, or nothing."""
        if place is None or self._uses.at(place).opcode not in MOVES:
            return ""
        takers = self._uses.takers(place)
        return self.name(place) if all(taker is None or self.name(taker) for taker in takers) else ""


def _is_product(op_name: str) -> bool:
    """Whether a name is that of one product, and of nothing else."""
    named = len(merged_names(op_name)) == 1 and len(_paths_in(op_name)) > 0
    return named and op_name.rpartition("/")[2] in _PRODUCTS


def _apart(window: Instruction) -> bool:
    """Whether windows cover everything once: each is as large as the step to the next, without holes."""
    size = window.attribute("size")
    return size != "" and size == window.attribute("stride") and not window.attribute("rhs_dilate")
