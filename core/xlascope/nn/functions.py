"""Activation functions and what goes with them: each one named call in a jaxpr, stable for arguments of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import jit
from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import canonical, is_differentiable
from ..numpy.transcendental import logaddexp
from ..operations import arithmetic, extremes, rounding, trigonometry
from ..operations.arithmetic import add, div, integer_pow, mul, square, sub
from ..operations.barriers import stop_gradient
from ..operations.bits import bitwise_and
from ..operations.comparisons import eq, ge, gt, lt
from ..operations.conversion import convert_element_type
from ..operations.exponentials import exp, expm1, log, logistic, rsqrt
from ..operations.reductions import reduce_max
from ..operations.rounding import is_finite
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, reduce_sum, squeeze
from ..operations.special import erf
from ..operations.sums import neg
from ..trace.values import aval_of

Axis = int | tuple[int, ...] | None


# Elementwise --------------------------------------------------------------------------------------------------------


@custom_jvp
@jit
def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is 0, and NaN stays NaN.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.relu(jnp.array([-1.0, 0.0, 2.0])), xs.grad(xs.nn.relu)(0.0))
    [0. 0. 2.] 0.0
    """
    return extremes.max(x, 0)


relu.defjvps(lambda t, result, x: select(gt(x, 0), t, _like(t, 0)))


@custom_jvp
@jit
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); its derivative is 0 at 0 and at 6."""
    return extremes.min(extremes.max(x, 0), 6)


relu6.defjvps(lambda t, result, x: select(bitwise_and(gt(x, 0), lt(x, 6)), t, _like(t, 0)))


@jit
def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ)."""
    return logistic(_real(x))


@jit
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x))."""
    return neg(softplus(neg(_real(x))))


@jit
def softplus(x: Any) -> Any:
    """log(1 + eˣ), without overflow.

    >>> import xlascope as xs
    >>> print(xs.nn.softplus(1000.0), xs.grad(xs.nn.softplus)(0.0))
    1000.0 0.5
    """
    return logaddexp(_real(x), 0.0)


@jit
def silu(x: Any) -> Any:
    """X · sigmoid(x), also called swish."""
    x = _real(x)
    return mul(x, logistic(x))


swish = silu


@jit
def soft_sign(x: Any) -> Any:
    """X / (1 + |x|)."""
    x = _real(x)
    return div(x, add(arithmetic.abs(x), 1))


@jit
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return trigonometry.tanh(_real(x))


@jit
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """The value x for positive x, alpha · (eˣ - 1) otherwise."""
    return _elu(_real(x), alpha)


@jit
def selu(x: Any) -> Any:
    """The elu with a slope and an alpha that keep mean and variance (Klambauer et al., 2017)."""
    return mul(_elu(_real(x), 1.6732632423543772), 1.0507009873554805)


@jit
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """The value x for x ≥ 0, negative_slope · x otherwise."""
    x = _real(x)
    return select(ge(x, 0), x, mul(x, _cast(negative_slope, x)))


@jit(static_argnames="approximate")
def gelu(x: Any, approximate: bool = True) -> Any:
    """X · Φ(x) for the normal distribution function Φ; approximately, by a tanh, unless ``approximate`` is False."""
    x = _real(x)
    if approximate:
        inner = mul(add(x, mul(integer_pow(x, 3), 0.044715)), math.sqrt(2 / math.pi))
        return mul(x, mul(add(trigonometry.tanh(inner), 1), 0.5))
    return mul(mul(x, 0.5), add(erf(div(x, math.sqrt(2))), 1))


# Along axes ---------------------------------------------------------------------------------------------------------


@jit(static_argnames="axis")
def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """e^x over the sum of e^x along ``axis``; elements that ``where`` leaves out get 0 and do not count.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.softmax(jnp.array([1000.0, 1000.0])))
    [0.5 0.5]
    """
    x = _real(x)
    axes = _axes(x, axis)
    weights = _kept(where, exp(sub(x, _maximum(x, axes, where))), 0)
    return _kept(where, div(weights, _sum(weights, axes)), 0)


@jit(static_argnames="axis")
def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """log(softmax(x)), without the underflow; elements that ``where`` leaves out get -inf and do not count.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.log_softmax(jnp.array([0.0, -1000.0])))
    [    0. -1000.]
    """
    x = _real(x)
    axes = _axes(x, axis)
    shifted = sub(x, _maximum(x, axes, where))
    total = _sum(_kept(where, exp(shifted), 0), axes)
    return _kept(where, sub(shifted, log(total)), -np.inf)


@jit(static_argnames=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(Σ b eᵃ) along ``axis`` (all axes for None), without overflow; with ``return_sign`` log|…| and the sign.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.logsumexp(jnp.array([1000.0, 1000.0])))
    1000.6932
    """
    return _logsumexp(_real(a), axis, b, keepdims, return_sign, where)


