"""The gamma function and related functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...control.rules.custom_jvp import custom_jvp
from ...control.special import beta as betas
from ...control.special import gamma as gammas
from ...control.special.factors import MIN_STIRLING_ARGUMENT, stirling_correction
from ...dtypes import dtype_kind
from ...lax.barriers import stop_gradient
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import as_dtype, promote_inexact, promote_pair_inexact
from ...operations import special
from ...operations.arithmetic import abs, add, div, mul, sub
from ...operations.bits import bitwise_and, bitwise_or, bitwise_xor
from ...operations.comparisons import eq, gt, le, lt, ne
from ...operations.exponentials import exp, log, log1p, pow
from ...operations.integer_arguments import whole_number
from ...operations.rounding import floor
from ...operations.selection import select
from ...operations.tangent_arithmetic import neg
from ...trace.values import aval_of
from ..arguments import to_strong_type
from .array_constants import full_like
from .complex_gamma_functions import complex_digamma, complex_gamma, complex_loggamma
from .logarithms import promote_and_broadcast
from .numerics import evaluate_in_double


@jit_wrapped()
def gammaln(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.gammaln(5.0):.4f}")
    3.1781
    """
    return special.lgamma(promote_inexact(x))


@jit_wrapped()
def loggamma(x: Any) -> Any:
    """Return the logarithm of the gamma function; for complex numbers the principal branch, for negative reals NaN.

    The result has the shape of ``x`` and its floating-point or complex dtype. For complex numbers it is analytic
    except for a cut along the negative real axis, where the sign of a zero imaginary part selects the side, and
    conjugate arguments have conjugate values; it is NaN at poles. See D. E. G. Hare, Computing the principal
    branch of log-Gamma (Journal of Algorithms 25, 1997). Derivatives of every order exist: use ``grad(...,
    holomorphic=True)`` for complex numbers.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.loggamma(1.0 + 2.0j):.4f}")
    -1.8761+0.1296j
    """
    x = promote_inexact(x)
    if dtype_kind(aval_of(x).dtype) == "c":
        return complex_loggamma(to_strong_type(x))
    return select(lt(x, 0.0), full_like(x, math.nan), special.lgamma(x))


@jit_wrapped()
def digamma(x: Any) -> Any:
    """Return the derivative of :func:`gammaln`, or for complex numbers of :func:`loggamma`.

    The result has the shape of ``x`` and its floating-point or complex dtype. It is infinite at 0 and NaN at the
    other poles, for complex numbers NaN at all of them. JAX supports only real numbers.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.digamma(1.0):.4f} {sp.digamma(1.0j):.4f}")
    -0.5772 0.0947+2.0767j
    """
    x = promote_inexact(x)
    if dtype_kind(aval_of(x).dtype) == "c":
        return complex_digamma(to_strong_type(x))
    at_zero = eq(x, 0.0)
    toward = div(full_like(x, -1.0), select(at_zero, x, full_like(x, 1.0)))  # infinity with the sign of the zero
    return select(at_zero, toward, special.digamma(select(at_zero, full_like(x, 1.0), x)))


@jit_wrapped()
def gammasgn(x: Any) -> Any:
    """Return the sign of the gamma function, NaN at its poles -1, -2, …."""
    return _gamma_sign(promote_inexact(x))


def _gamma_sign(x: Any) -> Any:
    """Return the sign of the gamma function; NaN at its poles below zero, and the sign of the zero at zero."""
    x = as_dtype(x, aval_of(x).dtype)  # the sign is not weakly typed, as in JAX
    below = floor(x)
    ones = full_like(x, 1.0)
    half = mul(below, 0.5)
    odd = gt(sub(half, floor(half)), 0.0)
    alternating = select(odd, full_like(x, -1.0), ones)
    pole = bitwise_and(lt(x, 0.0), eq(below, x))
    at_zero = select(lt(div(ones, x), 0.0), full_like(x, -1.0), ones)
    return select(
        gt(x, 0.0),
        ones,
        select(eq(x, 0.0), at_zero, select(pole, full_like(x, math.nan), select(eq(x, x), alternating, x))),
    )


