"""The hypergeometric functions 1F1 (Kummer's) and 2F1 (Gauss's) of real parameters.

Their series Σ Π(a)_k/Π(b)_k x^k/k! are summed directly where x ≥ 0, and rescaled where they grow; negative x
are reduced to that by Kummer's transformation 1F1(a; b; x) = e^x 1F1(b - a; b; -x) and by Pfaff's 2F1(a, b;
c; x) = (1 - x)^-a 2F1(a, c - b; c; x/(x - 1)) (DLMF 13.2.39, 15.8.1). The derivatives with respect to the
parameters are those of the terms; they are not differentiable themselves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...control.rules.custom_jvp import custom_jvp
from ...control.rules.tangents import SymbolicZero
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...numpy.shaping import broadcast_arrays
from ...operations.arithmetic import abs
from ...operations.exponentials import exp, log, log1p
from ...operations.rounding import floor
from ...operations.special import lgamma
from ...trace.source import here
from .gamma_functions import _gamma_sign
from .hypergeometric_ode import RESCALE_THRESHOLD, continue_2f1, repeat_masked
from .numerics import epsilon_of, evaluate_at_least_float32, evaluate_in_double, promote_real_args

#: Up to this x the series of 2F1 is summed; beyond, its differential equation is integrated.
_MAX_SERIES_X = 0.5
_LOG_RESCALE = math.log(RESCALE_THRESHOLD)


class _SeriesSums(NamedTuple):
    """Sum of a series and its derivatives in the upper and lower parameters, all divided by 2^(60 rescalings)."""

    value: Any
    slopes: tuple[Any, ...]
    rescalings: Any


def _sum_series(upper: tuple[Any, ...], lower: Any, x: Any, with_slopes: bool, small: float) -> _SeriesSums:
    """Return the sum Σ Π(a)_k/(b)_k x^k/k! where it converges, NaN elsewhere.

    ``upper`` are the parameters a, ``lower`` is b. ``with_slopes`` also computes the derivatives in the parameters;
    ``small`` is the relative error that terms may leave.
    """
    parameters = (*upper, lower)

    def step(k: Any, active: Any, term: Any, total: Any, rescalings: Any, *derivative_state: Any) -> tuple[Any, ...]:
        factors = [a + (k - 1) for a in upper]
        below = lower + (k - 1)
        base = x / k / below
        ratio = base
        for factor in factors:
            ratio = ratio * factor
        dterms, dtotals = derivative_state[: len(derivative_state) // 2], derivative_state[len(derivative_state) // 2 :]
        if with_slopes:
            by_parameter = []
            for i in range(len(upper)):
                product = base
                for j, factor in enumerate(factors):
                    product = product if i == j else product * factor
                by_parameter.append(product)
            by_parameter.append(-ratio / below)
            dterms = tuple(d * ratio + term * by for d, by in zip(dterms, by_parameter, strict=True))
            dtotals = tuple(s + d for s, d in zip(dtotals, dterms, strict=True))
        term = term * ratio
        total = total + term
        ongoing = (abs(term) > small * abs(total)) | (abs(ratio) >= 1)
        for d, s in zip(dterms, dtotals, strict=True):
            ongoing = ongoing | (abs(d) > small * abs(s))
        big = abs(total) > RESCALE_THRESHOLD
        term, total, *rescaled = (where(big, y / RESCALE_THRESHOLD, y) for y in (term, total, *dterms, *dtotals))
        # stop polynomials, which have no more terms, and series of NaN
        ongoing = ongoing & (with_slopes | (term != 0)) & (total == total)
        return active & ongoing, term, total, where(big, rescalings + 1, rescalings), *rescaled

    ones = sum(parameters, x) * 0 + 1
    zeros = [ones * 0] * (2 * len(parameters) if with_slopes else 0)
    unfinished, _, total, rescalings, *derivatives = repeat_masked((ones > 0, ones, ones, ones * 0, *zeros), step)
    return _SeriesSums(where(unfinished, math.nan, total), tuple(derivatives[len(derivatives) // 2 :]), rescalings)


def _undo_scaling(x: Any, rescalings: Any, exponent: Any) -> Any:
    """Return x e^exponent for an x that was divided by 2^60 ``rescalings`` times."""
    log_factor = rescalings * _LOG_RESCALE + exponent
    return x * exp(log_factor / 2) * exp(log_factor / 2)


@jit_wrapped()
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Return Kummer's confluent hypergeometric function 1F1(a; b; x) = Σ (a)_k/(b)_k x^k/k!.

    The result has the shape to which the operands broadcast, in their floating-point dtype. Raises ValueError for
    complex numbers. It is 1 for a = 0 even where b = 0, and infinite where ``b`` is 0, -1, … and the series does
    not terminate before. Precision is lost where terms of both signs cancel: ``a`` negative and x > 0, or b - a
    negative and x < 0.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.hyp1f1(1.0, 2.0, 3.0):.5f}")
    6.36185
    """
    return evaluate_at_least_float32(_hyp1f1, *broadcast_arrays(*promote_real_args("hyp1f1", a, b, x)))


