"""Taylor mode: values with the coefficients of a truncated power series beside them.

An operation says how the coefficients of its results follow from its operands' (``taylor_rule``), or leaves it to its
``jvp`` rule. That rule is a differential equation, y' = f'(x, y) x', and the coefficients of y follow from it one by
one: coefficient k of y is coefficient k - 1 of the right-hand side, divided by k. What gives that coefficient are the
operations in the rule, whose series are found in the same way. For e^x, sin and cos, log, tanh and their like this
*is* the classical recurrence: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd edition, SIAM 2008, chapter 13.

So that a series can stand on both sides of its equation, rules run under a trace that leaves coefficients for later
(M. D. McIlroy, "Power series, power serious", J. Functional Programming 9, 1999) and remembers its steps: sin finds
the cosine of the same operand and the cosine finds this sine. The work is polynomial in the order, where nested
forward differentiation doubles it with each.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import is_differentiable
from ..ir.atoms import NO_LINE, origin_of
from ..ir.avals import ShapedArray, strengthened
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..operations.arithmetic import div, mul
from ..operations.conversion import ConvertElementType
from ..operations.shapes import zeros_of
from ..trace.jaxpr_trace import bind_each, bind_each_from
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.running.eager import run
from .evaluate import evaluate
from .staging import stage_held


class TaylorTracer(Tracer):
    """A value that moves: ``series[0]`` is the value, ``series[k]`` the coefficient of degree k, ZERO if there is
    none.
    """

    __slots__ = ("_trace", "aval", "series")

    def __init__(self, trace: Any, aval: ShapedArray, series: Any) -> None:
        self._trace = trace
        self.aval = aval
        self.series = series

    def concrete(self) -> Any:
        value = self.series[0]
        return value.concrete() if isinstance(value, Tracer) else value

    def inner(self) -> Any:
        return self.series[0]


class TaylorTrace:
    """Gives the results of each operation all their coefficients, up to ``order``."""

    __slots__ = ("alive", "order", "parent", "staging")

    def __init__(self, parent: Any, order: int) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.order = order
        self.alive = True

    take = bind_each
    take_from = bind_each_from

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of an operation, with series where an operand has one."""
        mine = [x.__class__ is TaylorTracer and x._trace is self for x in operands]
        if not any(mine):
            return run(operation, operands) if self.parent is None else self.parent.bind(operation, operands)
        _require_movable(operation, [x for x, own in zip(operands, mine, strict=True) if own])
        previous, origin = STATE.trace, STATE.origin
        try:
            if origin is None:
                STATE.origin = origin_of("forward", None, *user_frame(2))
            elif origin.lasti == NO_LINE:
                STATE.origin = with_line(origin, 2)
            if operation.taylor_program_rule is not None:
                STATE.trace = self.parent
                found = at_once(
                    operation, [_series_of(x, own) for x, own in zip(operands, mine, strict=True)], self.order
                )
            else:
                steps = STATE.trace = _Steps(self.parent)
                given = [TaylorTracer(steps, x.aval, x.series) if m else x for x, m in zip(operands, mine, strict=True)]
                results = steps.bind(operation, given)
                found = [[_series_of(y, steps.owns(y))[k] for k in range(self.order + 1)] for y in results]
        finally:
            STATE.trace, STATE.origin = previous, origin
        return [self.tracer(terms) for terms in found]

    def tracer(self, terms: list[Any]) -> Any:
        """A tracer for a value and its coefficients; the value alone when nothing moves it."""
        if all(term is ZERO for term in terms[1:]):
            return terms[0]
        return TaylorTracer(self, aval_of(terms[0]), terms)


def _require_movable(operation: Operation, moving: Sequence[TaylorTracer]) -> None:
    """Raise TypeError where an integer that was given a series goes into more than a conversion."""
    for x in moving:
        if not is_differentiable(x.dtype) and not isinstance(operation, ConvertElementType):
            raise TypeError(
                f"{operation.name} of a value of type {x.aval.str_short()} that was given a series: integers and truth "
                "values do not move. Give jet a floating-point primal (1.0 instead of 1, or astype(float))."
            )


