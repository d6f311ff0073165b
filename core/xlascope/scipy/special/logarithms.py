"""Logarithms and exponentials, and functions of information theory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...control.rules.custom_jvp import custom_jvp
from ...control.rules.tangents import SymbolicZero
from ...control.special.factors import log1p_minus
from ...lax.barriers import stop_gradient
from ...numpy import logic, reductions, transcendental, ufuncs
from ...numpy.axes import to_static_axis
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import as_dtype, broadcast_shape, promote_inexact, promote_pair_inexact
from ...numpy.shaping import broadcast_to, shape_of
from ...operations.arithmetic import abs, add, div, mul, sub
from ...operations.bits import bitwise_and, bitwise_or
from ...operations.comparisons import eq, ge, gt, le, lt, ne
from ...operations.exponentials import exp, expm1, log, log1p, logistic
from ...operations.selection import select
from ...operations.tangent_arithmetic import neg, sum_tangents
from ...trace.values import aval_of
from .array_constants import full_like

Axis = int | Sequence[int] | None


@jit_wrapped()
def xlogy(x: Any, y: Any) -> Any:
    """Return x log(y), which is 0 for x = 0 and any y that is not NaN.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.xlogy(0.0, 0.0))
    0.0
    """
    return _xlogy(*promote_and_broadcast(x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    zero = bitwise_and(eq(x, 0.0), eq(y, y))
    return select(zero, full_like(x, 0.0), mul(x, log(select(zero, full_like(x, 1.0), y))))


def _sum_active_tangents(tangents: Any, *derivatives: Callable[[], Any]) -> Any:
    """Return the sum of tangents times derivatives, without those of symbolic zeros.

    ``derivatives`` are functions without arguments: a derivative that may be infinite is computed only if needed.
    """
    pairs = zip(tangents, derivatives, strict=True)
    return sum_tangents([mul(t, derivative()) for t, derivative in pairs if not isinstance(t, SymbolicZero)])


def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlogy(x, y), _sum_active_tangents(tangents, lambda: log(y), lambda: _quotient_or_zero(x, y))


_xlogy.defjvp(_xlogy_jvp, symbolic_zeros=True)


@custom_jvp
def _quotient_or_zero(x: Any, y: Any) -> Any:
    """Return x / y, and 0 for 0 / 0: the derivative of 0 log(y), which is 0 for all y."""
    both_zero = bitwise_and(eq(x, 0.0), eq(y, 0.0))
    return div(x, select(both_zero, full_like(y, 1.0), y))


def _quotient_or_zero_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    quotient = _quotient_or_zero(x, y)
    return quotient, _sum_active_tangents(
        tangents, lambda: div(full_like(y, 1.0), y), lambda: neg(_divide_again(quotient, y))
    )


def _divide_again(quotient: Any, y: Any) -> Any:
    """Return quotient / y, and 0 for 0 / 0, by a factor 1 / y: XLA would divide the first operand by y², which is 0."""
    both_zero = bitwise_and(eq(quotient, 0.0), eq(y, 0.0))
    return mul(quotient, div(1.0, select(both_zero, full_like(y, 1.0), y)))


_quotient_or_zero.defjvp(_quotient_or_zero_jvp, symbolic_zeros=True)


@jit_wrapped()
def xlog1py(x: Any, y: Any) -> Any:
    """Return x log(1 + y), accurate for small y, which is 0 for x = 0 and any y that is not NaN."""
    return _xlog1py(*promote_and_broadcast(x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    zero = bitwise_and(eq(x, 0.0), eq(y, y))
    return select(zero, full_like(x, 0.0), mul(x, log1p(select(zero, full_like(x, 0.0), y))))


def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlog1py(x, y), _sum_active_tangents(tangents, lambda: log1p(y), lambda: _quotient_or_zero(x, add(y, 1.0)))


_xlog1py.defjvp(_xlog1py_jvp, symbolic_zeros=True)


@jit_wrapped()
def entr(x: Any) -> Any:
    """Return the entropy -x log(x): 0 for x = 0, -inf for negative x."""
    x = promote_inexact(x)
    negative = lt(x, 0.0)
    return select(negative, full_like(x, -math.inf), _entr(select(negative, full_like(x, 1.0), x)))


@custom_jvp
def _entr(x: Any) -> Any:
    return neg(_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _entr(x), mul(t, sub(full_like(x, -1.0), log(x)))  # infinite at 0


@jit_wrapped()
def rel_entr(p: Any, q: Any) -> Any:
    """Return the relative entropy p log(p/q).

    It is 0 where p is 0 and q ≥ 0, and infinite where p or q is negative, or q is 0 and p is not.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.rel_entr(1.0, 0.5))
    0.6931472
    """
    return _rel_entr(*_entropy_operands(p, q))


def _entropy_operands(p: Any, q: Any) -> tuple[Any, Any]:
    """Return two operands in a common inexact dtype and shape.

    A scalar ``q`` is strongly typed in the result if ``p`` is an array, as in JAX.
    """
    first, second = promote_pair_inexact(p, q)
    if aval_of(first).shape and not aval_of(second).shape:
        second = as_dtype(second, aval_of(second).dtype)
    return promote_and_broadcast(first, second)


def _rel_entr(p: Any, q: Any) -> Any:
    both_positive = bitwise_and(gt(p, 0.0), gt(q, 0.0))
    ones = full_like(q, 1.0)
    p_safe, q_safe = select(both_positive, p, ones), select(both_positive, q, ones)
    valid = _rel_entr_of_positive(p_safe, q_safe)
    is_zero = bitwise_and(eq(p, 0.0), ge(q, 0.0))
    outside = select(bitwise_or(ne(p, p), ne(q, q)), full_like(q, math.nan), full_like(q, math.inf))
    return select(both_positive, valid, select(is_zero, full_like(ones, 0.0), outside))


@custom_jvp
def _rel_entr_of_positive(p: Any, q: Any) -> Any:
    return mul(p, sub(log(p), log(q)))


def _rel_entr_of_positive_jvp(primals: Any, tangents: Any) -> Any:
    # the second derivatives of the product are differences of p/p², which overflows for small p
    p, q = primals
    return _rel_entr_of_positive(p, q), _sum_active_tangents(
        tangents, lambda: add(sub(log(p), log(q)), 1.0), lambda: neg(_quotient_or_zero(p, q))
    )


_rel_entr_of_positive.defjvp(_rel_entr_of_positive_jvp, symbolic_zeros=True)


@jit_wrapped()
def kl_div(p: Any, q: Any) -> Any:
    """Return the Kullback-Leibler divergence p log(p/q) - p + q, elementwise."""
    p, q = _entropy_operands(p, q)
    entropy = _rel_entr(p, q)
    plain = add(sub(entropy, p), q)
    if aval_of(p).dtype.kind == "c":
        return plain
    # outside of the domain the entropy is infinite; avoid subtracting an infinite operand from it
    outside = bitwise_and(eq(entropy, math.inf), bitwise_or(le(q, 0.0), lt(p, 0.0)))
    limit = bitwise_and(outside, bitwise_and(ne(plain, plain), bitwise_and(eq(p, p), eq(q, q))))
    plain = select(limit, full_like(p, math.inf), plain)
    # where both are near, p (r - log(1 + r)) for r = (q - p)/p, whose terms do not cancel
    near = lt(abs(sub(q, p)), mul(p, 0.5))
    a, b = (select(near, x, full_like(x, 1.0)) for x in (p, q))
    # subtracted from 0, so that a zero is 0 and not -0
    return select(near, sub(full_like(p, 0.0), mul(a, log1p_minus(div(sub(b, a), a), div(b, a)))), plain)


@jit_wrapped()
def logit(x: Any) -> Any:
    """Return log(x / (1 - x)), the inverse of expit.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.logit(0.5))
    0.0
    """
    return _logit(promote_inexact(x))


@custom_jvp
def _logit(x: Any) -> Any:
    return log(div(x, sub(1.0, x)))


@_logit.defjvp
def _logit_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    # 1/(x (1 - x)) as a sum: the derivatives of the quotient are differences of infinities for small x
    return _logit(x), mul(t, add(div(1.0, x), div(1.0, sub(1.0, x))))


@jit_wrapped()
def expit(x: Any) -> Any:
    """Return the logistic function 1 / (1 + exp(-x))."""
    return logistic(promote_inexact(x))


@jit_wrapped()
def boxcox(x: Any, lmbda: Any) -> Any:
    """Return the Box-Cox transform (x^λ - 1)/λ, which is log(x) for λ = 0."""
    x, power = promote_and_broadcast(x, lmbda)
    return _boxcox_from_log(log(x), power)


@jit_wrapped()
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """Return the Box-Cox transform of 1 + x, accurate for small x."""
    x, power = promote_and_broadcast(x, lmbda)
    return _boxcox_from_log(log1p(x), power)


def _boxcox_from_log(logarithm: Any, power: Any) -> Any:
    zero = eq(power, 0.0)
    safe = select(zero, full_like(power, 1.0), power)
    return select(zero, logarithm, div(expm1(mul(safe, logarithm)), safe))


def softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """Return exp(x) / sum(exp(x)) along ``axis`` (None: over all elements), without overflow."""
    return _softmax(x, axis=to_static_axis(axis))


@jit_wrapped("axis")
def _softmax(x: Any, /, *, axis: Axis = None) -> Any:
    powers = exp(ufuncs.subtract(promote_inexact(x), _max_as_constant(promote_inexact(x), axis)))
    return ufuncs.divide(powers, reductions.sum(powers, axis=axis, keepdims=True))


@jit_wrapped("axis")
def log_softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """Return the logarithm of :func:`softmax`."""
    shifted = ufuncs.subtract(promote_inexact(x), _max_as_constant(promote_inexact(x), axis))
    return ufuncs.subtract(shifted, transcendental.log(reductions.sum(exp(shifted), axis=axis, keepdims=True)))


def _max_as_constant(x: Any, axis: Axis) -> Any:
    """Return the maximum along an axis as a constant: softmax does not depend on what is subtracted."""
    maximum = reductions.max(x, axis=axis, keepdims=True, initial=None if all(shape_of(x)) else -math.inf)
    return stop_gradient(logic.where(logic.isfinite(maximum), maximum, 0))


def promote_and_broadcast(x: Any, y: Any) -> tuple[Any, Any]:
    """Promote two operands to a common inexact dtype and broadcast them to one shape."""
    first, second = promote_pair_inexact(x, y)
    shape = broadcast_shape(aval_of(first).shape, aval_of(second).shape)
    return broadcast_to(first, shape), broadcast_to(second, shape)
