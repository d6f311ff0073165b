"""Births: the first equations whose results hold NaN or infinity while their operands hold none of it.

An event is the moment in which a value first holds NaN (or NaN or infinity). Moments are compared in the order in which
the program runs: equation by equation, and within loops iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...records import Equation, EquationPath, Jaxpr, ProbedValue

Kind = Literal["nan", "inf"]
#: Moment in the run of a program, as numbers that are compared from the left.
Moment = tuple[int, ...]

_LOOPS = ("scan", "while")
#: Operations whose results come from the programs that they hold, which are probed inside.
_TRANSPARENT = (*_LOOPS, "cond", "shard_map")
_FLOATING = ("float", "bfloat", "complex")
#: The moment of arguments and literals, and the last number of a moment after all that an equation holds.
_BEGIN, _AFTER = (-1,), 1 << 40

#: Function that returns the moment in which a value first held NaN (``nan``), or NaN or infinity (``inf``), or None.
Source = Callable[[Kind], Moment | None]


class Place(NamedTuple):
    """Equation of a program with the sources of its operands."""

    equation: Equation
    operands: tuple[Source, ...]


@dataclass
class ValueFlow:
    """Program with its probed values: which equation takes which value, and when each turned bad.

    ``values`` are the probed values by path, position and index; ``places`` the equations by path.
    """

    jaxpr: Jaxpr
    values: dict[tuple[EquationPath, str, int], ProbedValue]
    places: dict[EquationPath, Place]

    @classmethod
    def of(cls, jaxpr: Jaxpr, values: Iterable[ProbedValue]) -> ValueFlow:
        """Return the flow of the values through a program."""
        flow = cls(jaxpr, {(value.path, value.position, value.index): value for value in values}, {})
        arguments = [*jaxpr.constants, *jaxpr.inputs]
        sources = {name: flow._source_of(EquationPath(""), "argument", index) for index, name in enumerate(arguments)}
        flow._walk(jaxpr, sources, ())
        return flow

    def _source_of(self, path: EquationPath, position: str, index: int, loops: Sequence[bool] = ()) -> Source:
        value = self.values.get((path, position, index))

        def source(kind: Kind) -> Moment | None:
            iterations = None if value is None else value.first_nan if kind == "nan" else value.first_inf
            return None if iterations is None else moment(path, iterations, loops)

        return source

    def _walk(self, jaxpr: Jaxpr, sources: dict[str, Source], loops: tuple[bool, ...]) -> None:
        """Add the equations of a body; ``sources`` has those of its operands, ``loops`` says which steps are loops."""
        for equation in jaxpr.equations:
            operands = tuple(sources.get(name) or _literal_source(name) for name in equation.inputs)
            self.places[equation.path] = Place(equation, operands)
            inner = self._walk_bodies(equation, operands, loops)
            for index, name in enumerate(equation.outputs):
                if not jaxpr.variables[name].dtype.startswith(_FLOATING):
                    sources[name] = _never
                elif (equation.path, "result", index) in self.values:
                    sources[name] = self._source_of(equation.path, "result", index, loops)
                else:
                    sources[name] = inner[index] if inner is not None else _earliest(operands)

    def _walk_bodies(
        self, equation: Equation, operands: Sequence[Source], loops: tuple[bool, ...]
    ) -> list[Source] | None:
        """Add the equations that an equation holds; return the sources of its results, None if it holds none."""
        is_loop = equation.operation in _LOOPS
        outputs: list[list[Source]] = []
        for number, body in enumerate(equation.bodies):
            if equation.operation == "while" and number > 0:
                break  # the condition
            inner = dict(zip(body.inputs, _body_operands(equation, body, operands), strict=False))
            pending: dict[int, Source] = {}
            if is_loop:
                inner |= _carry_sources(equation, body, operands, pending)
            self._walk(body, inner, (*loops, is_loop))
            results = [inner.get(name) or _literal_source(name) for name in body.outputs]
            pending.update(enumerate(results))
            outputs.append(results)
        if not outputs or any(len(results) != len(equation.outputs) for results in outputs):
            return None
        return [_earliest(alternatives) for alternatives in zip(*outputs, strict=True)]


def find_differentiated(flow: ValueFlow, equation: Equation) -> str:
    """Return the operation whose derivative an equation computes, or whose slope; ``""`` for none.

    A slope is what a forward pass computes only for the backward one: an equation there that transposes another
    equation multiplies by it.
    """
    if equation.role != "forward":
        forward = None if equation.transposes is None else flow.places.get(equation.transposes)
        return "" if forward is None else forward.equation.operation
    consumers = [
        other
        for other, _ in flow.places.values()
        if other.path.parent == equation.path.parent and set(other.inputs) & set(equation.outputs)
    ]
    transposed = {consumer.transposes for consumer in consumers if consumer.role == "backward"}
    if len(transposed) != 1 or any(consumer.role != "backward" for consumer in consumers):
        return ""
    (path,) = transposed
    forward = None if path is None or path == equation.path else flow.places.get(path)
    return "" if forward is None else forward.equation.operation


def moment(path: EquationPath, iterations: Sequence[int], loops: Sequence[bool]) -> Moment:
    """Return when the equation at ``path`` ran.

    ``iterations`` are those of the loops around it, ``loops`` say for each step of the path but the last whether it is
    a loop.
    """
    remaining = iter(iterations)
    numbers: list[int] = []
    for step, is_loop in zip(path.steps[:-1], loops, strict=False):
        numbers += [step.body, step.number, next(remaining, 0) if is_loop else 0]
    last = path.steps[-1:]
    return (*numbers, last[0].body, last[0].number, _AFTER) if last else _BEGIN


def _never(kind: Kind) -> Moment | None:
    return None


def _literal_source(name: str) -> Source:
    """Return the source of a literal, by its text (``inf:f32[]``)."""
    text = name.partition(":")[0]
    is_nan, is_inf = text.endswith("nan"), text.endswith("inf")
    return lambda kind: _BEGIN if is_nan or (is_inf and kind == "inf") else None


def _earliest(sources: Sequence[Source]) -> Source:
    def find_earliest(kind: Kind) -> Moment | None:
        moments = [when for when in (source(kind) for source in sources) if when is not None]
        return min(moments, default=None)

    return find_earliest


def _body_operands(equation: Equation, body: Jaxpr, operands: Sequence[Source]) -> Sequence[Source]:
    """Return the sources of a body's operands (of a loop, at its beginning)."""
    if equation.operation == "cond":
        return operands[1:]
    if equation.operation == "while":
        return operands[len(operands) - len(body.inputs) :]  # behind the constants of the condition
    return operands