@jit_wrapped()
def gamma(x: Any) -> Any:
    """Return the gamma function: NaN at -1, -2, … and infinite at 0; for complex numbers NaN at all poles.

    The result has the shape of ``x`` and its floating-point or complex dtype; for complex numbers it is the
    exponential of :func:`loggamma`.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.gamma(0.5):.5f} {sp.gamma(1.0 + 1.0j):.5f}")
    1.77245 0.49802-0.15495j
    """
    x = promote_inexact(x)
    if dtype_kind(aval_of(x).dtype) == "c":
        return complex_gamma(to_strong_type(x))
    return mul(_gamma_sign(x), exp(special.lgamma(x)))


@jit_wrapped()
def beta(a: Any, b: Any) -> Any:
    """Return the beta function Γ(a) Γ(b) / Γ(a + b)."""
    a, b = promote_and_broadcast(a, b)
    return mul(mul(mul(_gamma_sign(a), _gamma_sign(b)), _gamma_sign(add(a, b))), exp(_betaln(a, b)))


@jit_wrapped()
def betaln(a: Any, b: Any) -> Any:
    """Return the logarithm of the absolute value of the beta function, without cancellation for large arguments."""
    return _betaln(*promote_and_broadcast(a, b))


@custom_jvp
def _betaln(a: Any, b: Any) -> Any:
    (result,) = evaluate_in_double(_betaln_formula, a, b)
    return result


def _betaln_formula(a: Any, b: Any, _: float) -> Any:
    # lgamma(l + s) - lgamma(l), and all of it where both are large, by Stirling's formula, whose large terms cancel
    # analytically (A. R. DiDonato and A. H. Morris, ACM TOMS 18, 1992)
    less, more = select(lt(a, b), a, b), select(lt(a, b), b, a)
    filler = full_like(a, MIN_STIRLING_ARGUMENT)
    s, m = select(gt(less, MIN_STIRLING_ARGUMENT), less, filler), select(gt(more, MIN_STIRLING_ARGUMENT), more, filler)
    corrected = sub(add(stirling_correction(s), stirling_correction(m)), stirling_correction(add(s, m)))
    both = add(sub(mul(sub(s, 0.5), log(div(s, add(s, m)))), mul(m, log1p(div(s, m)))), corrected)
    both = add(both, sub(0.5 * math.log(2 * math.pi), mul(log(m), 0.5)))
    small = select(gt(less, 0.0), less, filler)
    growth = add(mul(sub(m, 0.5), log1p(div(small, m))), sub(mul(small, log(add(m, small))), small))
    growth = add(growth, sub(stirling_correction(add(m, small)), stirling_correction(m)))
    large = sub(special.lgamma(small), growth)
    plain = sub(add(special.lgamma(less), special.lgamma(more)), special.lgamma(add(less, more)))
    result = select(
        gt(less, MIN_STIRLING_ARGUMENT),
        both,
        select(bitwise_and(gt(more, MIN_STIRLING_ARGUMENT), gt(less, 0.0)), large, plain),
    )
    # B(a, 1) = 1/a, where the gamma functions of both sides cancel but for their last digits
    other_argument = select(eq(a, 1.0), b, a)
    by_one = bitwise_and(bitwise_or(eq(a, 1.0), eq(b, 1.0)), gt(other_argument, 0.0))
    # subtracted from 0, so that log B(1, 1) is 0 and not -0
    result = select(by_one, sub(0.0, log(select(by_one, other_argument, full_like(a, 1.0)))), result)
    at_end = bitwise_and(eq(more, math.inf), bitwise_and(gt(less, 0.0), lt(less, math.inf)))
    result = select(at_end, full_like(a, -math.inf), result)
    return select(bitwise_or(ne(a, a), ne(b, b)), full_like(a, math.nan), result)


@custom_jvp
def _digamma_difference(a: Any, b: Any) -> Any:
    """Return ψ(a) - ψ(a + b), without cancellation where b is small beside a large a."""
    (result,) = evaluate_in_double(_digamma_difference_formula, a, b)
    return result