def _is_pole(upper: tuple[Any, ...], lower: Any) -> Any:
    """Return where the lower parameter is 0, -1, … and no upper one terminates the series before that."""
    pole = (lower <= 0) & (lower == floor(lower))
    for a in upper:
        pole = pole & ~((a <= 0) & (a == floor(a)) & (a >= lower))
    return pole


@custom_jvp
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    (result,) = evaluate_in_double(_hyp1f1_formula, a, b, x)
    return result


def _hyp1f1_formula(a: Any, b: Any, x: Any, small: float) -> Any:
    terminates = (a <= 0) & (a == floor(a))
    mapped = (x < 0) & ~terminates
    valid = (abs(x) < math.inf) & ~_is_pole((a,), b)
    p, v = where(mapped, b - a, a), where(mapped, -x, x)
    p, q, v = where(valid, p, 1.0), where(valid, b, 1.0), where(valid, v, 0.0)
    near = _sum_series((p,), q, where(_is_asymptotic(p, q, v), 0.0, v), False, small)
    result = _undo_scaling(near.value, near.rescalings, where(mapped, -v, 0.0))
    result = where(_is_asymptotic(p, q, v), _asymptotic_1f1(p, q, v, where(mapped, -v, 0.0)), result)
    result = where(_is_pole((a,), b), math.inf, where(valid, result, math.nan))
    result = where((x == 0) & ~_is_pole((a,), b) | (a == 0), 1.0, result)
    return where((a == a) & (b == b) & (x == x), result, math.nan)


def _is_asymptotic(a: Any, b: Any, x: Any) -> Any:
    """Return where 24 terms of the asymptotic series of 1F1(a; b; x) in 1/x are accurate (DLMF 13.7.1)."""
    terminates = (a <= 0) & (a == floor(a))
    return (x > 60) & ~terminates & (x > 4 * (1 + abs(b - a)) * (1 + abs(1 - a))) & (b > 0)


def _asymptotic_1f1(a: Any, b: Any, x: Any, exponent: Any) -> Any:
    """Return e^exponent 1F1(a; b; x) for large x, by the asymptotic series.

    That is Γ(b)/Γ(a) e^x x^(a - b) Σ (b - a)_k (1 - a)_k/k! x^-k.
    """
    is_far = _is_asymptotic(a, b, x)
    a, b, x = where(is_far, a, 1.0), where(is_far, b, 1.0), where(is_far, x, 100.0)
    term = total = x * 0 + 1
    for k in range(1, 25):
        term = term * (b - a + (k - 1)) * (k - a) / (k * x)
        total = total + term
    size = (exponent + x) + (a - b) * log(x) + lgamma(b) - lgamma(a)
    return _gamma_sign(a) * exp(size / 2) * exp(size / 2) * total