def _while_consts(equation: Equation) -> tuple[int, int]:
    """Return the numbers of constants of the condition and of the body of a while loop."""
    body, condition = equation.bodies[0], equation.bodies[1]
    carried = len(equation.outputs)
    return len(condition.inputs) - carried, len(body.inputs) - carried


def _carry_sources(
    equation: Equation, body: Jaxpr, operands: Sequence[Source], pending: dict[int, Source]
) -> dict[str, Source]:
    """Return the sources of the carry in a loop's body: the initial values, or what an earlier iteration computed.

    ``pending`` gets the sources of the body's results once they are known.
    """
    if equation.operation == "while":
        cond_consts, first = _while_consts(equation)
        init, count = operands[cond_consts + first :], len(equation.outputs)
    else:
        first, count = _parameter(equation, "num_consts"), _parameter(equation, "num_carry")
        init = operands[first : first + count]

    def make_carry_source(index: int) -> Source:
        is_running = False

        def source(kind: Kind) -> Moment | None:
            nonlocal is_running
            if is_running or index not in pending:
                return init[index](kind)
            is_running = True
            try:
                later = pending[index](kind)
            finally:
                is_running = False
            return min((when for when in (init[index](kind), later) if when is not None), default=None)

        return source

    return {body.inputs[first + index]: make_carry_source(index) for index in range(count)}


def _parameter(equation: Equation, name: str) -> int:
    for part in equation.parameters.split():
        key, _, value = part.partition("=")
        if key == name:
            return int(value)
    return 0


# Births ---------------------------------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """Event of a value, with the moment; ``is_born`` says that no operand was bad before it."""

    moment: Moment
    value: ProbedValue
    is_born: bool


def find_births(flow: ValueFlow, kind: Kind) -> list[Candidate]:
    """Return the events of one kind in the order in which they happened: arguments, and results of equations."""
    candidates = []
    opened = {path.parent for path, position, _ in flow.values if position == "result"}
    for (path, position, _), value in flow.values.items():
        iterations = value.first_nan if kind == "nan" else value.first_inf
        if iterations is None or position not in ("argument", "result"):
            continue
        if kind == "inf" and value.first_nan is not None and value.first_nan <= iterations:
            continue  # it was NaN from the beginning
        if position == "argument":
            candidates.append(Candidate(_BEGIN, value, True))
            continue
        equation_place = flow.places[path]
        when = moment(path, iterations, _loops_of(flow, path))
        earlier = [source(kind) for source in equation_place.operands]
        is_born = not any(other is not None and other < when for other in earlier)
        is_born = is_born and not _comes_from_inside(equation_place.equation, opened)
        candidates.append(Candidate(when, value, is_born))
    return sorted(candidates, key=lambda candidate: candidate.moment)


def _comes_from_inside(equation: Equation, opened: Container[EquationPath]) -> bool:
    """Return whether the results of an equation come from programs that it holds and that are probed inside.

    ``opened`` are the equations inside which values were probed. Of programs of jax a ``shard_map`` is not.
    """
    if equation.operation == "shard_map":
        return equation.path in opened
    return equation.operation in _TRANSPARENT


def _loops_of(flow: ValueFlow, path: EquationPath) -> tuple[bool, ...]:
    loops: list[bool] = []
    outer = path.parent
    while outer:
        loops.append(flow.places[outer].equation.operation in _LOOPS)
        outer = outer.parent
    return tuple(reversed(loops))


def first_birth(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the first event that was born; the first event at all if the program does not show where it came from."""
    return next((item for item in candidates if item.is_born), candidates[0] if candidates else None)


__all__ = ["Candidate", "Place", "ValueFlow", "find_births", "first_birth", "moment"]
