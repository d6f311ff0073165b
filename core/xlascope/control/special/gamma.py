"""The regularized incomplete gamma functions and their derivatives.

P(a, x) = D S with D = x^a e^-x / Γ(a + 1) and S = Σ x^n / ((a + 1)…(a + n)), for x up to a + 1. Beyond, Q(a,
x) = 1 - P(a, x) = D a h, where h is Legendre's continued fraction 1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - …)),
evaluated from its front (W. J. Lentz, Applied Optics 15, 1976). Both as in Abramowitz and Stegun, 6.5.29 and
6.5.31. The derivatives in a are those of the single steps.

Near x = a the number of steps grows like the square root of a. For large a, P and Q are there the normal
distribution of a function of x/a and the first terms of its expansion (DLMF 8.12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.markers import ZERO
from ...operations.arithmetic import abs, div, mul, sub
from ...operations.bits import bitwise_and
from ...operations.comparisons import gt, lt
from ...operations.conversion import to_dtype
from ...operations.elementwise import Binary
from ...operations.exponentials import exp, expm1, log, log1p, sqrt
from ...operations.formula_operations import emit_formula
from ...operations.operand_values import as_float, dtype_of, match, shape_of, typed_scalar
from ...operations.selection import select
from ...operations.shapes import full
from ...operations.special import digamma, erfc, lgamma
from ...operations.tangent_arithmetic import broadcast_to_result, neg
from ...records.traits import NO_TRAITS
from ...trace.bind import bind1
from .factors import (
    MIN_STIRLING_ARGUMENT,
    epsilon,
    gamma_factor,
    horner,
    iterate_while,
    log1p_minus,
    log_gamma_factor,
    log_gamma_factor_of_large,
    log_of_power,
)

#: Largest a for which Q(a, x) is computed without P(a, x), for small x.
_MAX_SMALL_A = 0.5
#: Number of terms of that series up to x = 1.5, exact to double precision.
_SMALL_SERIES_TERMS = 24
#: (log Γ(1 + a) + log(1 + a))/a by powers of a: 1 - γ, and (-1)^k (ζ(k) - 1)/k (Abramowitz and Stegun, 6.1.33).
LOG_GAMMA_AT_ONE = (
    0.42278433509846713,
    0.3224670334241132,
    -0.0673523010531981,
    0.020580808427784546,
    -0.007385551028673986,
    0.0028905103307415234,
    -0.001192753911703261,
    0.0005096695247430425,
    -0.00022315475845357939,
    9.945751278180853e-05,
    -4.492623673813314e-05,
    2.050721277567069e-05,
    -9.439488275268397e-06,
    4.374866789907488e-06,
    -2.039215753801366e-06,
    9.55141213040742e-07,
    -4.492469198764566e-07,
    2.1207184805554665e-07,
    -1.0043224823968099e-07,
    4.7698101693639804e-08,
    -2.2711094608943164e-08,
    1.0838659214896955e-08,
    -5.183475041970047e-09,
    2.4836745438024785e-09,
    -1.1921401405860912e-09,
    5.731367241678862e-10,
    -2.7595228851242334e-10,
    1.330476437424449e-10,
)


#: Least a for which P and Q near x = a are computed by the expansion, there exact to double precision.
_MIN_EXPANSION_A = 1e6
#: Largest |x/a - 1| for which it is used; P or Q underflows beyond.
_MAX_EXPANSION_DISTANCE = 0.04
#: Coefficients of powers of η in the terms of order 0 and 1 of Q(a, x) (DLMF 8.12.12 and 8.12.13).
_EXPANSION_OF_IGAMMAC = (
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515, -571 / 261273600),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760),
)


class _IgammaTerms(NamedTuple):
    """Terms of P(a, x) and Q(a, x), elementwise.

    ``by_series`` marks elements computed by the series, the others use the continued fraction; those of
    ``by_expansion`` need neither. ``inside`` marks the inside of the domain; elsewhere the arguments ``a`` and ``x``
    are 1. ``value`` is the series or the fraction, ``derivative`` its derivative in a.
    """

    by_series: Any
    by_expansion: Any
    inside: Any
    a: Any
    x: Any
    value: Any
    derivative: Any


def _evaluate_terms(a: Any, x: Any, with_derivative: bool) -> _IgammaTerms:
    """Evaluate the series or continued fraction of P and Q.

    Without ``with_derivative`` the derivative in the result is meaningless.
    """
    inside = (a > 0.0) & (x > 0.0) & (a < np.inf) & (x < np.inf)
    a, x = (select(inside, operand, _ones(inside, operand)) for operand in (a, x))
    least_a = _MIN_EXPANSION_A if not with_derivative else epsilon(a) ** -0.5
    by_expansion = (a > least_a) & (abs(x - a) < _MAX_EXPANSION_DISTANCE * a)
    by_series, is_iterated = x <= a + 1.0, inside & ~by_expansion
    series = _power_series(a, select(by_series, x, _ones(inside, x)), is_iterated & by_series, with_derivative)
    fraction = _continued_fraction(
        select(by_series, _ones(inside, a), a),
        select(by_series, _ones(inside, x) + 3.0, x),
        is_iterated & ~by_series,
        with_derivative,
    )
    value, derivative = (select(by_series, s, f) for s, f in zip(series, fraction, strict=True))
    return _IgammaTerms(by_series, by_expansion, inside, a, x, value, derivative)


def _ones(like: Any, x: Any) -> Any:
    return to_dtype(like, x.dtype) * 0.0 + 1.0


def _power_series(a: Any, x: Any, active: Any, with_derivative: bool) -> tuple[Any, Any]:
    """Return the sum S of P(a, x), see the module, and its derivative in a.

    Elements with ``active`` false are not iterated.
    """
    small = epsilon(a) / 8

    def step(n: Any, active: Any, term: Any, total: Any, dterm: Any, dtotal: Any) -> tuple[Any, ...]:
        ratio = x / (a + n)
        if with_derivative:
            dterm = (dterm - term / (a + n)) * ratio
            dtotal = dtotal + dterm
        term = term * ratio
        total = total + term
        continues = term > small * total
        if with_derivative:
            continues = continues | (abs(dterm) > small * abs(dtotal))
        return active & continues, term, total, dterm, dtotal

    ones, zero = _ones(active, a), _ones(active, a) * 0.0
    _, _, total, _, dtotal = iterate_while((active, ones, ones, zero, zero), step)
    return total, dtotal


def _continued_fraction(a: Any, x: Any, active: Any, with_derivative: bool) -> tuple[Any, Any]:
    """Return the fraction h of Q(a, x), see the module, and its derivative in a.

    Elements with ``active`` false are not iterated.
    """
    near = epsilon(a)
    tiny = 1e-30

    def nonzero(v: Any) -> Any:
        return select(abs(v) < tiny, v * 0.0 + tiny, v)

    def step(n: Any, active: Any, c: Any, d: Any, h: Any, dc: Any, dd: Any, dh: Any) -> tuple[Any, ...]:
        numerator, b = n * (a - n), x + 1.0 - a + 2.0 * n
        denominator = nonzero(numerator * d + b)
        if with_derivative:  # numerator' = n, b' = -1
            dd = -(n * d + numerator * dd - 1.0) / (denominator * denominator)
            dc = n / c - numerator * dc / (c * c) - 1.0
        d, c = 1.0 / denominator, nonzero(b + numerator / c)
        factor = c * d
        continues = abs(factor - 1.0) > near
        if with_derivative:
            change = h * (dc * d + c * dd)
            dh = dh * factor + change
            continues = continues | (abs(change) > near * abs(dh))
        new = select(active, h * factor, h)
        return active & continues, c, d, new, dc, dd, dh

    b = x + 1.0 - a
    d = 1.0 / b
    start_c = _ones(active, a) / tiny
    zero = start_c * 0.0
    _, _, _, h, _, _, dh = iterate_while((active, start_c, d, d, zero, d * d, d * d), step)
    return h, dh


def igamma_formula(a: Any, x: Any) -> Any:
    """Return P(a, x), the regularized lower incomplete gamma function; 1 for a = 0.

    It is computed by operations on arrays of one shape and dtype.
    """
    parts = _evaluate_terms(a, x, False)
    factor = gamma_factor(parts.a, parts.x)
    result = select(parts.by_series, factor * parts.value, 1.0 - factor * parts.a * parts.value)
    result = select(parts.by_expansion, _expansion_of_large(parts, -1.0), result)
    return _apply_limits(a, x, parts, result, 0.0)


def igammac_formula(a: Any, x: Any) -> Any:
    """Return Q(a, x) = 1 - P(a, x), the regularized upper incomplete gamma function.

    It is computed by operations on arrays of one shape and dtype.
    """
    parts = _evaluate_terms(a, x, False)
    factor = gamma_factor(parts.a, parts.x)
    result = select(parts.by_series, 1.0 - factor * parts.value, factor * parts.a * parts.value)
    result = select(parts.by_series & (parts.a < _MAX_SMALL_A), _igammac_of_small(parts.a, parts.x), result)
    result = select(parts.by_expansion, _expansion_of_large(parts, 1.0), result)
    return _apply_limits(a, x, parts, result, 1.0)


def _igammac_of_small(a: Any, x: Any) -> Any:
    """Return Q(a, x) for small a and x, where P is nearly 1.

    With 1 + u = x^a/Γ(a + 1) it is -u - (1 + u) a Σ (-x)^n/((a + n) n!) over n from 1 on (Abramowitz and Stegun,
    6.5.29).
    """
    small = (a < _MAX_SMALL_A) & (x < 1.0 + _MAX_SMALL_A)
    a, x = select(small, a, a * 0.0 + _MAX_SMALL_A / 2), select(small, x, x * 0.0 + 1.0)
    u = expm1(a * (log(x) - horner(a, LOG_GAMMA_AT_ONE)) + log1p(a))
    total = x * 0.0
    for n in range(_SMALL_SERIES_TERMS, 0, -1):
        total = -x / n * (1.0 / (a + n) + total)
    return -u - (1.0 + u) * a * total


def _expansion_of_large(parts: _IgammaTerms, sign: float) -> Any:
    """Return Q(a, x) for ``sign`` 1 or P(a, x) for -1, for large a near x; elsewhere a number without meaning."""
    a, x = (select(parts.by_expansion, y, y * 0.0 + _MIN_EXPANSION_A) for y in (parts.a, parts.x))
    half_square = -log1p_minus((x - a) / a, x / a)
    eta = sqrt(2.0 * half_square) * select(x < a, a * 0.0 - 1.0, a * 0.0 + 1.0)
    first, second = (horner(eta, coefficients) for coefficients in _EXPANSION_OF_IGAMMAC)
    remainder = exp(-a * half_square) / sqrt(2 * math.pi * a) * (first + second / a)
    return 0.5 * erfc(sign * eta * sqrt(0.5 * a)) + sign * remainder


def _apply_limits(a: Any, x: Any, parts: _IgammaTerms, result: Any, at_zero: float) -> Any:
    """Return ``result`` with the values of its limits put in, and NaN where there is none.

    The limit is ``at_zero`` at x = 0 and a = ∞, and 1 - ``at_zero`` at a = 0 and x = ∞. ``parts.inside`` marks the
    elements whose results are kept.
    """
    zeros = parts.a * 0.0
    result = select(parts.inside, result, zeros + np.nan)
    result = select((a >= 0.0) & (a < np.inf) & (x == np.inf), zeros + (1 - at_zero), result)
    result = select((a == 0.0) & (x > 0.0), zeros + (1 - at_zero), result)
    return select((a > 0.0) & ((x == 0.0) | ((a == np.inf) & (x > 0.0) & (x < np.inf))), zeros + at_zero, result)


def _relative_derivative(parts: _IgammaTerms) -> Any:
    """Return ∂P/∂a divided by x^a e^-x / Γ(a + 1).

    It is S (log x - ψ(a + 1)) + S' where the series is used, and -a (h (log x - ψ(a)) + h') elsewhere. For large a near
    x, where the terms cancel, P is constant where a (x/a - 1 - log(x/a)) is constant but for 1/(6a) in the slope of x.
    """
    a, logarithm = parts.a, log(parts.x)
    series = parts.value * (logarithm - digamma(a + 1.0)) + parts.derivative
    result = select(parts.by_series, series, -a * (parts.value * (logarithm - digamma(a)) + parts.derivative))
    ratio, distance = parts.x / a, (parts.x - a) / a
    quotient = 1.0 + log1p_minus(distance, ratio) / select(distance == 0.0, a * 0.0 + 1.0, distance)
    return select(parts.by_expansion, -quotient - 1.0 / (6.0 * parts.x), result)


def igamma_grad_a_formula(a: Any, x: Any) -> Any:
    """Return ∂P(a, x)/∂a, the derivative of :func:`igamma_formula` in a.

    It is computed by operations on arrays of one shape and dtype.
    """
    parts = _evaluate_terms(a, x, True)
    derivative = exp(log_gamma_factor(parts.a, parts.x)) * _relative_derivative(parts)
    return _apply_derivative_limits(a, x, parts, derivative)


def random_gamma_grad_formula(a: Any, x: Any) -> Any:
    """Return ∂x/∂a at constant P(a, x): -∂P/∂a divided by ∂P/∂x, from which the factor x^a e^-x / Γ(a + 1) cancels."""
    parts = _evaluate_terms(a, x, True)
    return _apply_derivative_limits(a, x, parts, -parts.x / parts.a * _relative_derivative(parts))


def _apply_derivative_limits(a: Any, x: Any, parts: _IgammaTerms, derivative: Any) -> Any:
    derivative = select(parts.inside, derivative, parts.a * 0.0 + np.nan)
    return select((x == 0.0) & (a > 0.0), parts.a * 0.0, derivative)


class Igamma(Binary, name="igamma"):
    """Operation that computes the regularized incomplete gamma function P(a, x); ∂P/∂x = x^(a - 1) e^-x / Γ(a)."""

    traits = NO_TRAITS
    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, igamma_formula, operands, double=True)

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), igamma_grad_a(x, y))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), _density(broadcast_to_result(x, z), broadcast_to_result(y, z)))


def _density(a: Any, x: Any) -> Any:
    """Return x^(a - 1) e^-x / Γ(a); for large a by Stirling's formula, since the logarithms of its factors cancel."""
    is_large = bitwise_and(gt(a, MIN_STIRLING_ARGUMENT), bitwise_and(gt(x, 0.0), lt(x, np.inf)))
    filler = full(shape_of(x), typed_scalar(MIN_STIRLING_ARGUMENT, dtype_of(x)))
    large_a, large_x = select(is_large, a, filler), select(is_large, x, filler)
    by_ratio = log_gamma_factor_of_large(large_a, large_x) + log(div(large_a, large_x))
    plain = sub(sub(log_of_power(sub(a, 1.0), log(x)), x), lgamma(a))
    return exp(select(is_large, by_ratio, plain))


