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
from ..ir.atoms import NO_LINE, make_origin
from ..ir.avals import ShapedArray, strip_weak_type
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..operations.arithmetic import div, mul
from ..operations.conversion import ConvertElementType
from ..operations.shapes import zeros_of
from ..trace.jaxpr_trace import emit_each, emit_each_at
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.execution.eager import execute
from .evaluate import evaluate
from .staging import stage_with_consts


class TaylorTracer(TracerBase):
    """Tracer for a value with a power series.

    ``series[0]`` is the value, ``series[k]`` the coefficient of degree k, or ZERO.
    """

    __slots__ = ("_trace", "aval", "series")

    def __init__(self, trace: Any, aval: ShapedArray, series: Any) -> None:
        self._trace = trace
        self.aval = aval
        self.series = series

    def concrete(self) -> Any:
        value = self.series[0]
        return value.concrete() if isinstance(value, TracerBase) else value

    def inner(self) -> Any:
        return self.series[0]


class TaylorTrace:
    """Trace that computes the power series of all results of each operation, up to degree ``order``."""

    __slots__ = ("alive", "order", "parent", "staging")

    def __init__(self, parent: Any, order: int) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.order = order
        self.alive = True

    emit = emit_each
    emit_at = emit_each_at

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results: tracers with a power series where a coefficient is not ZERO."""
        owned = [x.__class__ is TaylorTracer and x._trace is self for x in operands]
        if not any(owned):
            return execute(operation, operands) if self.parent is None else self.parent.bind(operation, operands)
        _require_differentiable(operation, [x for x, is_own in zip(operands, owned, strict=True) if is_own])
        previous, origin = STATE.trace, STATE.origin
        try:
            if origin is None:
                STATE.origin = make_origin("forward", None, *user_frame(2))
            elif origin.lasti == NO_LINE:
                STATE.origin = with_line(origin, 2)
            if operation.taylor_program_rule is not None:
                STATE.trace = self.parent
                all_terms = apply_program_rule(
                    operation, [_series_of(x, is_own) for x, is_own in zip(operands, owned, strict=True)], self.order
                )
            else:
                memo = STATE.trace = _MemoTrace(self.parent)
                inner = [TaylorTracer(memo, x.aval, x.series) if m else x for x, m in zip(operands, owned, strict=True)]
                results = memo.bind(operation, inner)
                all_terms = [[_series_of(y, memo.is_own_tracer(y))[k] for k in range(self.order + 1)] for y in results]
        finally:
            STATE.trace, STATE.origin = previous, origin
        return [self.make_tracer(terms) for terms in all_terms]

    def make_tracer(self, terms: list[Any]) -> Any:
        """Return a tracer for a power series; its value alone when all other coefficients are ZERO.

        ``terms`` are the value and the coefficients of degree 1, 2, ….
        """
        if all(term is ZERO for term in terms[1:]):
            return terms[0]
        return TaylorTracer(self, aval_of(terms[0]), terms)


def _require_differentiable(operation: Operation, moving: Sequence[TaylorTracer]) -> None:
    """Raise TypeError if an integer or boolean operand with a series is given to anything but a conversion.

    ``moving`` are the operands that have a series.
    """
    for x in moving:
        if not is_differentiable(x.dtype) and not isinstance(operation, ConvertElementType):
            raise TypeError(
                f"{operation.name} of a value of type {x.aval.str_short()} that was given a series: integers and truth "
                "values do not move. Give jet a floating-point primal (1.0 instead of 1, or astype(float))."
            )


class _ConstantSeries:
    """Power series of a constant: its value, and ZERO for every other degree."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, degree: int) -> Any:
        return ZERO if degree else self.value


def _series_of(x: Any, moves: bool) -> Any:
    return x.series if moves else _ConstantSeries(x)


