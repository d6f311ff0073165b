"""Taylor mode: values with the coefficients of a truncated power series.

An operation says how the coefficients of its results follow from its operands' (``taylor_rule``), or leaves
it to its ``jvp`` rule. That rule is a differential equation, y' = f'(x, y) x', and the coefficients of y
follow from it one by one: coefficient k of y is coefficient k - 1 of the right-hand side, divided by k. The
right-hand side is computed by the operations in the rule, whose series are found in the same way. For e^x,
sin and cos, log, tanh and similar functions this is the classical recurrence: A. Griewank, A. Walther,
"Evaluating Derivatives", 2nd edition, SIAM 2008, chapter 13.

So that a series can stand on both sides of its equation, rules run under a trace that computes coefficients
lazily (M. D. McIlroy, "Power series, power serious", J. Functional Programming 9, 1999) and memoizes its
operations: sin finds the cosine of the same operand and the cosine finds this sine. The work is polynomial in
the order, where nested forward differentiation doubles it with each.
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
    """Value with a power series: ``series[0]`` is the value, ``series[k]`` the coefficient of degree k or ZERO."""

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
    """Trace that computes the coefficients of all results of each operation, up to ``order``."""

    __slots__ = ("alive", "order", "parent", "staging")

    def __init__(self, parent: Any, order: int) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.order = order
        self.alive = True

    take = bind_each
    take_from = bind_each_from

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results, with series if an operand has one."""
        owned = [x.__class__ is TaylorTracer and x._trace is self for x in operands]
        if not any(owned):
            return run(operation, operands) if self.parent is None else self.parent.bind(operation, operands)
        _require_movable(operation, [x for x, is_own in zip(operands, owned, strict=True) if is_own])
        previous, origin = STATE.trace, STATE.origin
        try:
            if origin is None:
                STATE.origin = origin_of("forward", None, *user_frame(2))
            elif origin.lasti == NO_LINE:
                STATE.origin = with_line(origin, 2)
            if operation.taylor_program_rule is not None:
                STATE.trace = self.parent
                all_terms = at_once(
                    operation, [_series_of(x, is_own) for x, is_own in zip(operands, owned, strict=True)], self.order
                )
            else:
                memo = STATE.trace = _Steps(self.parent)
                inner = [TaylorTracer(memo, x.aval, x.series) if m else x for x, m in zip(operands, owned, strict=True)]
                results = memo.bind(operation, inner)
                all_terms = [[_series_of(y, memo.owns(y))[k] for k in range(self.order + 1)] for y in results]
        finally:
            STATE.trace, STATE.origin = previous, origin
        return [self.tracer(terms) for terms in all_terms]

    def tracer(self, terms: list[Any]) -> Any:
        """Return a tracer for a value and its coefficients; the value alone when all coefficients are ZERO."""
        if all(term is ZERO for term in terms[1:]):
            return terms[0]
        return TaylorTracer(self, aval_of(terms[0]), terms)


def _require_movable(operation: Operation, moving: Sequence[TaylorTracer]) -> None:
    """Raise TypeError if an integer with a series is an operand of anything but a conversion."""
    for x in moving:
        if not is_differentiable(x.dtype) and not isinstance(operation, ConvertElementType):
            raise TypeError(
                f"{operation.name} of a value of type {x.aval.str_short()} that was given a series: integers and truth "
                "values do not move. Give jet a floating-point primal (1.0 instead of 1, or astype(float))."
            )


class _Fixed:
    """Series of a constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, degree: int) -> Any:
        return ZERO if degree else self.value


def _series_of(x: Any, moves: bool) -> Any:
    return x.series if moves else _Fixed(x)


class _Steps:
    """Trace under which the rules for one operation run: memoizes operations and computes coefficients lazily."""

    __slots__ = ("alive", "done", "parent", "rates", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True
        #: Results by operation and ids of operands; operands are referenced so that their ids stay unique.
        self.done: dict[Any, tuple[Sequence[Any], list[Any]]] = {}
        #: The derivative of each tracer that was differentiated, by its id.
        self.rates: dict[int, TaylorTracer] = {}

    take = bind_each
    take_from = bind_each_from

    def owns(self, x: Any) -> bool:
        """Return whether a value is a tracer of this trace."""
        return x.__class__ is TaylorTracer and x._trace is self

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation, or return the results of its first application to the same operands."""
        key = (operation, *map(id, operands))
        entry = self.done.get(key)
        if entry is None:
            entry = self.done[key] = (operands, self._first(operation, operands))
        return list(entry[1])

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
        """Return the derivative of an operand, as one tracer per operand."""
        if not self.owns(x) or not is_differentiable(x.dtype):
            return ZERO
        derivative = self.rates.get(id(x))
        if derivative is None:
            derivative = self.rates[id(x)] = TaylorTracer(self, strengthened(x.aval), _Rate(x))
        return derivative