def _logsumexp(x: Any, axis: Axis, factor: Any, keepdims: bool, return_sign: bool, where: Any) -> Any:
    axes = _axes(x, axis)
    most = _maximum(x, axes, where)
    most = select(is_finite(most), most, _like(most, 0))
    terms = exp(sub(x, most))
    if factor is not None:
        terms = mul(terms, _spread(_cast(factor, x), aval_of(x).shape))
    total = _sum(_kept(where, terms, 0), axes)
    sign = rounding.sign(total) if return_sign else None
    found = add(log(arithmetic.abs(total) if return_sign else total), most)
    results = [y if keepdims or y is None else _dropped(y, axes) for y in (found, sign)]
    return tuple(results) if return_sign else results[0]


def one_hot(x: Any, num_classes: int, *, dtype: Any = float, axis: int = -1) -> Any:
    """For each integer i of ``x`` a vector along ``axis`` with a 1 at place i; all 0 when i is no class.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.one_hot(jnp.array([0, 2]), 3))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    rank = len(aval_of(x).shape) + 1
    if not -rank <= axis < rank:
        raise ValueError(f"one_hot: the result has {rank} axes, there is no axis {axis}")
    return _one_hot(x, int(num_classes), canonical(dtype), axis % rank)


@jit(static_argnums=(1, 2, 3))
def _one_hot(x: Any, num_classes: int, dtype: np.dtype[Any], axis: int) -> Any:
    column = expand_dims(x, (axis,))
    aval = aval_of(column)
    sizes = tuple(num_classes if i == axis else 1 for i in range(len(aval.shape)))
    classes = broadcasted_iota(np.dtype("int32"), sizes, axis)
    if aval.dtype.kind in "biu":
        column = convert_element_type(column, classes.dtype)
    else:
        classes = convert_element_type(classes, aval.dtype)
    return convert_element_type(eq(column, classes), dtype)


@jit(static_argnames="axis")
def standardize(x: Any, axis: Axis = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5) -> Any:
    """(x - mean) / √(variance + epsilon), mean and variance taken along ``axis`` unless they are given."""
    x = _real(x)
    axes = _axes(x, axis)
    count = math.prod(aval_of(x).shape[i] for i in axes)
    mean = div(_sum(x, axes), count) if mean is None else _spread(_cast(mean, x), aval_of(x).shape)
    if variance is None:
        variance = sub(div(_sum(square(x), axes), count), square(mean))
    else:
        variance = _spread(_cast(variance, x), aval_of(x).shape)
    return mul(sub(x, mean), rsqrt(add(variance, _cast(epsilon, x))))


# Parts --------------------------------------------------------------------------------------------------------------


def _elu(x: Any, alpha: Any) -> Any:
    right = gt(x, 0)
    left = expm1(select(right, _like(x, 0), x))  # 0 in place of what could overflow
    return select(right, x, mul(left, _cast(alpha, x)))


def _real(x: Any) -> Any:
    return x if is_differentiable(aval_of(x).dtype) else convert_element_type(x, canonical(float))


def _like(x: Any, value: float) -> Any:
    return np.asarray(value).astype(aval_of(x).dtype)[()]


def _cast(value: Any, x: Any) -> Any:
    return convert_element_type(value, aval_of(x).dtype)


def _axes(x: Any, axis: Axis) -> tuple[int, ...]:
    rank = len(aval_of(x).shape)
    chosen = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    for one in chosen:
        if not -rank <= one < rank:
            raise ValueError(f"an array of shape {aval_of(x).shape} has no axis {one}")
    return tuple(sorted(one % rank for one in chosen))


def _maximum(x: Any, axes: tuple[int, ...], where: Any) -> Any:
    """The largest element along the axes, which stay with size 1; taken for a constant when differentiating."""
    kept = _kept(where, x, -np.inf)
    found = reduce_max(kept, axes) if axes else kept
    return stop_gradient(expand_dims(found, axes))


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return expand_dims(reduce_sum(x, axes), axes)


def _dropped(x: Any, axes: tuple[int, ...]) -> Any:
    return squeeze(x, axes) if axes else x


def _kept(where: Any, x: Any, otherwise: float) -> Any:
    """``x`` where ``where`` is true (everywhere for None), else a number."""
    if where is None:
        return x
    return select(_spread(where, aval_of(x).shape), x, _like(x, otherwise))


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    own = aval_of(x).shape
    if not own or own == shape:
        return x
    return broadcast_in_dim(x, shape, range(len(shape) - len(own), len(shape)))