class _Fixed:
    """The series of something that does not move."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, degree: int) -> Any:
        return ZERO if degree else self.value


def _series_of(x: Any, moves: bool) -> Any:
    return x.series if moves else _Fixed(x)


class _Steps:
    """The trace under which the rules for one operation run: each step is done once, coefficients when asked for."""

    __slots__ = ("alive", "done", "parent", "rates", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True
        #: Results by operation and operands; the operands are kept so that no other gets their identity.
        self.done: dict[Any, tuple[Sequence[Any], list[Any]]] = {}
        #: The derivative of each tracer that was differentiated.
        self.rates: dict[int, TaylorTracer] = {}

    take = bind_each
    take_from = bind_each_from

    def owns(self, x: Any) -> bool:
        """Whether a value is a tracer of this trace."""
        return x.__class__ is TaylorTracer and x._trace is self

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of an operation, those of the first time when it has been done before."""
        key = (operation, *map(id, operands))
        found = self.done.get(key)
        if found is None:
            found = self.done[key] = (operands, self._first(operation, operands))
        return list(found[1])

    def _first(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        series = [_series_of(x, self.owns(x)) for x in operands]
        values = [x[0] for x in series]
        results = run(operation, values) if self.parent is None else self.parent.bind(operation, values)
        if not any(map(self.owns, operands)):
            return results
        solution = _Solution(self, operation, operands, series, results)
        return [
            TaylorTracer(self, aval_of(y), _Unknown(solution, i)) if is_differentiable(aval_of(y).dtype) else y
            for i, y in enumerate(results)
        ]

    def rate(self, x: Any) -> Any:
        """The derivative of an operand: a tracer, one for each operand."""
        if not self.owns(x) or not is_differentiable(x.dtype):
            return ZERO
        found = self.rates.get(id(x))
        if found is None:
            found = self.rates[id(x)] = TaylorTracer(self, strengthened(x.aval), _Rate(x))
        return found


class _Rate:
    """The series of the derivative of a tracer: coefficient k is k + 1 times the tracer's coefficient k + 1."""

    __slots__ = ("of", "terms")

    def __init__(self, of: TaylorTracer) -> None:
        self.of = of
        self.terms: list[Any] = []

    def __getitem__(self, degree: int) -> Any:
        while len(self.terms) <= degree:
            above = len(self.terms) + 1
            term = self.of.series[above]
            if term is not ZERO:
                self.terms.append(term if above == 1 else mul(term, float(above)))
            else:
                self.terms.append(zeros_of(strengthened(self.of.aval)) if above == 1 else ZERO)
        return self.terms[degree]


class _Unknown:
    """The series of one result of an operation."""

    __slots__ = ("index", "solution")

    def __init__(self, solution: _Solution, index: int) -> None:
        self.solution = solution
        self.index = index

    def __getitem__(self, degree: int) -> Any:
        terms = self.solution.terms[self.index]
        while len(terms) <= degree:
            self.solution.extend()
        return terms[degree]


class _Solution:
    """The series of the results of an operation, as far as they are known."""

    __slots__ = ("operands", "operation", "rates", "series", "steps", "terms")

    def __init__(
        self,
        steps: _Steps,
        operation: Operation,
        operands: Sequence[Any],
        series: Sequence[Any],
        results: Sequence[Any],
    ) -> None:
        self.steps = steps
        self.operation = operation
        self.operands = operands
        self.series = series
        self.terms: list[list[Any]] = [[y] for y in results]
        self.rates: list[Any] | None = None

    def extend(self) -> None:
        """Find the next coefficient of every result."""
        degree = len(self.terms[0])
        previous = STATE.trace
        try:
            STATE.trace = self.steps
            if self.operation.taylor_rule is not None:
                found = self.operation.taylor_rule(degree, self.series, self.terms)
            elif self.operation.taylor_program_rule is not None:
                found = [terms[degree] for terms in at_once(self.operation, self.series, degree)]
            else:
                found = self._by_jvp(degree)
        finally:
            STATE.trace = previous
        for terms, term in zip(self.terms, found, strict=True):
            terms.append(term)

    def _by_jvp(self, degree: int) -> list[Any]:
        """The coefficients that solve y' = what the ``jvp`` rule says."""
        if self.rates is None:
            _, self.rates = self.operation.jvp(self.operands, [self.steps.rate(x) for x in self.operands])
        rates = [ZERO if r is ZERO else _series_of(r, self.steps.owns(r))[degree - 1] for r in self.rates]
        return [r if r is ZERO or degree == 1 else div(r, float(degree)) for r in rates]


def at_once(operation: Operation, series: Sequence[Any], order: int) -> list[list[Any]]:
    """The series of an operation that holds programs, by its ``taylor_program_rule``."""
    assert operation.taylor_program_rule is not None
    terms = [[x[k] for k in range(1, order + 1)] for x in series]
    results, found = operation.taylor_program_rule([x[0] for x in series], terms)
    return [[y, *of_y] for y, of_y in zip(results, found, strict=True)]


def taylor(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[list[Any]]]:
    """The flat results of a flat function and their coefficients of degree 1, 2, … (ZERO where nothing moves).

    ``series`` has the coefficients of each operand, as many for one as for another, without factorials.
    """
    previous = STATE.trace
    order = len(series[0]) if series else 0
    trace = TaylorTrace(previous, order)
    operands = [trace.tracer([x, *terms]) for x, terms in zip(primals, series, strict=True)]
    try:
        STATE.trace = trace
        results = function(*operands)
    finally:
        STATE.trace = previous
        trace.alive = False
    found = [_series_of(y, y.__class__ is TaylorTracer and y._trace is trace) for y in results]
    return [y[0] for y in found], [[y[k] for k in range(1, order + 1)] for y in found]


def taylor_program(
    program: ClosedJaxpr, order: int, moving: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """A program of (operands, coefficients of the moving ones) to (results, those of the moving results); which move.

    The coefficients of degree 1 to ``order`` follow each other, operand by operand. Results marked in ``forced`` get
    coefficients, of zeros where nothing moves them.
    """
    key = ("taylor", order, moving, forced)
    found = program.derived.get(key)
    if found is None:
        out_moving: list[bool] = []

        def expanded(*arguments: Any) -> list[Any]:
            count = len(moving)
            series = separated(arguments[count:], moving, order)
            results, terms = taylor(lambda *xs: evaluate(program, *xs), arguments[:count], series)
            moved = marked(terms)
            out_moving[:] = moved if forced is None else [m or f for m, f in zip(moved, forced, strict=True)]
            return [*results, *joined(results, terms, out_moving)]

        avals = program.in_avals
        coefficients = [strengthened(a) for a, m in zip(avals, moving, strict=True) if m for _ in range(order)]
        made = stage_held(expanded, [*avals, *coefficients], program.name)
        found = program.derived[key] = (made, tuple(out_moving))
    return found


def joined(values: Sequence[Any], series: Sequence[Sequence[Any]], moving: Sequence[bool]) -> list[Any]:
    """The coefficients of the moving values one after the other, with zeros for those that are ZERO."""
    return [
        zeros_of(strengthened(aval_of(x))) if term is ZERO else term
        for x, terms, moves in zip(values, series, moving, strict=True)
        if moves
        for term in terms
    ]


def marked(series: Sequence[Sequence[Any]]) -> tuple[bool, ...]:
    """Which values have a coefficient that is not ZERO."""
    return tuple(any(term is not ZERO for term in terms) for terms in series)


def in_groups(groups: Sequence[Sequence[int]], moving: Sequence[bool], order: int) -> list[int]:
    """Places among values and their :func:`joined` coefficients: each group of values, then their coefficients."""
    starts = itertools.accumulate((order * moves for moves in moving), initial=len(moving))
    terms = [range(at, at + order * moves) for at, moves in zip(starts, moving, strict=False)]
    return [place for group in groups for place in (*group, *(k for i in group for k in terms[i]))]


def separated(terms: Sequence[Any], moving: Sequence[bool], order: int) -> list[list[Any]]:
    """The reverse of :func:`joined`: the coefficients of each value, ZERO where it does not move."""
    rest = iter(terms)
    return [[next(rest) for _ in range(order)] if moves else [ZERO] * order for moves in moving]