_betaln.defjvps(
    lambda t, result, a, b: mul(t, _digamma_difference(a, b)),
    lambda t, result, a, b: mul(t, _digamma_difference(b, a)),
)
_digamma_difference.defjvps(
    lambda t, result, a, b: mul(t, sub(special.trigamma(a), special.trigamma(add(a, b)))),
    lambda t, result, a, b: mul(t, neg(special.trigamma(add(a, b)))),
)

#: Coefficients of 1/a², 1/a⁴, … in log(a) - 1/(2a) - ψ(a) (Abramowitz and Stegun, 6.3.18).
_DIGAMMA_COEFFICIENTS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _digamma_difference_formula(a: Any, b: Any, _: float) -> Any:
    # The terms of the asymptotic series are subtracted analytically.
    is_large = bitwise_and(gt(a, MIN_STIRLING_ARGUMENT), lt(a, math.inf))
    is_large = bitwise_and(is_large, bitwise_and(gt(b, 0.0), lt(b, math.inf)))
    filler = full_like(a, MIN_STIRLING_ARGUMENT)
    less, step = select(is_large, a, filler), select(is_large, b, filler)
    more = add(less, step)
    share, inverse_less, inverse_more = div(step, more), div(1.0, less), div(1.0, more)
    powers_of_less, powers_of_more = mul(inverse_less, inverse_less), mul(inverse_more, inverse_more)
    first = mul(mul(share, mul(add(less, more), inverse_more)), powers_of_less)  # 1/less² - 1/more²
    total = add(log1p(mul(step, inverse_less)), mul(0.5, mul(share, inverse_less)))
    difference, power = first, powers_of_more
    for coefficient in _DIGAMMA_COEFFICIENTS:
        total = add(total, mul(coefficient, difference))
        difference = add(mul(difference, powers_of_less), mul(power, first))
        power = mul(power, powers_of_more)
    return select(is_large, neg(total), sub(special.digamma(a), special.digamma(add(a, b))))


