"""Which equations an instruction works for, those included that XLA made without a name.

XLA writes the first half of a reduction, the copies that a loop's carry needs, and the constants that it stretches,
without saying for what. Each works for whatever uses its result: that is where its equations are looked for, and where
no user tells, in what made its operands.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator

from ...records.op_names import equation_path
from ...records.paths import EquationPath
from .text import Computation, Instruction, Module

Paths = tuple[EquationPath, ...]

#: Opcodes that name values: what made their operand made them.
_NAMES = frozenset({"get-tuple-element", "bitcast", "copy"})


def provenance(module: Module) -> dict[tuple[str, str], Paths]:
    """The paths of the equations behind every instruction, by the names of its computation and of itself.

    >>> from .text import read_module
    >>> module = read_module('''HloModule jit_f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   %copy.1 = f32[4]{0} copy(%x)
    ...   ROOT %sin.1 = f32[4]{0} sine(%copy.1), metadata={op_name="jit(f)/e0/sin"}
    ... }''')
    >>> provenance(module)["main", "copy.1"]
    ('0',)
    """
    callers = dict(_callers(module))
    found: dict[tuple[str, str], Paths] = {}
    for computation in reversed(module.computations.values()):  # what calls a computation is written below it
        outside = found.get(callers.get(computation.name, ("", "")), ())
        named = {each.name: named_paths(each) for each in computation.instructions.values()}
        paths = _by_use(computation, named, outside)
        _by_operands(computation, named, paths)
        found.update(((computation.name, name), known) for name, known in paths.items())
    return found


def named_paths(instruction: Instruction) -> Paths:
    """The equations an instruction's name tells; XLA joins the names of merged instructions with ``;``."""
    return _paths_in(instruction.op_name)


@functools.lru_cache(maxsize=8192)
def _paths_in(op_name: str) -> Paths:
    return tuple(path for name in op_name.split(";") if (path := equation_path(name)))


def agreed(several: Iterable[Paths]) -> Paths:
    """What several answers have in common: the same equations, or the innermost one that holds them all.

    >>> agreed([("3", "4"), ("4",)]), agreed([("2/1", "2/3"), ("2/7/0",)]), agreed([("1",), ("2",)])
    (('4',), ('2',), ())
    """
    answers = list(dict.fromkeys(each for each in several if each))
    if len(answers) <= 1:
        return answers[0] if answers else ()
    common = tuple(path for path in answers[0] if all(path in other for other in answers[1:]))
    if common:
        return common
    shared = EquationPath.innermost(path for answer in answers for path in answer)
    return (shared,) if shared else ()


def _callers(module: Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each called computation with the names of the computation and the instruction that call it."""
    for computation in module.computations.values():
        for each in computation.instructions.values():
            for called in each.called:
                yield called, (computation.name, each.name)


def _by_use(computation: Computation, named: dict[str, Paths], outside: Paths) -> dict[str, Paths]:
    """From the last instruction to the first: its own name, or what its users agree on."""
    uses: dict[str, list[Paths]] = defaultdict(list)
    paths: dict[str, Paths] = {}
    for each in reversed(computation.instructions.values()):
        known = named[each.name] or agreed(uses.pop(each.name, ())) or (outside if each.root else ())
        paths[each.name] = known
        if known:
            for name in each.operands:
                uses[name].append(known)
    return paths


def _by_operands(computation: Computation, named: dict[str, Paths], paths: dict[str, Paths]) -> None:
    """From the first to the last: of what no user tells (a copy of the program's result), what made the operands."""
    made: dict[str, Paths] = {}
    for each in computation.instructions.values():
        own, opcode = named[each.name], each.opcode
        needed = opcode in _NAMES or not paths[each.name]
        before = agreed(made.get(name, ()) for name in each.operands) if needed and not own else ()
        made[each.name] = own or (before if opcode in _NAMES else ())
        if not paths[each.name] and each.opcode != "tuple":
            paths[each.name] = before
