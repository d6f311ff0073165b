"""Initializers of parameters: functions of (key, shape, dtype)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import random
from ..ir.requested_dtypes import resolve_requested_dtype
from ..names import explain_missing as _explain_missing
from ..numpy.axes import axes_of, axis_of, sizes_of
from ..numpy.shaping import broadcast_to
from ..operations.arithmetic import mul, sub
from ..operations.complex_numbers import real_dtype
from ..operations.conversion import convert_element_type
from ..operations.exponentials import exp, log, sqrt
from ..operations.operand_values import typed_scalar
from ..operations.shapes import full, moveaxis, reshape, squeeze
from ..operations.slicing import pad, slice_in_dim
from ..operations.tangent_arithmetic import neg
from ..trace.values import aval_of
from ..xla.arrays.transfers import put_on_device

Initializer = Callable[..., Any]
Axes = int | Sequence[int]

#: Standard deviation of the standard normal distribution truncated at ±2.
_TRUNCATED_NORMAL_STDDEV = 0.87962566103423978
#: Standard deviation of the complex standard normal distribution with the absolute value truncated at 2.
_TRUNCATED_COMPLEX_NORMAL_STDDEV = 0.95311164380491208


def zeros(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
    """Return zeros; the key is unused."""
    return constant(0)(key, shape, dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
    """Return ones; the key is unused."""
    return constant(1)(key, shape, dtype)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Return an initializer that fills with ``value``, in ``dtype`` unless the caller specifies another."""
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        resolved, sizes = _resolve_dtype(dtype, default_dtype), sizes_of(shape)
        if aval_of(value).shape:
            return broadcast_to(convert_element_type(value, resolved), sizes)
        scalar = typed_scalar(value, resolved)
        return full(sizes, scalar) if sizes else put_on_device(scalar, aval_of(scalar))

    return initialize


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of uniformly distributed numbers in [0, scale)."""
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return mul(random.uniform(key, shape, _resolve_dtype(dtype, default_dtype)), scale)

    return initialize


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer of normally distributed numbers."""
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return mul(random.normal(key, shape, _resolve_dtype(dtype, default_dtype)), stddev)

    return initialize


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """Return an initializer of normal numbers truncated at ``lower`` and ``upper`` standard deviations.

    ``stddev`` is the standard deviation before truncation, ``dtype`` a floating-point dtype.
    """
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        return mul(random.truncated_normal(key, lower, upper, shape, _resolve_dtype(dtype, default_dtype)), stddev)

    return initialize