@jit_wrapped()
def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function I_x(a, b); it is differentiable in ``x`` only.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.betainc(2.0, 3.0, 0.4):.4f}")
    0.5248
    """
    a, b = promote_and_broadcast(a, b)
    a, x = promote_and_broadcast(a, x)
    b, x = promote_and_broadcast(b, x)
    return betas.betainc(a, b, x)


@jit_wrapped()
def gammainc(a: Any, x: Any) -> Any:
    """Return the regularized incomplete gamma function P(a, x)."""
    return gammas.igamma(*promote_pair_inexact(a, x))


@jit_wrapped()
def gammaincc(a: Any, x: Any) -> Any:
    """Return 1 - :func:`gammainc`, accurate also where :func:`gammainc` is near one."""
    return gammas.igammac(*promote_pair_inexact(a, x))


@jit_wrapped()
def polygamma(n: Any, x: Any) -> Any:
    """Return the derivative of order ``n`` of :func:`digamma`; ``n`` is an array of integers, and a constant.

    The result has the shape to which ``n`` and ``x`` broadcast, in their floating-point dtype. At the poles 0,
    -1, … it is infinite for odd ``n`` and NaN for others. Other numbers below -3 use the reflection formula (DLMF
    5.15.6), since XLA, and therefore JAX, loses precision there, completely below about -9.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.polygamma(1, 1.0):.4f} {sp.polygamma(2, -9.9):.0f} {sp.polygamma(1, float('inf')):.1f}")
    1.6449 -1999 0.0
    """
    order, x = promote_and_broadcast(n, x)
    order = stop_gradient(order)
    at_end = eq(x, math.inf)
    limit = select(gt(order, 0.0), full_like(x, 0.0), full_like(x, math.inf))
    x = select(at_end, full_like(x, 1.0), x)
    sign = neg(_alternating_sign(order))
    size = exp(special.lgamma(add(order, 1.0)))
    result = _hurwitz_by_reflection(special.polygamma, order, x, add(order, 1.0), mul(sign, size), sign)
    return select(at_end, limit, result)


def _hurwitz_by_reflection(
    function: Callable[[Any, Any], Any], order: Any, x: Any, power: Any, factor: Any, sign: Any
) -> Any:
    """Return a multiple of the Hurwitz zeta function; for x below -3 by reflection.

    ``function``, XLA's implementation, takes ``order`` and x. Above -3 it is accurate: ``factor`` times Σ (x + k)^-s
    for k = 0, 1, …, where s is ``power``. Below, s is an integer, and ``sign`` is (-1)^s. The sum over all integers has
    period 1, so that it is the same for x and r = x - round(x). At poles the result is that of ``function``.
    """
    negative = bitwise_and(lt(x, -3.0), ne(x, floor(x)))
    inside = select(negative, x, full_like(x, -3.25))
    r = sub(inside, floor(add(inside, 0.5)))
    plain = function(order, select(negative, sub(1.0, inside), x))
    # above -3 what is not used has to be finite, for derivatives
    order, exponent = (select(negative, y, full_like(y, 2.0)) for y in (order, neg(power)))
    distance = mul(mul(factor, select(lt(r, 0.0), sign, full_like(r, 1.0))), pow(abs(r), exponent))
    below = mul(sign, sub(function(order, sub(1.0, r)), plain))
    return select(negative, add(add(distance, function(order, add(1.0, r))), below), plain)


@jit_wrapped()
def zeta(x: Any, q: Any = None) -> Any:
    """Return the Hurwitz zeta function Σ (q + k)^-x for k = 0, 1, …; Riemann's if ``q`` is None (q = 1).

    The result has the shape to which ``x`` and ``q`` broadcast, in their floating-point dtype; it is NaN for
    ``x`` below 1, and for negative ``q`` unless ``x`` is an integer. At infinite operands and at the poles q = 0,
    -1, … it is the limit, as in SciPy (DLMF 25.11.1). XLA, and therefore JAX, is wrong below q = -9.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.zeta(2.0):.5f} {sp.zeta(2.0, float('inf')):.1f}")
    1.64493 0.0
    """
    x, q = promote_and_broadcast(x, 1 if q is None else q)
    above, pole = gt(x, 1.0), bitwise_and(le(q, 0.0), eq(q, floor(q)))
    x_is_infinite = eq(x, math.inf)
    vanishes = bitwise_and(above, bitwise_and(gt(q, 1.0), bitwise_or(x_is_infinite, eq(q, math.inf))))
    grows = bitwise_and(above, bitwise_or(pole, bitwise_and(x_is_infinite, bitwise_and(gt(q, 0.0), lt(q, 1.0)))))
    is_unit = bitwise_and(x_is_infinite, eq(q, 1.0))
    edge = bitwise_or(bitwise_or(vanishes, grows), is_unit)
    limit = select(grows, full_like(x, math.inf), select(is_unit, full_like(x, 1.0), full_like(x, 0.0)))
    # the first term is all of a sum of high order; XLA has NaN there
    is_high = bitwise_and(gt(x, 1e4 if aval_of(x).dtype.itemsize == 8 else 1e3), gt(q, 0.0))
    first = pow(select(is_high, q, full_like(q, 1.0)), neg(select(is_high, x, full_like(x, 1.0))))
    edge_or_high = bitwise_or(edge, is_high)
    s, q_safe = (select(edge_or_high, full_like(y, 2.0), y) for y in (x, q))
    inside = _hurwitz_by_reflection(special.zeta, s, q_safe, s, full_like(s, 1.0), _alternating_sign(s))
    unknown = bitwise_and(lt(q_safe, 0.0), ne(s, floor(s)))
    return select(edge, limit, select(is_high, first, select(unknown, full_like(x, math.nan), inside)))


def factorial(n: Any, exact: bool = False) -> Any:
    """Return Γ(n + 1), and 0 for negative ``n``; ``exact`` has to be False (NotImplementedError)."""
    if exact:
        raise NotImplementedError(
            "factorial with exact=True: arrays have no integers without bounds; use math.factorial"
        )
    return _factorial(n)


@jit_wrapped()
def _factorial(n: Any) -> Any:
    x = promote_inexact(n)
    return select(lt(x, 0.0), full_like(x, 0.0), exp(special.lgamma(add(x, 1.0))))


@jit_wrapped()
def poch(z: Any, m: Any) -> Any:
    """Return the rising factorial Γ(z + m) / Γ(z), 1 for m = 0.

    The result has the shape to which ``z`` and ``m`` broadcast, in their floating-point dtype. Where ``z`` is 0,
    -1, … it is the limit: 0 unless z + m is such a number too, and then (-1)^m Γ(1 - z)/Γ(1 - z - m), as in SciPy
    (DLMF 5.2.5, 5.5.3).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.poch(2.0, 3.0):.0f} {sp.poch(-3.0, 2.0):.0f} {abs(sp.poch(-3.0, 4.0)):.0f}")
    24 6 0
    """
    z, m = promote_and_broadcast(z, m)
    ones, half = full_like(z, 1.0), full_like(z, 0.5)
    at_pole, to_pole = _is_pole(z), _is_pole(add(z, m))
    both_poles = bitwise_and(at_pole, to_pole)
    zero = bitwise_and(bitwise_xor(at_pole, both_poles), lt(abs(m), math.inf))
    usual_z = select(bitwise_or(both_poles, zero), half, z)
    end = add(usual_z, select(both_poles, ones, m))
    ratio = exp(_log_gamma_ratio(end, usual_z, select(both_poles, ones, m)))
    result = mul(mul(_gamma_sign(end), _gamma_sign(usual_z)), ratio)
    # both are poles: use the reflection formula
    n, k = select(both_poles, z, full_like(z, -2.0)), select(both_poles, m, ones)
    reflected = exp(sub(special.lgamma(sub(1.0, n)), special.lgamma(sub(sub(1.0, n), k))))
    result = select(both_poles, mul(_alternating_sign(k), reflected), result)
    # 1/Γ(z) is (-1)^n n! (z + n) near z = -n
    start = select(zero, z, full_like(z, -1.0))
    pole = floor(start)
    slope = mul(_alternating_sign(pole), exp(special.lgamma(sub(1.0, pole))))
    shifted = add(pole, select(zero, m, half))
    vanishing = mul(mul(sub(start, pole), slope), mul(_gamma_sign(shifted), exp(special.lgamma(shifted))))
    result = select(zero, vanishing, result)
    return select(eq(m, 0.0), ones, result)


def _log_gamma_ratio(end: Any, start: Any, step: Any) -> Any:
    """Return log(Γ(end) / Γ(start)) for end = start + step.

    Between positive numbers it is log(Γ(step) / B(start, step)): there the logarithms of both sides cancel.
    """
    usable = bitwise_and(bitwise_and(gt(end, 0.0), gt(start, 0.0)), bitwise_and(ne(step, 0.0), lt(abs(step), math.inf)))
    ones = full_like(start, 1.0)
    rises = gt(step, 0.0)
    less, size = select(usable, select(rises, start, end), ones), select(usable, abs(step), ones)
    growth = sub(special.lgamma(size), _betaln(less, size))
    plain = sub(special.lgamma(end), special.lgamma(start))
    return select(usable, select(rises, growth, neg(growth)), plain)


def _is_pole(x: Any) -> Any:
    """Return where the gamma function has its poles."""
    return bitwise_and(bitwise_and(le(x, 0.0), eq(x, floor(x))), gt(x, -math.inf))


def _alternating_sign(n: Any) -> Any:
    """Return (-1)^n for integers n."""
    half = mul(n, 0.5)
    return select(gt(sub(half, floor(half)), 0.0), full_like(n, -1.0), full_like(n, 1.0))


@jit_wrapped("d")
def multigammaln(a: Any, d: Any) -> Any:
    """Return the logarithm of the multivariate gamma function of dimension ``d``, a Python integer.

    It is the sum of lgamma(a - i/2) for i below d, plus d (d - 1)/4 log(π).
    """
    size = whole_number(d, "d of multigammaln")
    x = promote_inexact(a)
    total = add(full_like(x, 0.0), size * (size - 1) / 4 * math.log(math.pi))
    for i in range(size):
        total = add(total, special.lgamma(sub(x, i / 2)))
    return total
