"""Matching of the equations of two programs by source line, operation and position."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence

from ...records.events import Traced
from ...records.programs import Equation, Jaxpr, Variable
from ...records.traits import Trait
from .changes import EquationChange
from .sequences import Pair, align, gaps

_PARAMETER = re.compile(r" (?=\w+=)")


class FlatProgram:
    """Program as a flat list of its equations, bodies included, with their result types and source lines.

    ``variables`` are those of all bodies by name.
    """

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.jaxpr = traced.jaxpr
        self.equations: list[Equation] = list(traced.jaxpr.walk())
        self.variables: dict[str, Variable] = {}
        self._lines = {source.file: (source.first_line, source.text.splitlines()) for source in traced.sources}
        self._alias: dict[str, str] = {}
        self._add_jaxpr(traced.jaxpr)

    def _add_jaxpr(self, jaxpr: Jaxpr) -> None:
        """Add the variables of a jaxpr and of its bodies, and what inputs and results of calls stand for."""
        self.variables.update(jaxpr.variables)
        for equation in jaxpr.equations:
            for body in equation.bodies:
                self._add_jaxpr(body)
            if self.traced.has(equation, Trait.CALL) and len(equation.bodies) == 1:
                (body,) = equation.bodies
                self._add_aliases(body.inputs, equation.inputs)
                self._add_aliases(equation.outputs, body.outputs)

    def _add_aliases(self, names: Sequence[str], stand_for: Sequence[str]) -> None:
        """Record for each variable in ``names`` the variable of ``stand_for`` whose value it has.

        A variable of a body that is called with different values stands for itself. Lists of different lengths are
        ignored.
        """
        if len(names) == len(stand_for):
            for name, target in zip(names, stand_for, strict=True):
                self._alias[name] = target if self._alias.get(name, target) == target else name

    def resolve(self, name: str) -> str:
        """Return the variable that a body's input or a call's result stands for; others stand for themselves."""
        for _ in range(len(self._alias)):
            target = self._alias.get(name, name)
            if target == name:
                break
            name = target
        return name

    def line(self, equation: Equation) -> str:
        """Return the source line of an equation without indentation, or ``""`` where it is unknown."""
        source = equation.source
        first, lines = self._lines.get(source.file, (1, [])) if source else (1, [])
        index = source.line - first if source else -1
        return lines[index].strip() if 0 <= index < len(lines) else ""

    def types(self, equation: Equation) -> tuple[str, ...]:
        """Return the types of an equation's results."""
        return tuple(self.variables[name].type_text for name in equation.outputs if name in self.variables)


Key = Callable[[FlatProgram, Equation], Hashable]


def _line_key(program: FlatProgram, equation: Equation) -> tuple[str, ...]:
    return program.line(equation), equation.operation, equation.role, equation.name


def _content_key(program: FlatProgram, equation: Equation) -> Hashable:
    return equation.operation, equation.role, equation.name, equation.parameters, program.types(equation)


def _operation_key(program: FlatProgram, equation: Equation) -> Hashable:
    return equation.operation, equation.role


def compare_equations(before: FlatProgram, after: FlatProgram) -> tuple[EquationChange, ...]:
    """Return the change of every equation of both programs, in their common order, removed ones before added ones."""
    pairs = pair_equations(before, after)
    same = _match_values(before, after, pairs)
    return tuple(_iter_changes(before, after, pairs, same))


def pair_equations(before: FlatProgram, after: FlatProgram) -> list[Pair]:
    """Return pairs of indices into both lists of equations, ascending in both.

    Equations are paired in this order: those of the user's functions; derived ones, which are distinguished by the
    forward equation that each one transposes; those with the same content; those with the same operation. No pair
    crosses an earlier one. Unpaired equations were removed or added.
    """
    forward_pairs = _forward_pairs(before, after)
    pairs: list[Pair] = []
    for key in (
        lambda side, equation: _origin_key(side, equation, forward_pairs),
        _line_key,
        _content_key,
        _operation_key,
    ):
        pairs = _extend_pairs(before, after, pairs, key)
    return pairs


def _extend_pairs(before: FlatProgram, after: FlatProgram, pairs: list[Pair], key: Key) -> list[Pair]:
    """Return the pairs, extended by equations that have equal keys and lie between the same two pairs.

    A pair has an index into the equations of each program; ``key(program, equation)`` is what has to be equal.
    """
    result = list(pairs)
    for left, right in gaps(pairs, (len(before.equations), len(after.equations))):
        a = [key(before, before.equations[i]) for i in left]
        b = [key(after, after.equations[j]) for j in right]
        result += [(left.start + i, right.start + j) for i, j in align(a, b)]
    return sorted(result)


def _forward_pairs(before: FlatProgram, after: FlatProgram) -> dict[tuple[FlatProgram, str], int]:
    """Return the number of the pair of each forward equation that has a counterpart, by (program, path)."""
    old, new = ([equation for equation in side.equations if equation.role == "forward"] for side in (before, after))
    pairs = align([_line_key(before, equation) for equation in old], [_line_key(after, equation) for equation in new])
    return {key: number for number, (i, j) in enumerate(pairs) for key in ((before, old[i].path), (after, new[j].path))}


