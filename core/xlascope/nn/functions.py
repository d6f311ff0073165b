"""Activation functions and normalizations, numerically stable, each one named call in a jaxpr."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import jit
from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import dtype_kind, is_floating, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..lax.parallel import axis_index, axis_size
from ..numpy import logic, reductions, transcendental, ufuncs
from ..numpy.axes import axes_of, axis_of, to_static_axis, whole_number
from ..numpy.creation import asarray
from ..numpy.promotion import broadcast_shape, promote_dtypes, promote_inexact
from ..numpy.shaping import broadcast_to
from ..numpy.transcendental import logaddexp
from ..operations import arithmetic, extremes, trigonometry
from ..operations.arithmetic import add, div, integer_pow, mul, square, sub
from ..operations.barriers import stop_gradient
from ..operations.bits import bitwise_and, bitwise_or
from ..operations.comparisons import eq, gt, lt
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.exponentials import exp, log, logistic, rsqrt
from ..operations.extremes import clamp
from ..operations.operand_values import typed_scalar
from ..operations.reductions import reduce_max_unless_nan
from ..operations.rounding import is_finite
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, squeeze
from ..operations.special import erfc
from ..operations.tangent_arithmetic import neg
from ..trace.values import aval_of

Axis = int | tuple[int, ...] | None


# Elementwise --------------------------------------------------------------------------------------------------------


@custom_jvp
@jit
def relu(x: Any) -> Any:
    """Return max(x, 0); its derivative at 0 is 0, and NaN stays NaN.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.relu(jnp.array([-1.0, 0.0, 2.0])), xs.grad(xs.nn.relu)(0.0))
    [0. 0. 2.] 0.0
    """
    return ufuncs.maximum(x, 0)


relu.defjvps(lambda t, result, x: select(gt(x, 0), t, _constant_like(t, 0)))


@custom_jvp
@jit
def relu6(x: Any) -> Any:
    """Return min(max(x, 0), 6); its derivative is 0 at 0 and at 6."""
    return ufuncs.minimum(ufuncs.maximum(x, 0), 6.0)


relu6.defjvps(lambda t, result, x: select(bitwise_and(gt(x, 0), lt(x, 6)), t, _constant_like(t, 0)))


@jit
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e⁻ˣ)."""
    return logistic(promote_inexact(x))


@jit
def log_sigmoid(x: Any) -> Any:
    """Return log(sigmoid(x))."""
    return neg(softplus(neg(promote_inexact(x))))


@jit
def softplus(x: Any) -> Any:
    """Return log(1 + eˣ), without overflow.

    >>> import xlascope as xs
    >>> print(xs.nn.softplus(1000.0), xs.grad(xs.nn.softplus)(0.0))
    1000.0 0.5
    """
    return logaddexp(x, 0)


@jit
def silu(x: Any) -> Any:
    """Return ``x`` · sigmoid(x), also called swish."""
    x = promote_inexact(x)
    return mul(x, logistic(x))


swish = silu


@jit
def soft_sign(x: Any) -> Any:
    """Return ``x`` / (1 + |x|)."""
    return ufuncs.true_divide(x, ufuncs.add(ufuncs.abs(x), 1))