def _hyp1f1_jvp(primals: Any, tangents: Any) -> Any:
    (a, b, x), (ta, tb, tx) = primals, tangents
    y = _hyp1f1(a, b, x)
    y_tangent = y * 0
    if not _are_symbolic_zeros(ta, tb):
        by_a, by_b = _hyp1f1_slopes(a, b, x)
        y_tangent = sum((t * by for t, by in ((ta, by_a), (tb, by_b)) if not _are_symbolic_zeros(t)), y_tangent)
    if not _are_symbolic_zeros(tx):
        y_tangent = y_tangent + tx * where(a == 0, 0.0, a / b * _hyp1f1(a + 1, b + 1, x))
    return y, y_tangent


_hyp1f1.defjvp(_hyp1f1_jvp, symbolic_zeros=True)


def _are_symbolic_zeros(*tangents: Any) -> bool:
    """Return whether all tangents are symbolic zeros, so that their derivatives need not be computed."""
    return all(isinstance(t, SymbolicZero) for t in tangents)


@custom_jvp
def _hyp1f1_slopes(a: Any, b: Any, x: Any) -> Any:
    """Return the derivatives of 1F1(a; b; x) in a and b; NaN where the series cannot be summed."""
    mapped, valid = x < 0, (abs(x) < 1e4) & ~_is_pole((a,), b)
    p, v = where(mapped, b - a, a), where(valid, abs(x), 0.0)
    sums = _sum_series((where(valid, p, 1.0),), where(valid, b, 1.0), v, True, epsilon_of(x) / 16)
    first, second = (_undo_scaling(s, sums.rescalings, where(mapped, -v, 0.0)) for s in sums.slopes)
    by_a, by_b = where(mapped, -first, first), where(mapped, first + second, second)
    return where(valid, by_a, math.nan), where(valid, by_b, math.nan)