def _origin_key(
    program: FlatProgram, equation: Equation, forward_pairs: dict[tuple[FlatProgram, str], int]
) -> Hashable:
    """Return a key equal for equations of both programs that derive from corresponding forward equations.

    ``forward_pairs`` are those of :func:`_forward_pairs`.
    """
    if equation.role == "forward":
        return forward_pairs.get((program, equation.path), (program, equation.path))
    origin = equation.transposes
    return *_line_key(program, equation), forward_pairs.get((program, origin), (program, origin)) if origin else None


def _iter_changes(
    before: FlatProgram, after: FlatProgram, pairs: list[Pair], same: dict[str, str]
) -> Iterator[EquationChange]:
    """Yield the change of every equation of both programs; ``same`` is the result of :func:`_match_values`."""
    partners = dict(pairs)
    j = 0
    for i, equation in enumerate(before.equations):
        if i not in partners:
            yield EquationChange("-", equation.path, None)
            continue
        for new in after.equations[j : partners[i]]:
            yield EquationChange("+", None, new.path)
        j = partners[i] + 1
        yield _pair_change(before, after, equation, after.equations[partners[i]], same)
    for new in after.equations[j:]:
        yield EquationChange("+", None, new.path)


def _pair_change(
    before: FlatProgram, after: FlatProgram, old: Equation, new: Equation, same: dict[str, str]
) -> EquationChange:
    """Return what differs between two corresponding equations; ``same`` is the result of :func:`_match_values`."""
    details: list[str] = []
    changed: list[str] = []
    if (was := before.types(old)) != (now := after.types(new)):
        details += [f"{a} → {b}" for a, b in zip(was, now, strict=False) if a != b] or [
            f"{len(was)} → {len(now)} results"
        ]
        shapes, dtypes = ([[part(t) for t in types] for types in (was, now)] for part in (_shape, _dtype))
        changed += ["dtype"] if dtypes[0] != dtypes[1] else []
        changed += ["shape"] if shapes[0] != shapes[1] or not dtypes[0] else []
    if parameters := _parameter_changes(old.parameters, new.parameters):
        changed.append("parameters")
        details += parameters
    if not _have_same_operands(before, after, old, new, same):
        changed.append("operands")
    return EquationChange(
        "~" if changed else "=", old.path, new.path, tuple(changed), "; ".join(dict.fromkeys(details))
    )


def _shape(type_text: str) -> str:
    return type_text.partition("[")[2]


def _dtype(type_text: str) -> str:
    return type_text.partition("[")[0]


def _parameter_changes(old: str, new: str) -> list[str]:
    if old == new:
        return []
    was, now = (dict(item.partition("=")[::2] for item in _PARAMETER.split(text)) for text in (old, new))
    names = dict.fromkeys([*was, *now])
    return [
        f"{name}={was.get(name, 'none')} → {now.get(name, 'none')}" for name in names if was.get(name) != now.get(name)
    ]


def _match_values(before: FlatProgram, after: FlatProgram, pairs: list[Pair]) -> dict[str, str]:
    """Return the variables of ``after`` by the corresponding variables of ``before``, as far as the pairs show.

    ``pairs`` are indices of corresponding equations.
    """
    same: dict[str, str] = {}

    def add_pairs(old: Sequence[str], new: Sequence[str]) -> None:
        for a, b in zip(old, new, strict=False):
            same.setdefault(before.resolve(a), after.resolve(b))

    add_pairs(*_pair_arguments(before.jaxpr, after.jaxpr))
    add_pairs(before.jaxpr.constants, after.jaxpr.constants)
    for i, j in pairs:
        old, new = before.equations[i], after.equations[j]
        add_pairs(old.outputs, new.outputs)
        for a, b in zip(old.bodies, new.bodies, strict=False):
            add_pairs(a.inputs, b.inputs)
    return same


def _pair_arguments(before: Jaxpr, after: Jaxpr) -> tuple[Sequence[str], Sequence[str]]:
    """Return the matching arguments of both programs: those with the same label, then the others by position.

    The others match only if there are equally many.
    """
    old, new = ({j.variables[n].label or n: n for n in j.inputs if n in j.variables} for j in (before, after))
    if len(old) < len(before.inputs) or len(new) < len(after.inputs):
        return before.inputs, after.inputs
    common = [label for label in old if label in new]
    old_only, new_only = ([n for label, n in names.items() if label not in common] for names in (old, new))
    unmatched = (old_only, new_only) if len(old_only) == len(new_only) else ([], [])
    return [*(old[label] for label in common), *unmatched[0]], [*(new[label] for label in common), *unmatched[1]]


def _have_same_operands(
    before: FlatProgram, after: FlatProgram, old: Equation, new: Equation, same: dict[str, str]
) -> bool:
    """Return whether two equations take corresponding variables and equal literals as operands.

    ``same`` has the variables of ``after`` by the corresponding variables of ``before``.
    """
    if len(old.inputs) != len(new.inputs):
        return False
    for a, b in zip(old.inputs, new.inputs, strict=True):
        if a in before.variables and b in after.variables:
            if same.get(before.resolve(a)) != after.resolve(b):
                return False
        elif not _are_same_literals(a, b):
            return False
    return True


def _are_same_literals(a: str, b: str) -> bool:
    """Return whether ``2.0:f32[]`` and ``2:bf16[]`` are the same number; the result types show the types."""
    a, b = a.partition(":")[0], b.partition(":")[0]
    try:
        return a == b or float(a) == float(b)
    except ValueError:
        return False