@jit
def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent."""
    return transcendental.tanh(x)


@jit
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """Return x for positive x, alpha · (eˣ - 1) otherwise."""
    return _elu(x, alpha)


@jit
def selu(x: Any) -> Any:
    """Return the elu with a slope and an alpha that preserve mean and variance (Klambauer et al., 2017)."""
    return ufuncs.multiply(_elu(x, 1.6732632423543772), 1.0507009873554805)


@jit
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """Return x for x ≥ 0, negative_slope · x otherwise."""
    return logic.where(logic.greater_equal(x, 0), x, ufuncs.multiply(negative_slope, x))


def gelu(x: Any, approximate: bool = True) -> Any:
    """Return ``x`` · Φ(x), Φ the normal distribution function; a tanh approximation if ``approximate``."""
    return _gelu(x, bool(approximate))


@jit(static_argnums=1)
def _gelu(x: Any, approximate: bool) -> Any:
    x = _to_strong_inexact(x)
    if approximate:
        near = limit_size(x, 12.0)
        inner = mul(add(near, mul(integer_pow(near, 3), 0.044715)), math.sqrt(2 / math.pi))
        return mul(x, mul(add(trigonometry.tanh(inner), 1), 0.5))
    near = limit_size(x, 40.0)
    return mul(mul(x, 0.5), erfc(mul(neg(near), math.sqrt(0.5))))  # 1 + erf(x / √2) loses precision below 0


def limit_size(x: Any, largest: float) -> Any:
    """Return real ``x`` limited to ``largest`` in size, for a function that is constant from there on.

    The powers of a larger ``x`` overflow in their derivatives (the cube of 300 in float16), and the products of these
    with derivatives that are 0 would be NaN.
    """
    return x if dtype_kind(aval_of(x).dtype) == "c" else clamp(-largest, x, largest)


# Along axes ---------------------------------------------------------------------------------------------------------


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """Return e^x over the sum of e^x along ``axis``; elements excluded by ``where`` are ignored and give 0.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.softmax(jnp.array([1000.0, 1000.0])))
    [0.5 0.5]
    """
    return _softmax(x, to_static_axis(axis), where)


@jit(static_argnums=1)
def _softmax(x: Any, axis: Any, where: Any) -> Any:
    x = _to_strong_inexact(_broadcast_with_mask(x, where))
    axes = _sorted_axes(x, axis)
    weights = exp(_replace_excluded(where, sub(x, _constant_maximum(x, axes, where)), -np.inf))
    total = _sum_keepdims(weights, axes)
    return _replace_excluded(where, _cast_like(div(_cast_like(weights, total), total), x), 0)


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Any:
    """Return log(softmax(x)) without underflow; elements excluded by ``where`` are ignored and give -inf.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.log_softmax(jnp.array([0.0, -1000.0])))
    [    0. -1000.]
    """
    return _log_softmax(x, to_static_axis(axis), where)


@jit(static_argnums=1)
def _log_softmax(x: Any, axis: Any, where: Any) -> Any:
    x = _to_strong_inexact(_broadcast_with_mask(x, where))
    axes = _sorted_axes(x, axis)
    shifted = _replace_excluded(where, sub(x, _constant_maximum(x, axes, where)), -np.inf)
    total = _sum_keepdims(exp(shifted), axes)
    return _replace_excluded(where, sub(shifted, _cast_like(log(total), x)), -np.inf)


def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return log(Σ b eᵃ) along ``axis`` (None: all axes), without overflow.

    ``where`` selects the elements of the sum. ``return_sign`` returns the logarithm of the absolute value of the
    sum, and its sign.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.logsumexp(jnp.array([1000.0, 1000.0])))
    1000.6932
    """
    return _logsumexp(a, to_static_axis(axis), b, bool(keepdims), bool(return_sign), where)


