"""Logarithms and exponentials, and what information theory makes of them."""

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
    """The product x log(y), which is 0 for x = 0 whatever y is.

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
    """Sum the tangents times derivatives: of what moves alone, since the others may be infinite."""
    pairs = zip(tangents, derivatives, strict=True)
    return sum_tangents([mul(t, derivative()) for t, derivative in pairs if not isinstance(t, SymbolicZero)])


def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    return _xlogy(x, y), _sum(tangents, lambda: log(y), lambda: _quotient(x, y))


_xlogy.defjvp(_xlogy_jvp, symbolic_zeros=True)


@custom_jvp
def _quotient(x: Any, y: Any) -> Any:
    """Return x / y, and 0 for 0 / 0: the derivative of 0 log(y), which is 0 for all y."""
    both = bitwise_and(eq(x, 0.0), eq(y, 0.0))
    return div(x, select(both, filled(y, 1.0), y))


def _quotient_jvp(primals: Any, tangents: Any) -> Any:
    x, y = primals
    found = _quotient(x, y)
    return found, _sum(tangents, lambda: div(filled(y, 1.0), y), lambda: neg(_quotient(found, y)))


_quotient.defjvp(_quotient_jvp, symbolic_zeros=True)


@together()
def xlog1py(x: Any, y: Any) -> Any:
    """The product x log(1 + y), exact for small y, which is 0 for x = 0 whatever y is."""
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
    """The entropy -x log(x): 0 for x = 0, -inf for negative x."""
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
    """The relative entropy p log(p/q): 0 where p is 0, infinite where p or q is negative, or q is 0 and p is not.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.rel_entr(1.0, 0.5))
    0.6931472
    """
    return _rel_entr(*_entropy_operands(p, q))


def _entropy_operands(p: Any, q: Any) -> tuple[Any, Any]:
    """Two operands alike; a weak ``q`` that is spread over the axes of ``p`` keeps its dtype, as in JAX."""
    first, second = inexact_pair(p, q)
    if aval_of(first).shape and not aval_of(second).shape:
        second = as_dtype(second, aval_of(second).dtype)
    return alike(first, second)


def _rel_entr(p: Any, q: Any) -> Any:
    both = bitwise_and(gt(p, 0.0), gt(q, 0.0))
    one = filled(q, 1.0)
    p_safe, q_safe = select(both, p, one), select(both, q, one)
    usual = mul(p_safe, sub(log(p_safe), log(q_safe)))
    nothing = bitwise_and(eq(p, 0.0), ge(q, 0.0))
    return select(both, usual, select(nothing, filled(one, 0.0), filled(q, math.inf)))


@together()
def kl_div(p: Any, q: Any) -> Any:
    """The Kullback-Leibler divergence p log(p/q) - p + q, elementwise."""
    p, q = _entropy_operands(p, q)
    entropy = _rel_entr(p, q)
    plain = add(sub(entropy, p), q)
    if aval_of(p).dtype.kind == "c":
        return plain
    # outside of the domain the entropy is infinite, from which an infinite operand is not to be taken
    outside = bitwise_and(eq(entropy, math.inf), bitwise_or(le(q, 0.0), lt(p, 0.0)))
    limit = bitwise_and(outside, bitwise_and(ne(plain, plain), bitwise_and(eq(p, p), eq(q, q))))
    plain = select(limit, filled(p, math.inf), plain)
    # where both are near, p (r - log(1 + r)) for r = (q - p)/p, whose terms do not cancel
    near = lt(abs(sub(q, p)), mul(p, 0.5))
    a, b = (select(near, x, filled(x, 1.0)) for x in (p, q))
    # taken from 0, so that nothing is 0 and not -0
    return select(near, sub(filled(p, 0.0), mul(a, log1p_less(div(sub(b, a), a), div(b, a)))), plain)


@together()
def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of expit.

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
    """The logistic function 1 / (1 + exp(-x))."""
    return logistic(inexact(x))


@together()
def boxcox(x: Any, lmbda: Any) -> Any:
    """The Box-Cox transform (x^λ - 1)/λ, which is log(x) for λ = 0."""
    x, power = alike(x, lmbda)
    return _power_less_one(log(x), power)


@together()
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """The Box-Cox transform of 1 + x, exact for small x."""
    x, power = alike(x, lmbda)
    return _power_less_one(log1p(x), power)


def _power_less_one(logarithm: Any, power: Any) -> Any:
    zero = eq(power, 0.0)
    safe = select(zero, filled(power, 1.0), power)
    return select(zero, logarithm, div(expm1(mul(safe, logarithm)), safe))


def softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """exp(x) / sum(exp(x)) along ``axis``, over all elements where that is None, without overflow."""
    return _softmax(x, axis=as_tuple(axis))


@together("axis")
def _softmax(x: Any, /, *, axis: Axis = None) -> Any:
    powers = exp(ufuncs.subtract(inexact(x), _largest(inexact(x), axis)))
    return ufuncs.divide(powers, reductions.sum(powers, axis=axis, keepdims=True))


@together("axis")
def log_softmax(x: Any, /, *, axis: Axis = None) -> Any:
    """The logarithm of :func:`softmax`."""
    moved = ufuncs.subtract(inexact(x), _largest(inexact(x), axis))
    return ufuncs.subtract(moved, transcendental.log(reductions.sum(exp(moved), axis=axis, keepdims=True)))


def _largest(x: Any, axis: Axis) -> Any:
    """The largest elements, as constants: the result does not depend on them."""
    from_x = reductions.max(x, axis=axis, keepdims=True, initial=None if all(shape_of(x)) else -math.inf)
    return stop_gradient(logic.where(logic.isfinite(from_x), from_x, 0))


def alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one floating-point dtype and one shape."""
    first, second = inexact_pair(x, y)
    shape = broadcast_shape(aval_of(first).shape, aval_of(second).shape)
    return broadcast_to(first, shape), broadcast_to(second, shape)
