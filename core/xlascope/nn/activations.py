"""Additional activation functions, each one named call in a jaxpr."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import jit
from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import dtype_kind
from ..numpy import logic, reductions, transcendental, ufuncs
from ..numpy.axes import axis_of, to_static_axis
from ..numpy.promotion import as_dtype, promote_dtypes, promote_inexact
from ..numpy.shaping import shape_of
from ..operations.slicing import slice_in_dim
from ..trace.operand_coercion import pass_through, to_array
from ..trace.values import aval_of
from .functions import Axis, limit_size, logsumexp, relu6, sigmoid, softplus


@jit
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """Return x for positive x, alpha · (e^(x / alpha) - 1) otherwise (Barron, 2017).

    ``x`` is an array of any shape, ``alpha`` a number or an array that broadcasts with it; the result is
    floating.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.celu(jnp.array([-jnp.inf, 0.0, 2.0]), 0.5))
    [-0.5  0.   2. ]
    """
    negative_part = transcendental.expm1(ufuncs.true_divide(ufuncs.minimum(x, 0.0), alpha))
    return ufuncs.add(ufuncs.maximum(x, 0.0), ufuncs.multiply(alpha, negative_part))


def glu(x: Any, axis: int = -1) -> Any:
    """Return the first half along ``axis`` times the sigmoid of the second half (Dauphin et al., 2017).

    The result has half the size along the axis; raises ValueError for an odd size.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.glu(jnp.array([1.0, 2.0, 0.0, 0.0])))
    [0.5 1. ]
    """
    axis_number = axis_of(axis, len(shape_of(x)))
    if shape_of(x)[axis_number] % 2:
        raise ValueError(f"glu takes an axis of even size, got size {shape_of(x)[axis_number]} of axis {axis}")
    return _glu(x, axis_number)


@jit(static_argnums=1)
def _glu(x: Any, axis: int) -> Any:
    size = shape_of(x)[axis]
    first, second = slice_in_dim(x, 0, size // 2, axis), slice_in_dim(x, size // 2, size, axis)
    return ufuncs.multiply(first, sigmoid(second))


@jit
def hard_sigmoid(x: Any) -> Any:
    """Return the piecewise linear sigmoid, relu6(x + 3) / 6.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.hard_sigmoid(jnp.array([-4.0, 0.0, 4.0])))
    [0.  0.5 1. ]
    """
    return ufuncs.true_divide(relu6(ufuncs.add(x, 3.0)), 6.0)


@jit
def hard_silu(x: Any) -> Any:
    """Return ``x`` · hard_sigmoid(x), also called hard_swish (Howard et al., 2019).

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.hard_silu(jnp.array([-4.0, 0.0, 4.0])))
    [-0.  0.  4.]
    """
    return ufuncs.multiply(x, hard_sigmoid(x))


hard_swish = hard_silu


@jit
def hard_tanh(x: Any) -> Any:
    """Return x clipped to [-1, 1]; the derivative is 1 at both ends.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.hard_tanh(jnp.array([-4.0, 0.5, 4.0])))
    [-1.   0.5  1. ]
    """
    return logic.where(logic.greater(x, 1), 1, logic.where(logic.less(x, -1), -1, x))


def identity(x: Any) -> Any:
    """Return the argument unchanged, as an array.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.identity(jnp.array([-1.0, 2.0])))
    [-1.  2.]
    """
    return pass_through(to_array(x))


@custom_jvp
@jit
def log1mexp(x: Any) -> Any:
    """Return log(1 - e⁻ˣ) for positive x, to full precision (Mächler, 2012); NaN for negative x.

    It is log(-expm1(-x)) up to log 2, where 1 - e⁻ˣ is small, and log1p(-e⁻ˣ) above.

    >>> import xlascope as xs
    >>> print(xs.nn.log1mexp(1e-10), xs.nn.log1mexp(50.0))
    -23.02585 -1.9287499e-22
    """
    x = promote_inexact(x)
    small_x = transcendental.log(ufuncs.negative(transcendental.expm1(ufuncs.negative(x))))
    large_x = transcendental.log1p(ufuncs.negative(transcendental.exp(ufuncs.negative(x))))
    return logic.where(logic.less(x, math.log(2)), small_x, large_x)


@custom_jvp
def _inverse_expm1(x: Any) -> Any:
    return ufuncs.reciprocal(transcendental.expm1(x))


# d/dx log(1 - e⁻ˣ) = r = 1 / (eˣ - 1), independent of the branches of where, and r' = -r (1 + r), which does not
# overflow
log1mexp.defjvps(lambda t, result, x: ufuncs.multiply(t, _inverse_expm1(x)))
_inverse_expm1.defjvps(lambda t, r, x: ufuncs.multiply(t, ufuncs.negative(ufuncs.multiply(r, ufuncs.add(1.0, r)))))


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the mean of eˣ along ``axis`` (all axes for None), without overflow.

    ``where`` selects the elements. Reduced axes are removed, or with ``keepdims`` kept with size 1.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.logmeanexp(jnp.array([1000.0, 1000.0])))
    1000.0
    """
    if where is not None and len(shape_of(where)) > len(shape_of(x)):
        raise ValueError(
            f"where of shape {shape_of(where)} has more axes than the array, {shape_of(x)}; give it x[None]"
        )
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    mask = where if where is not None else np.True_
    included = ufuncs.multiply(_ones_like(x), logic.to_bool(mask))
    dtype = aval_of(ufuncs.real(total)).dtype
    wide = np.dtype("float32") if dtype == np.float16 else dtype  # float16 counts to 65504
    count = reductions.sum(as_dtype(included, wide), to_static_axis(axis), keepdims=keepdims)
    return ufuncs.subtract(total, as_dtype(transcendental.log(count), dtype))