@_hyp1f1_slopes.defjvp
def _hyp1f1_slopes_jvp(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(f"second derivatives of hyp1f1 in its parameters{here()}")


@jit_wrapped()
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return Gauss's hypergeometric function 2F1(a, b; c; x) = Σ (a)_k (b)_k/(c)_k x^k/k! for x ≤ 1.

    It is infinite beyond. The result has the shape to which the operands broadcast, in their floating-point
    dtype. Raises TypeError for complex numbers. At 1 it is Γ(c) Γ(c - a - b)/(Γ(c - a) Γ(c - b)) where c > a + b,
    else infinite. Polynomials (``a`` or ``b`` is 0, -1, …) are summed for all x. Where 1 - x is small, or x is
    far below 0, the number of steps grows with its logarithm.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.hyp2f1(1.0, 2.0, 3.0, 0.5):.5f}")
    1.54518
    """
    return evaluate_at_least_float32(
        _hyp2f1, *broadcast_arrays(*promote_real_args("hyp2f1", a, b, c, x, error=TypeError))
    )


def _terminates(a: Any, b: Any) -> Any:
    return (a <= 0) & (a == floor(a)) | (b <= 0) & (b == floor(b))


def _pfaff_transform(a: Any, b: Any, c: Any, x: Any) -> tuple[Any, ...]:
    """Return how to compute 2F1(a, b; c; x) by a series with nonnegative x.

    The results are the mask of where Pfaff's transformation applies, the mask of where the series can be summed, and
    its operands a, b, c and x.
    """
    mapped = (x < 0) & ~_terminates(a, b)
    valid = (abs(x) < math.inf) & ((x < 1) | _terminates(a, b)) & ~_is_pole((a, b), c)
    q, v = where(mapped, c - b, b), where(mapped, x / (x - 1), x)
    return mapped, valid, where(valid, a, 1.0), where(valid, q, 1.0), where(valid, c, 1.0), where(valid, v, 0.0)


@custom_jvp
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    (result,) = evaluate_in_double(_hyp2f1_formula, a, b, c, x)
    return result


def _series_and_slope(a: Any, b: Any, c: Any, x: Any, far: Any, small: float) -> tuple[tuple[Any, Any], Any]:
    """Return a pair of 2F1 and its slope in x, summed as series, and their number of rescalings n.

    Both are divided by 2^(60 n). The slope is valid only where ``far``; ``small`` is the relative error that terms may
    leave.
    """
    sums = _sum_series((a, b), c, x, False, small)
    slope = _sum_series(
        (where(far, a + 1, 1.0), where(far, b + 1, 1.0)), where(far, c + 1, 1.0), where(far, x, 0.0), False, small
    )
    return (
        sums.value,
        a * b / c * slope.value * exp((slope.rescalings - sums.rescalings) * _LOG_RESCALE),
    ), sums.rescalings


def _hyp2f1_formula(a: Any, b: Any, c: Any, x: Any, tol: float) -> Any:
    mapped, valid, p, q, r, v = _pfaff_transform(a, b, c, x)
    far = valid & (v > _MAX_SERIES_X) & ~_terminates(p, q)
    pair, rescalings = _series_and_slope(p, q, r, where(far, _MAX_SERIES_X, v), far, tol)
    # the distance from 1, without the rounding of x/(x - 1)
    gap = where(far, where(mapped, 1 / (1 - where(mapped, x, 0.0)), 1 - v), 1 - _MAX_SERIES_X)
    pair, rescalings = continue_2f1(
        where(far, p, 0.0), where(far, q, 0.0), where(far, r, 1.0), pair, rescalings, gap, tol
    )
    result = _undo_scaling(pair[0], rescalings, where(mapped, -a * log1p(-where(mapped, x, 0.0)), 0.0))
    result = where(valid, result, where((x >= 1) | _is_pole((a, b), c), math.inf, math.nan))
    at_one = (x == 1) & (c > a + b) & (c > 0) & ~_terminates(a, b)
    s, p, q, r = c - a - b, c - a, c - b, where(at_one, c, 1.0)
    s, p, q = (where(at_one, y, 1.0) for y in (s, p, q))
    vanishes = _terminates(p, q)
    gauss = _gamma_sign(p) * _gamma_sign(q) * exp(lgamma(r) + lgamma(s) - lgamma(p) - lgamma(q))
    result = where(at_one, where(vanishes, 0.0, gauss), result)
    result = where(((x == 0) | (a == 0) | (b == 0)) & ~_is_pole((a, b), c), 1.0, result)
    return where((a == a) & (b == b) & (c == c) & (x == x), result, math.nan)


def _hyp2f1_jvp(primals: Any, tangents: Any) -> Any:
    (a, b, c, x), (*parameter_tangents, tx) = primals, tangents
    y = _hyp2f1(a, b, c, x)
    y_tangent = y * 0
    if not _are_symbolic_zeros(*parameter_tangents):
        slopes = _hyp2f1_slopes(a, b, c, x)
        y_tangent = sum(
            (t * by for t, by in zip(parameter_tangents, slopes, strict=True) if not _are_symbolic_zeros(t)), y_tangent
        )
    if not _are_symbolic_zeros(tx):
        y_tangent = y_tangent + tx * where(a * b == 0, 0.0, a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x))
    return y, y_tangent


_hyp2f1.defjvp(_hyp2f1_jvp, symbolic_zeros=True)


@custom_jvp
def _hyp2f1_slopes(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return the derivatives of 2F1(a, b; c; x) in a, b and c; NaN where the series cannot be summed."""
    mapped, valid, p, q, r, v = _pfaff_transform(a, b, c, x)
    valid = valid & (x < 1)
    p, q, r, v = (where(valid, y, 0.25) for y in (p, q, r, v))
    sums = _sum_series((p, q), r, v, True, epsilon_of(x) / 16)
    logarithm = -log1p(-where(mapped & valid, x, 0.0))
    value, first, second, third = (_undo_scaling(s, sums.rescalings, a * logarithm) for s in (sums.value, *sums.slopes))
    by_a, by_b, by_c = first + logarithm * value, where(mapped, -second, second), where(mapped, second + third, third)
    return tuple(where(valid, y, math.nan) for y in (by_a, by_b, by_c))


@_hyp2f1_slopes.defjvp
def _hyp2f1_slopes_jvp(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(f"second derivatives of hyp2f1 in its parameters{here()}")