@jit(static_argnums=(1, 3, 4))
def _logsumexp(a: Any, axis: Axis, factor: Any, keepdims: bool, return_sign: bool, where: Any) -> Any:
    a, factor = (a, None) if factor is None else promote_dtypes((a, factor))
    x = _broadcast_with(_broadcast_with(promote_inexact(a), where), factor)
    if factor is not None:  # exclude elements with factor 0
        x = logic.where(logic.equal(factor, 0), -math.inf, x)
    axes = _sorted_axes(x, axis)
    maximum = _constant_maximum(ufuncs.real(x), axes, where)
    maximum = _cast_like(select(is_finite(maximum), maximum, _constant_like(maximum, 0)), x)
    terms = exp(_replace_excluded(where, sub(x, maximum), -np.inf))
    if factor is not None:
        terms = _replace_excluded(where, mul(terms, _broadcast_trailing(_cast_like(factor, x), aval_of(x).shape)), 0)
    total = _sum_keepdims(terms, axes)
    sign = arithmetic.sign(total) if return_sign else None
    if return_sign:
        total, maximum = arithmetic.abs(total), ufuncs.real(maximum)
    result = _cast_like(add(log(total), _cast_like(maximum, total)), maximum)
    sign = None if sign is None else _cast_like(sign, x)
    results = [y if keepdims or y is None else _drop_axes(y, axes) for y in (result, sign)]
    return tuple(results) if return_sign else results[0]


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int | str = -1) -> Any:
    """Return for each integer i of ``x`` a vector along ``axis`` with a 1 at index i; all 0 if i is out of range.

    ``axis`` may be the name of a mapped axis of size ``num_classes``: then each index of the mapped axis gets its
    element of the vector.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.one_hot(jnp.array([0, 2]), 3))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    if isinstance(x, (list, tuple)):
        x = asarray(x)
    count, dtype = whole_number(num_classes, "num_classes"), resolve_requested_dtype(float if dtype is None else dtype)
    if isinstance(axis, str):
        return _one_hot_over_mapped_axis(x, count, dtype, axis)
    return _one_hot(x, count, dtype, axis_of(axis, len(aval_of(x).shape) + 1))


def _one_hot_over_mapped_axis(x: Any, num_classes: int, dtype: np.dtype[Any], name: str) -> Any:
    """Return 1 where ``x`` is this example's index along the mapped axis ``name``, else 0.

    Raises ValueError unless that axis has the size ``num_classes``.
    """
    if (size := axis_size(name)) != num_classes:
        raise ValueError(
            f"one_hot over the axis {name!r} has one class for each of its {size} places, got {num_classes}"
        )
    return to_dtype(logic.equal(x, axis_index(name)), dtype)


@jit(static_argnums=(1, 2, 3))
def _one_hot(x: Any, num_classes: int, dtype: np.dtype[Any], axis: int) -> Any:
    column = expand_dims(x, (axis,))
    aval = aval_of(column)
    sizes = tuple(num_classes if i == axis else 1 for i in range(len(aval.shape)))
    classes = broadcasted_iota(np.dtype("int32"), sizes, axis)
    if dtype_kind(aval.dtype) in "biu":
        column = to_dtype(column, classes.dtype)
    else:
        classes = to_dtype(classes, aval.dtype)
    return to_dtype(eq(column, classes), dtype)


def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """Return (x - mean) / √(variance + epsilon), with mean and variance along ``axis`` unless they are given.

    They are computed from the elements selected by ``where``. ``algorithm`` "fast" computes the variance as the
    mean of squares minus the square of the mean, which loses precision if the mean is large; "stable" as the mean
    of squared deviations.
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f'standardize takes algorithm as "fast" or "stable", got {algorithm!r}')
    return _standardize(x, to_static_axis(axis), mean, variance, epsilon, where, algorithm == "stable")


@jit(static_argnums=(1, 6))
def _standardize(x: Any, axis: Any, mean: Any, variance: Any, epsilon: Any, where: Any, stable: bool) -> Any:
    x, *_ = promote_dtypes(
        [promote_inexact(x), *(statistic for statistic in (mean, variance) if statistic is not None)]
    )
    dtype = aval_of(x).dtype
    if is_floating(dtype) and dtype.itemsize == 2:  # the difference of two squares would leave no bits
        wide = convert_element_type(x, np.dtype("float32"))
        return _cast_like(_standardize(wide, axis, mean, variance, epsilon, where, stable), x)
    mean = _mean(x, axis, where) if mean is None else _broadcast_trailing(_cast_like(mean, x), aval_of(x).shape)
    if variance is None:
        variance = _variance(x, axis, mean, where, stable)
    else:
        variance = _broadcast_trailing(_cast_like(variance, x), aval_of(x).shape)
    distance, scale = sub(x, mean), rsqrt(add(variance, _cast_like(epsilon, x)))
    if where is None:
        return mul(distance, scale)
    # Excluded elements that are not finite stay so, and must not enter the derivative of the scale.
    is_scaled = bitwise_or(reductions.broadcast_mask(where, x), logic.isfinite(distance))
    return select(is_scaled, mul(_replace_excluded(is_scaled, distance, 0), scale), distance)


def _mean(x: Any, axis: Any, where: Any) -> Any:
    return reductions.mean(x, axis, keepdims=True, where=where)