def _ones_like(x: Any) -> Any:
    return np.broadcast_to(np.float32(1), shape_of(x))


@jit
def mish(x: Any) -> Any:
    """Return ``x`` · tanh(softplus(x)) (Misra, 2020).

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.mish(jnp.array([0.0, 20.0])))
    [ 0. 20.]
    """
    # limited, for the derivatives of a product with a large x overflow, and their products with 0 would be NaN
    return ufuncs.multiply(x, transcendental.tanh(softplus(limit_size(promote_inexact(x), 800.0))))


@jit
def sparse_plus(x: Any) -> Any:
    """Return 0 up to -1, x from 1 on, and (x + 1)² / 4 between (Lee, 2024).

    It is the integral of :func:`sparse_sigmoid`.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0])))
    [0.   0.25 2.  ]
    """
    # limited, for the square's derivative overflows at large x, and its product with 0 would be NaN
    between = ufuncs.true_divide(ufuncs.square(ufuncs.add(reductions.clip(x, -1.0, 1.0), 1.0)), 4)
    return logic.where(logic.less_equal(x, -1.0), 0.0, logic.where(logic.greater_equal(x, 1.0), x, between))


@jit
def sparse_sigmoid(x: Any) -> Any:
    """Return 0 up to -1, 1 from 1 on, and linear values between.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0])))
    [0.  0.5 1. ]
    """
    if ufuncs.iscomplexobj(x):
        raise ValueError(f"sparse_sigmoid takes real numbers, got {aval_of(x).dtype.name}")
    return ufuncs.multiply(0.5, reductions.clip(ufuncs.add(x, 1.0), 0.0, 2.0))


@jit
def squareplus(x: Any, b: Any = 4) -> Any:
    """Return (x + √(x² + b)) / 2, a smooth relu without exponentials (Barron, 2021).

    ``b`` is the smoothness, a number or an array that broadcasts with ``x``.

    >>> import xlascope as xs
    >>> print(xs.nn.squareplus(0.0))
    1.0
    """
    x, b = promote_dtypes([promote_inexact(x), b])
    if dtype_kind(aval_of(x).dtype) == "c":
        root = transcendental.sqrt(ufuncs.add(ufuncs.square(x), b))
        return ufuncs.true_divide(ufuncs.add(x, root), 2)
    return _squareplus(x, b)


@custom_jvp
def _squareplus(x: Any, b: Any) -> Any:
    size, root = ufuncs.abs(x), _root_of_square_plus(x, b)
    difference = logic.where(logic.equal(root, size), 0.0, ufuncs.subtract(root, size))  # also of infinities
    upper = ufuncs.add(size, ufuncs.multiply(0.5, difference))  # (|x| + root) / 2; that sum may overflow
    lower = ufuncs.true_divide(ufuncs.multiply(0.25, b), upper)  # x + root cancels below zero; root - x does not
    return logic.where(logic.less(x, 0), lower, upper)


@custom_jvp
def _slope_of_squareplus(x: Any, b: Any) -> Any:
    root = _root_of_square_plus(x, b)
    is_kink = logic.equal(root, 0)
    return logic.where(is_kink, 0.5, ufuncs.true_divide(_squareplus(x, b), logic.where(is_kink, 1.0, root)))


def _root_of_square_plus(x: Any, b: Any) -> Any:
    """Return √(x² + b), without overflow unless ``b`` is negative."""
    is_negative = logic.less(b, 0)
    # An unselected branch must not have infinite derivatives: their products with 0 would be NaN.
    negative_b, other_x = logic.where(is_negative, b, 1.0), logic.where(is_negative, x, 1.0)
    difference = transcendental.sqrt(ufuncs.add(ufuncs.square(other_x), negative_b))
    length = transcendental.hypot(x, transcendental.sqrt(logic.where(is_negative, 1.0, b)))
    return logic.where(is_negative, difference, length)


_squareplus.defjvps(
    lambda t, result, x, b: ufuncs.multiply(t, _slope_of_squareplus(x, b)),
    lambda t, result, x, b: ufuncs.multiply(t, ufuncs.true_divide(0.25, _root_of_square_plus(x, b))),
)
# (1 + x / root) / 2 has the derivatives b / (2 root³) and -x / (4 root³): the quotient's would cancel.
_slope_of_squareplus.defjvps(
    lambda t, result, x, b: ufuncs.multiply(t, ufuncs.multiply(0.5, _divide_by_cubed_root(b, x, b))),
    lambda t, result, x, b: ufuncs.multiply(t, ufuncs.multiply(-0.25, _divide_by_cubed_root(x, x, b))),
)


def _divide_by_cubed_root(numerator: Any, x: Any, b: Any) -> Any:
    root = _root_of_square_plus(x, b)
    return ufuncs.true_divide(ufuncs.true_divide(ufuncs.true_divide(numerator, root), root), root)