class _MemoTrace:
    """Trace under which the rules for one operation run.

    It computes coefficients lazily, and memoizes the results of operations and the derivatives of tracers for
    its lifetime, the application of one operation.
    """

    __slots__ = ("alive", "derivatives", "parent", "results_by_call", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.alive = True
        #: Results by operation and ids of operands; operands are referenced so that their ids stay unique.
        self.results_by_call: dict[Any, tuple[Sequence[Any], list[Any]]] = {}
        #: The derivative of each tracer that was differentiated, by its id.
        self.derivatives: dict[int, TaylorTracer] = {}

    emit = emit_each
    emit_at = emit_each_at

    def is_own_tracer(self, x: Any) -> bool:
        """Return whether a value is a tracer of this trace."""
        return x.__class__ is TaylorTracer and x._trace is self

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation, or return the results of its first application to the same operands."""
        key = (operation, *map(id, operands))
        entry = self.results_by_call.get(key)
        if entry is None:
            entry = self.results_by_call[key] = (operands, self._apply_once(operation, operands))
        return list(entry[1])

    def _apply_once(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Return the results of an operation: tracers whose coefficients are computed when they are read."""
        series = [_series_of(x, self.is_own_tracer(x)) for x in operands]
        values = [x[0] for x in series]
        results = execute(operation, values) if self.parent is None else self.parent.bind(operation, values)
        if not any(map(self.is_own_tracer, operands)):
            return results
        solution = _SeriesSolver(self, operation, operands, series, results)
        return [
            TaylorTracer(self, aval_of(y), _ResultSeries(solution, i)) if is_differentiable(aval_of(y).dtype) else y
            for i, y in enumerate(results)
        ]

    def derivative_of(self, x: Any) -> Any:
        """Return a tracer for the derivative of an operand, always the same one; ZERO for a constant or an integer."""
        if not self.is_own_tracer(x) or not is_differentiable(x.dtype):
            return ZERO
        derivative = self.derivatives.get(id(x))
        if derivative is None:
            derivative = self.derivatives[id(x)] = TaylorTracer(self, strip_weak_type(x.aval), _DerivativeSeries(x))
        return derivative


class _DerivativeSeries:
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
                self.terms.append(zeros_of(strip_weak_type(self.of.aval)) if above == 1 else ZERO)
        return self.terms[degree]


class _ResultSeries:
    """Power series of result ``index`` of an operation; ``solution`` computes its coefficients when they are read."""

    __slots__ = ("index", "solution")

    def __init__(self, solution: _SeriesSolver, index: int) -> None:
        self.solution = solution
        self.index = index

    def __getitem__(self, degree: int) -> Any:
        terms = self.solution.terms[self.index]
        while len(terms) <= degree:
            self.solution.extend()
        return terms[degree]


class _SeriesSolver:
    """Power series of all results of an operation, as far as they have been computed.

    ``series`` are the series of the operands, ``results`` the values of the results; ``terms`` has for each
    result the list of its known coefficients.
    """

    __slots__ = ("derivatives", "operands", "operation", "series", "terms", "trace")

    def __init__(
        self,
        trace: _MemoTrace,
        operation: Operation,
        operands: Sequence[Any],
        series: Sequence[Any],
        results: Sequence[Any],
    ) -> None:
        self.trace = trace
        self.operation = operation
        self.operands = operands
        self.series = series
        self.terms: list[list[Any]] = [[y] for y in results]
        self.derivatives: list[Any] | None = None

    def extend(self) -> None:
        """Compute the next coefficient of every result and append it to ``terms``."""
        degree = len(self.terms[0])
        previous = STATE.trace
        try:
            STATE.trace = self.trace
            if self.operation.taylor_rule is not None:
                next_terms = self.operation.taylor_rule(degree, self.series, self.terms)
            elif self.operation.taylor_program_rule is not None:
                next_terms = [terms[degree] for terms in apply_program_rule(self.operation, self.series, degree)]
            else:
                next_terms = self._by_jvp(degree)
        finally:
            STATE.trace = previous
        for terms, term in zip(self.terms, next_terms, strict=True):
            terms.append(term)

    def _by_jvp(self, degree: int) -> list[Any]:
        """Return the coefficient of that degree of each result, from the differential equation of the ``jvp`` rule."""
        if self.derivatives is None:
            _, self.derivatives = self.operation.jvp(
                self.operands, [self.trace.derivative_of(x) for x in self.operands]
            )
        rates = [
            ZERO if r is ZERO else _series_of(r, self.trace.is_own_tracer(r))[degree - 1] for r in self.derivatives
        ]
        return [r if r is ZERO or degree == 1 else div(r, float(degree)) for r in rates]


def apply_program_rule(operation: Operation, series: Sequence[Any], order: int) -> list[list[Any]]:
    """Return the series of the results of an operation that holds programs, by its ``taylor_program_rule``.

    ``series`` are those of the operands. Each result has a list: its value and its coefficients up to degree
    ``order``.
    """
    assert operation.taylor_program_rule is not None
    terms = [[x[k] for k in range(1, order + 1)] for x in series]
    results, out_terms = operation.taylor_program_rule([x[0] for x in series], terms)
    return [[y, *of_y] for y, of_y in zip(results, out_terms, strict=True)]


def taylor(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[list[Any]]]:
    """Return the results of a function and their coefficients of degree 1, 2, … (ZERO for constants).

    ``function`` takes operands and returns a sequence of results. ``series`` has the coefficients of each
    operand, the same number for all, without factorials.
    """
    previous = STATE.trace
    order = len(series[0]) if series else 0
    trace = TaylorTrace(previous, order)
    operands = [trace.make_tracer([x, *terms]) for x, terms in zip(primals, series, strict=True)]
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
    """Return the program that computes results and their coefficients, and the mask of the results that have some.

    ``moving`` is the mask of the operands that have coefficients. The program takes all operands, then the
    coefficients of degree 1 to ``order``, operand by operand, and returns results and coefficients in the
    same order. Results marked in ``instantiate`` get coefficients in any case, of zeros if need be.
    """
    key = ("taylor", order, moving, instantiate)
    entry = program.derived.get(key)
    if entry is None:
        out_moving: list[bool] = []

        def run_taylor(*arguments: Any) -> list[Any]:
            count = len(moving)
            series = unflatten_coefficients(arguments[count:], moving, order)
            results, terms = taylor(lambda *xs: evaluate(program, *xs), arguments[:count], series)
            flags = find_moving(terms)
            out_moving[:] = flags if instantiate is None else [m or f for m, f in zip(flags, instantiate, strict=True)]
            return [*results, *flatten_coefficients(results, terms, out_moving)]

        avals = program.in_avals
        coefficients = [strip_weak_type(a) for a, m in zip(avals, moving, strict=True) if m for _ in range(order)]
        staged = stage_with_consts(run_taylor, [*avals, *coefficients], program.name)
        entry = program.derived[key] = (staged, tuple(out_moving))
    return entry


def flatten_coefficients(values: Sequence[Any], series: Sequence[Sequence[Any]], moving: Sequence[bool]) -> list[Any]:
    """Return the coefficients of the values marked in ``moving`` in one list, with arrays of zeros in place of ZERO.

    ``series`` has for each of ``values`` its coefficients of degree 1, 2, ….
    """
    return [
        zeros_of(strip_weak_type(aval_of(x))) if term is ZERO else term
        for x, terms, moves in zip(values, series, moving, strict=True)
        if moves
        for term in terms
    ]


def find_moving(series: Sequence[Sequence[Any]]) -> tuple[bool, ...]:
    """Return for each value whether one of its coefficients is not ZERO; ``series`` has a list of these per value."""
    return tuple(any(term is not ZERO for term in terms) for terms in series)


def group_indices(groups: Sequence[Sequence[int]], moving: Sequence[bool], order: int) -> list[int]:
    """Return the indices that reorder values and their coefficients by group: values, then coefficients, of each group.

    They index a list of all values, followed by ``order`` coefficients for each value marked in ``moving``.
    ``groups`` has the indices of the values in each group.
    """
    starts = itertools.accumulate((order * moves for moves in moving), initial=len(moving))
    terms = [range(at, at + order * moves) for at, moves in zip(starts, moving, strict=False)]
    return [index for group in groups for index in (*group, *(k for i in group for k in terms[i]))]


def unflatten_coefficients(terms: Sequence[Any], moving: Sequence[bool], order: int) -> list[list[Any]]:
    """Return for each value the list of its ``order`` coefficients, ZERO for values that are not marked in ``moving``.

    ``terms`` are the coefficients in one list. The inverse of :func:`flatten_coefficients`.
    """
    remaining = iter(terms)
    return [[next(remaining) for _ in range(order)] if moves else [ZERO] * order for moves in moving]