def _variance(x: Any, axis: Any, mean: Any, where: Any, stable: bool) -> Any:
    if dtype_kind(aval_of(x).dtype) == "c":
        raise TypeError(
            f"standardize takes the variance of real numbers, got {aval_of(x).dtype.name}; give it: variance=..."
        )
    if stable:
        return _mean(square(_zero_excluded(where, sub(x, mean))), axis, where)
    squares = square(_zero_excluded(where, x))
    return extremes.max(sub(_mean(squares, axis, where), square(mean)), 0)  # rounding may give a negative value


def _zero_excluded(where: Any, x: Any) -> Any:
    """Return ``x`` with zeros where the mask ``where`` is false (None: nowhere); their squares have derivative 0."""
    return x if where is None else select(reductions.broadcast_mask(where, x), x, _constant_like(x, 0))


# Helpers ------------------------------------------------------------------------------------------------------------


def _elu(x: Any, alpha: Any) -> Any:
    is_positive = logic.greater(x, 0)
    negative_part = transcendental.expm1(logic.where(is_positive, 0.0, x))  # avoid overflow in the unselected branch
    return logic.where(is_positive, x, ufuncs.multiply(alpha, negative_part))


def _to_strong_inexact(x: Any) -> Any:
    x = promote_inexact(x)
    return to_dtype(x, aval_of(x).dtype) if aval_of(x).weak_type else x


def _constant_like(x: Any, value: float) -> Any:
    return typed_scalar(value, aval_of(x).dtype)


def _cast_like(value: Any, x: Any) -> Any:
    return to_dtype(value, aval_of(x).dtype)


def _sorted_axes(x: Any, axis: Axis) -> tuple[int, ...]:
    rank = len(aval_of(x).shape)
    return tuple(range(rank)) if axis is None else tuple(sorted(axes_of(axis, rank)))


def _constant_maximum(x: Any, axes: tuple[int, ...], where: Any) -> Any:
    """Return the largest element along ``axes``, which are kept with size 1, as a constant for differentiation.

    ``where`` selects the elements (None: all); it is -inf if there are none. NaN may be left out: it is to be
    subtracted from all elements.
    """
    included = _replace_excluded(where, x, -np.inf)
    maximum = reduce_max_unless_nan(included, axes) if axes else included
    return stop_gradient(expand_dims(maximum, axes))


def _sum_keepdims(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum along ``axes``, which are kept with size 1: in float32 for float16, which ends at 65504."""
    if aval_of(x).dtype == np.float16:
        x = convert_element_type(x, np.dtype("float32"))
    return expand_dims(reductions.sum_in_float32(x, axes), axes)


def _drop_axes(x: Any, axes: tuple[int, ...]) -> Any:
    return squeeze(x, axes) if axes else x


def _replace_excluded(where: Any, x: Any, otherwise: float) -> Any:
    """Return ``x`` where the mask ``where`` holds (None: everywhere), and ``otherwise`` elsewhere."""
    if where is None:
        return x
    return select(_broadcast_trailing(where, aval_of(x).shape), x, _constant_like(x, otherwise))


def _broadcast_with(x: Any, partner: Any) -> Any:
    """Return ``x`` broadcast against ``partner``, or unchanged if that is None."""
    return x if partner is None else broadcast_to(x, broadcast_shape(aval_of(x).shape, aval_of(partner).shape))


def _broadcast_with_mask(x: Any, where: Any) -> Any:
    """Return ``x`` broadcast against the mask ``where``, integers as floats; unchanged if that is None.

    Raises ValueError if ``where`` has more axes, which would make ``axis`` ambiguous, or is not boolean.
    """
    if where is not None:
        reductions.require_mask(where)
    if where is not None and len(aval_of(where).shape) > len(aval_of(x).shape):
        raise ValueError(
            f"where of shape {aval_of(where).shape} has more axes than the array, whose shape is {aval_of(x).shape}; "
            "give the array leading axes: x[None]"
        )
    if where is not None and dtype_kind(aval_of(x).dtype) in "biu":
        x = convert_element_type(x, to_canonical_dtype(float))  # excluded elements become -inf, a float
    return _broadcast_with(x, where)


def _broadcast_trailing(x: Any, shape: tuple[int, ...]) -> Any:
    operand_shape = aval_of(x).shape
    if not operand_shape or operand_shape == shape:
        return x
    return broadcast_in_dim(x, shape, range(len(shape) - len(operand_shape), len(shape)))