def igamma(a: Any, x: Any) -> Any:
    """Return the regularized incomplete gamma function P(a, x), elementwise.

    For a whole number ``a`` it is the probability that the sum of ``a`` waiting times, exponentially distributed with
    mean 1, is at most ``x``.

    >>> from xlascope import lax
    >>> print(f"{lax.igamma(2.0, 3.0):.5f}")
    0.80085
    """
    return bind1(Igamma.instance, *match(as_float(a), as_float(x)))


class Igammac(Binary, name="igammac"):
    """Operation that computes the complement Q(a, x) = 1 - P(a, x), accurately where it is small."""

    traits = NO_TRAITS
    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, igammac_formula, operands, double=True)

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return neg(mul(broadcast_to_result(t, z), igamma_grad_a(x, y)))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return neg(mul(broadcast_to_result(t, z), _density(broadcast_to_result(x, z), broadcast_to_result(y, z))))


def igammac(a: Any, x: Any) -> Any:
    """Return one minus :func:`igamma`, elementwise, accurately where :func:`igamma` is near one.

    >>> from xlascope import lax
    >>> print(f"{lax.igammac(2.0, 30.0):.3e}")
    2.901e-12
    """
    return bind1(Igammac.instance, *match(as_float(a), as_float(x)))


class _IgammaDerivative(Binary):
    """Base of operations that are derivatives of the incomplete gamma function; they cannot be differentiated again."""

    traits = NO_TRAITS
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        if t is ZERO:
            return ZERO
        raise NotImplementedError(f"the derivative of {self.name}")

    derivative_right = derivative_left


class IgammaGradA(_IgammaDerivative, name="igamma_grad_a"):
    """Operation that computes the derivative of P(a, x) in a."""

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, igamma_grad_a_formula, operands)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """Return the derivative of :func:`igamma` with respect to ``a``, elementwise; it cannot be differentiated again.

    >>> from xlascope import lax
    >>> print(f"{lax.igamma_grad_a(2.0, 3.0):.5f}")
    -0.19743
    """
    return bind1(IgammaGradA.instance, *match(as_float(a), as_float(x)))


class RandomGammaGrad(_IgammaDerivative, name="random_gamma_grad"):
    """Operation that computes the derivative of a gamma sample in the shape parameter a, at constant probability."""

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, random_gamma_grad_formula, operands)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """Return the derivative of a sample ``x`` of the gamma distribution with respect to its shape ``a``, elementwise.

    It is the derivative of ``x`` at constant :func:`igamma`, and cannot be differentiated again.

    >>> from xlascope import lax
    >>> print(f"{lax.random_gamma_grad(2.0, 3.0):.4f}")
    1.3218
    """
    return bind1(RandomGammaGrad.instance, *match(as_float(a), as_float(x)))
