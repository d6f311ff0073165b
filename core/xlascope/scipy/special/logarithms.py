"""Logarithms and exponentials, and functions of information theory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...control.rules.custom_jvp import custom_jvp
from ...control.rules.tangents import SymbolicZero
from ...control.special.factors import log1p_less
from ...lax.barriers import stop_gradient
from ...numpy import logic, reductions, transcendental, ufuncs
from ...numpy.axes import as_tuple
from ...numpy.promotion import as_dtype, broadcast_shape, inexact, inexact_pair
from ...numpy.shaping import broadcast_to, shape_of
from ...numpy.together import together
from ...operations.arithmetic import abs, add, div, mul, sub
from ...operations.bits import bitwise_and, bitwise_or
from ...operations.comparisons import eq, ge, gt, le, lt, ne
from ...operations.exponentials import exp, expm1, log, log1p, logistic
from ...operations.selection import select
from ...operations.sums import neg, sum_tangents
from ...trace.values import aval_of
from .filling import filled

Axis = int | Sequence[int] | None


@together()
def xlogy(x: Any, y: Any) -> Any:
    """Return x log(y), which is 0 for x = 0 and any y that is not NaN.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.xlogy(0.0, 0.0))
    0.0
    """
    return _xlogy(*alike(x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    zero = bitwise_and(eq(x, 0.0), eq(y, y))
    return select(zero, filled(x, 0.0), mul(x, log(select(zero, filled(x, 1.0), y))))


def _sum(tangents: Any, *derivatives: Callable[[], Any]) -> Any:
    """Sum tangents times derivatives, skipping symbolic zeros, whose derivatives may be infinite."""
    pairs = zip(tangents, derivatives, strict=True)
    return sum_tangents([mul(t, derivative()) for t, derivative in pairs if not isinstance(t, SymbolicZero)])


def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlogy(x, y), _sum(tangents, lambda: log(y), lambda: _quotient(x, y))


_xlogy.defjvp(_xlogy_jvp, symbolic_zeros=True)


@custom_jvp
def _quotient(x: Any, y: Any) -> Any:
    """Return x / y, and 0 for 0 / 0: the derivative of 0 log(y), which is 0 for all y."""
    both_zero = bitwise_and(eq(x, 0.0), eq(y, 0.0))
    return div(x, select(both_zero, filled(y, 1.0), y))


def _quotient_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    quotient = _quotient(x, y)
    return quotient, _sum(tangents, lambda: div(filled(y, 1.0), y), lambda: neg(_quotient(quotient, y)))


_quotient.defjvp(_quotient_jvp, symbolic_zeros=True)


@together()
def xlog1py(x: Any, y: Any) -> Any:
    """Return x log(1 + y), accurate for small y, which is 0 for x = 0 and any y that is not NaN."""
    return _xlog1py(*alike(x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    zero = bitwise_and(eq(x, 0.0), eq(y, y))
    return select(zero, filled(x, 0.0), mul(x, log1p(select(zero, filled(x, 0.0), y))))


def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlog1py(x, y), _sum(tangents, lambda: log1p(y), lambda: _quotient(x, add(y, 1.0)))


_xlog1py.defjvp(_xlog1py_jvp, symbolic_zeros=True)


@together()
def entr(x: Any) -> Any:
    """Return the entropy -x log(x): 0 for x = 0, -inf for negative x."""
    x = inexact(x)
    negative = lt(x, 0.0)
    return select(negative, filled(x, -math.inf), _entr(select(negative, filled(x, 1.0), x)))


@custom_jvp
def _entr(x: Any) -> Any:
    return neg(_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _entr(x), mul(t, sub(filled(x, -1.0), log(x)))  # infinite at 0


@together()
def rel_entr(p: Any, q: Any) -> Any:
    """Return the relative entropy p log(p/q).

    It is 0 where p is 0 and q ≥ 0, and infinite where p or q is negative, or q is 0 and p is not.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.rel_entr(1.0, 0.5))
    0.6931472
    """
    return _rel_entr(*_entropy_operands(p, q))


def _entropy_operands(p: Any, q: Any) -> tuple[Any, Any]:
    """Promote and broadcast two operands; a weak scalar ``q`` keeps its dtype beside an array ``p``, as in JAX."""
    first, second = inexact_pair(p, q)
    if aval_of(first).shape and not aval_of(second).shape:
        second = as_dtype(second, aval_of(second).dtype)
    return alike(first, second)


def _rel_entr(p: Any, q: Any) -> Any:
    both_positive = bitwise_and(gt(p, 0.0), gt(q, 0.0))
    ones = filled(q, 1.0)
    p_safe, q_safe = select(both_positive, p, ones), select(both_positive, q, ones)
    valid = mul(p_safe, sub(log(p_safe), log(q_safe)))
    is_zero = bitwise_and(eq(p, 0.0), ge(q, 0.0))
    return select(both_positive, valid, select(is_zero, filled(ones, 0.0), filled(q, math.inf)))


@together()
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
    plain = select(limit, filled(p, math.inf), plain)
    # where both are near, p (r - log(1 + r)) for r = (q - p)/p, whose terms do not cancel
    near = lt(abs(sub(q, p)), mul(p, 0.5))
    a, b = (select(near, x, filled(x, 1.0)) for x in (p, q))
    # subtracted from 0, so that a zero is 0 and not -0
    return select(near, sub(filled(p, 0.0), mul(a, log1p_less(div(sub(b, a), a), div(b, a)))), plain)


@together()
def logit(x: Any) -> Any:
    """Return log(x / (1 - x)), the inverse of expit.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.logit(0.5))
    0.0
    """
    return _logit(inexact(x))


@custom_jvp
def _logit(x: Any) -> Any:
    return log(div(x, sub(1.0, x)))


@_logit.defjvp
def _logit_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _logit(x), div(t, mul(x, sub(1.0, x)))


@together()
def expit(x: Any) -> Any:
    """Return the logistic function 1 / (1 + exp(-x))."""
    return logistic(inexact(x))


@together()
def boxcox(x: Any, lmbda: Any) -> Any:
    """Return the Box-Cox transform (x^λ - 1)/λ, which is log(x) for λ = 0."""
    x, power = alike(x, lmbda)
    return _power_less_one(log(x), power)


@together()
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """Return the Box-Cox transform of 1 + x, accurate for small x."""
    x, power = alike(x, lmbda)
    return _power_less_one(log1p(x), power)


def _power_less_one(logarithm: Any, power: Any) -> Any:
    zero = eq(power, 0.0)
    safe = select(zero, filled(power, 1.0), power)
    return select(zero, logarithm, div(expm1(mul(safe, logarithm)), safe))


def softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """Return exp(x) / sum(exp(x)) along ``axis`` (None: over all elements), without overflow."""
    return _softmax(x, axis=as_tuple(axis))


@together("axis")
def _softmax(x: Any, /, *, axis: Axis = None) -> Any:
    powers = exp(ufuncs.subtract(inexact(x), _largest(inexact(x), axis)))
    return ufuncs.divide(powers, reductions.sum(powers, axis=axis, keepdims=True))


@together("axis")
def log_softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """Return the logarithm of :func:`softmax`."""
    shifted = ufuncs.subtract(inexact(x), _largest(inexact(x), axis))
    return ufuncs.subtract(shifted, transcendental.log(reductions.sum(exp(shifted), axis=axis, keepdims=True)))


def _largest(x: Any, axis: Axis) -> Any:
    """Return the maximum along an axis as a constant, since the result does not depend on it."""
    maximum = reductions.max(x, axis=axis, keepdims=True, initial=None if all(shape_of(x)) else -math.inf)
    return stop_gradient(logic.where(logic.isfinite(maximum), maximum, 0))


def alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Promote two operands to a common inexact dtype and broadcast them to one shape."""
    first, second = inexact_pair(x, y)
    shape = broadcast_shape(aval_of(first).shape, aval_of(second).shape)
    return broadcast_to(first, shape), broadcast_to(second, shape)