class _Rate:
    """Series of the derivative of a tracer: coefficient k is k + 1 times the tracer's coefficient k + 1."""

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
    """Series of one result of an operation, computed lazily."""

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
    """Series of the results of an operation, as far as they have been computed."""

    __slots__ = ("operands", "operation", "rates", "series", "steps", "terms")

    def __init__(
        self,
        trace: _Steps,
        operation: Operation,
        operands: Sequence[Any],
        series: Sequence[Any],
        results: Sequence[Any],
    ) -> None:
        self.steps = trace
        self.operation = operation
        self.operands = operands
        self.series = series
        self.terms: list[list[Any]] = [[y] for y in results]
        self.rates: list[Any] | None = None

    def extend(self) -> None:
        """Compute the next coefficient of every result."""
        degree = len(self.terms[0])
        previous = STATE.trace
        try:
            STATE.trace = self.steps
            if self.operation.taylor_rule is not None:
                next_terms = self.operation.taylor_rule(degree, self.series, self.terms)
            elif self.operation.taylor_program_rule is not None:
                next_terms = [terms[degree] for terms in at_once(self.operation, self.series, degree)]
            else:
                next_terms = self._by_jvp(degree)
        finally:
            STATE.trace = previous
        for terms, term in zip(self.terms, next_terms, strict=True):
            terms.append(term)

    def _by_jvp(self, degree: int) -> list[Any]:
        """Return the next coefficients, which solve the differential equation of the ``jvp`` rule."""
        if self.rates is None:
            _, self.rates = self.operation.jvp(self.operands, [self.steps.rate(x) for x in self.operands])
        rates = [ZERO if r is ZERO else _series_of(r, self.steps.owns(r))[degree - 1] for r in self.rates]
        return [r if r is ZERO or degree == 1 else div(r, float(degree)) for r in rates]


def at_once(operation: Operation, series: Sequence[Any], order: int) -> list[list[Any]]:
    """Return the series of an operation that holds programs, by its ``taylor_program_rule``."""
    assert operation.taylor_program_rule is not None
    terms = [[x[k] for k in range(1, order + 1)] for x in series]
    results, out_terms = operation.taylor_program_rule([x[0] for x in series], terms)
    return [[y, *of_y] for y, of_y in zip(results, out_terms, strict=True)]


def taylor(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[list[Any]]]:
    """Return the flat results of a flat function and their coefficients of degree 1, 2, … (ZERO for constants).

    ``series`` has the coefficients of each operand, the same number for all, without factorials.
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
    out_series = [_series_of(y, y.__class__ is TaylorTracer and y._trace is trace) for y in results]
    return [y[0] for y in out_series], [[y[k] for k in range(1, order + 1)] for y in out_series]


def taylor_program(
    program: ClosedJaxpr, order: int, moving: tuple[bool, ...], instantiate: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return the program of (operands, coefficients) to (results, coefficients), and which results have coefficients.

    ``moving`` marks the operands that have coefficients. Those of degree 1 to ``order`` follow each other,
    operand by operand. Results marked in ``instantiate`` get coefficients in any case, of zeros if need be.
    """
    key = ("taylor", order, moving, instantiate)
    entry = program.derived.get(key)
    if entry is None:
        out_moving: list[bool] = []

        def run_taylor(*arguments: Any) -> list[Any]:
            count = len(moving)
            series = separated(arguments[count:], moving, order)
            results, terms = taylor(lambda *xs: evaluate(program, *xs), arguments[:count], series)
            flags = marked(terms)
            out_moving[:] = flags if instantiate is None else [m or f for m, f in zip(flags, instantiate, strict=True)]
            return [*results, *joined(results, terms, out_moving)]

        avals = program.in_avals
        coefficients = [strengthened(a) for a, m in zip(avals, moving, strict=True) if m for _ in range(order)]
        staged = stage_held(run_taylor, [*avals, *coefficients], program.name)
        entry = program.derived[key] = (staged, tuple(out_moving))
    return entry


def joined(values: Sequence[Any], series: Sequence[Sequence[Any]], moving: Sequence[bool]) -> list[Any]:
    """Return the coefficients of the moving values in one list, with ZERO instantiated as arrays of zeros."""
    return [
        zeros_of(strengthened(aval_of(x))) if term is ZERO else term
        for x, terms, moves in zip(values, series, moving, strict=True)
        if moves
        for term in terms
    ]


def marked(series: Sequence[Sequence[Any]]) -> tuple[bool, ...]:
    """Return for each value whether it has a coefficient that is not ZERO."""
    return tuple(any(term is not ZERO for term in terms) for terms in series)


def in_groups(groups: Sequence[Sequence[int]], moving: Sequence[bool], order: int) -> list[int]:
    """Return indices into values and their flat coefficients that order them by group: values, then coefficients."""
    starts = itertools.accumulate((order * moves for moves in moving), initial=len(moving))
    terms = [range(at, at + order * moves) for at, moves in zip(starts, moving, strict=False)]
    return [index for group in groups for index in (*group, *(k for i in group for k in terms[i]))]


def separated(terms: Sequence[Any], moving: Sequence[bool], order: int) -> list[list[Any]]:
    """Return the coefficients of each value from a flat list, ZERO for values that do not move.

    The inverse of :func:`flatten_coefficients`.
    """
    remaining = iter(terms)
    return [[next(remaining) for _ in range(order)] if moves else [ZERO] * order for moves in moving]