def _resolve_dtype(dtype: Any, default_dtype: Any) -> np.dtype[Any]:
    """Return the requested dtype: of the call, else of the initializer, else the default float."""
    return resolve_requested_dtype(
        next((candidate for candidate in (dtype, default_dtype) if candidate is not None), float)
    )


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Return an initializer whose numbers have variance ``scale`` divided by the fan of a unit.

    ``mode`` is "fan_in", "fan_out", "fan_avg" or "fan_geo_avg" (inputs, outputs, or their arithmetic or geometric
    mean); ``distribution`` "truncated_normal", "normal" or "uniform" (for a complex ``dtype``, over a disk). Axes
    in ``batch_axis`` are ignored; axes other than ``in_axis`` and ``out_axis`` are windows, whose size multiplies
    both fans. Raises ValueError for another mode or distribution, and for shapes of fewer than two axes.
    """
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        fans = _fans(shape, in_axis, out_axis, batch_axis)
        if mode not in fans:
            raise ValueError(f"mode is one of {', '.join(fans)}, got {mode!r}")
        return _sample(key, shape, _resolve_dtype(dtype, default_dtype), scale / max(1.0, fans[mode]), distribution)

    return initialize


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> dict[str, float]:
    """Return the fan-in, the fan-out and their means for a shape of parameters, by mode of :func:`variance_scaling`.

    The axes are those of :func:`variance_scaling`. Raises ValueError for fewer than two axes.
    """
    sizes = sizes_of(shape)
    if len(sizes) < 2:
        raise ValueError(f"this initializer needs a shape with an axis of inputs and one of outputs, got {sizes}")
    pairs = (("in_axis", in_axis), ("out_axis", out_axis), ("batch_axis", batch_axis))
    inputs, outputs, batch = (math.prod(sizes[i] for i in axes_of(axes, len(sizes), name)) for name, axes in pairs)
    window = math.prod(sizes) / (inputs * outputs * batch) if inputs * outputs * batch else 0.0
    fan_in, fan_out = inputs * window, outputs * window
    between = {"fan_avg": (fan_in + fan_out) / 2, "fan_geo_avg": math.sqrt(fan_in * fan_out)}
    return {"fan_in": fan_in, "fan_out": fan_out, **between}


def _sample(key: Any, shape: Sequence[int], dtype: np.dtype[Any], variance: float, distribution: str) -> Any:
    """Return numbers with mean 0 and the given variance; ``distribution`` is that of :func:`variance_scaling`."""
    is_complex, value = dtype.kind == "c", np.asarray(variance, dtype)
    root = np.sqrt(value)[()]
    if distribution == "truncated_normal" and is_complex:
        return mul(
            _sample_in_disk(key, shape, dtype, _normal_radius),
            root / np.asarray(_TRUNCATED_COMPLEX_NORMAL_STDDEV, dtype),
        )
    if distribution == "truncated_normal":
        return mul(
            random.truncated_normal(key, -2, 2, shape, dtype), root / np.asarray(_TRUNCATED_NORMAL_STDDEV, dtype)
        )
    if distribution == "normal":
        return mul(random.normal(key, shape, dtype), root)
    if distribution == "uniform" and is_complex:
        return mul(_sample_in_disk(key, shape, dtype, _uniform_radius), root)
    if distribution == "uniform":
        return mul(random.uniform(key, shape, dtype, -1), np.sqrt(3 * value)[()])
    raise ValueError(f"distribution is one of truncated_normal, normal, uniform, got {distribution!r}")


def _sample_in_disk(key: Any, shape: Sequence[int], dtype: np.dtype[Any], radius: Callable[[Any], Any]) -> Any:
    """Return complex numbers with uniform angles, and radii computed by ``radius`` from uniform numbers in [0, 1)."""
    part = real_dtype(dtype)
    first, second = (squeeze(slice_in_dim(random.split(key), i, i + 1), (0,)) for i in (0, 1))
    length = radius(random.uniform(first, shape, part))
    angle = mul(random.uniform(second, shape, part), 2 * math.pi)
    return mul(convert_element_type(length, dtype), exp(mul(convert_element_type(angle, dtype), 1j)))


def _uniform_radius(u: Any) -> Any:
    return sqrt(mul(u, 2.0))  # the area grows with the square; the mean square is 1


def _normal_radius(u: Any) -> Any:
    # The squared radius is exponentially distributed. Truncation at radius 2 limits u to its probability.
    return sqrt(neg(log(sub(1.0, mul(u, 1 - math.exp(-4))))))


def glorot_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Return Glorot and Bengio's initializer (2010), uniformly distributed."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Return Glorot and Bengio's initializer (2010), normally distributed."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Return He et al.'s initializer for layers with relu (2015), uniformly distributed."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Return He et al.'s initializer for layers with relu (2015), normally distributed."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Return LeCun et al.'s initializer (1998), uniformly distributed."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """Return LeCun et al.'s initializer (1998), normally distributed."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return Saxe et al.'s initializer (2014): a random orthogonal matrix times ``scale``.

    The columns of the matrix lie along ``column_axis``, its rows along the flattened other axes. Rows or columns,
    whichever are fewer, are orthonormal. Raises ValueError for a shape of fewer than two axes.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> w = orthogonal()(xs.random.PRNGKey(0), (2, 3))
    >>> bool(jnp.allclose(w @ w.T, jnp.eye(2), atol=1e-5))
    True
    """
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        sizes = sizes_of(shape)
        if len(sizes) < 2:
            raise ValueError(f"orthogonal needs a shape with rows and columns, got {sizes}")
        axis = axis_of(column_axis, len(sizes), "column_axis")
        rows = (*sizes[:axis], *sizes[axis + 1 :])
        matrix = random.orthogonal(key, math.prod(rows), (), _resolve_dtype(dtype, default_dtype), sizes[axis])
        return mul(moveaxis(reshape(matrix, (*rows, sizes[axis])), len(rows), axis), scale)

    return initialize


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return Xiao et al.'s initializer for convolutions (2018).

    The kernel is an orthogonal matrix in the center of the window, and zero elsewhere. A shape has one to three
    axes of the window, then one of inputs and one of outputs. Raises ValueError for other shapes, and if there
    are more inputs than outputs.

    >>> import xlascope as xs
    >>> w = delta_orthogonal()(xs.random.PRNGKey(0), (3, 3, 2, 4))
    >>> print(w[0, 0, 0], w.shape)
    [0. 0. 0. 0.] (3, 3, 2, 4)
    """
    default_dtype = dtype

    def initialize(key: Any, shape: Sequence[int], dtype: Any = None) -> Any:
        sizes, resolved = sizes_of(shape), _resolve_dtype(dtype, default_dtype)
        if len(sizes) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal needs a shape of 3, 4 or 5 axes, got {sizes}")
        window, (inputs, outputs) = sizes[:-2], sizes[-2:]
        if inputs > outputs:
            raise ValueError(f"delta_orthogonal needs at least as many outputs as inputs, got {outputs} and {inputs}")
        matrix = orthogonal(scale, column_axis, resolved)(key, (inputs, outputs))
        zero = typed_scalar(0, resolved)
        sides = [((size - 1) // 2, size - 1 - (size - 1) // 2, 0) for size in window]
        return pad(reshape(matrix, (*(1 for _ in window), inputs, outputs)), zero, [*sides, (0, 0, 0), (0, 0, 0)])

    return initialize


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal

_explain_missing(__name__)
