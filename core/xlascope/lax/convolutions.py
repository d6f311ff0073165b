"""Variants of convolutions: plain, transposed, patches, and with a different kernel at each position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import make_aval
from ..ir.user_frames import user_line, where_text
from ..operations.convolution import ConvGeneralDilated, build_convolution, conv_general_dilated
from ..operations.convolution_dims import conv_dimension_numbers
from ..operations.dot_product import dot_general
from ..operations.integer_arguments import whole_numbers
from ..operations.shapes import transpose
from ..operations.slicing import rev
from ..operations.window_shapes import Pairs, dilated_size, padding_pairs, parse_padding_word, per_axis_factors
from ..trace.values import aval_of

Padding = str | Sequence[tuple[int, int]]


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolve (batch, features, spatial axes…) with a kernel (features out, features in, spatial axes…).

    Raises what :func:`conv_general_dilated` does.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.conv(jnp.arange(5.0).reshape(1, 1, 5), jnp.ones((1, 1, 2)), (1,), "VALID"))
    [[[1. 3. 5. 7.]]]
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision, preferred_element_type=preferred_element_type
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Convolve as :func:`conv` does, with dilations of both operands.

    Raises what :func:`conv_general_dilated` does.

    >>> from xlascope import lax, numpy as jnp
    >>> x, kernel = jnp.arange(5.0).reshape(1, 1, 5), jnp.ones((1, 1, 2))
    >>> print(lax.conv_with_general_padding(x, kernel, (1,), [(0, 1)], None, (3,)))
    [[[3. 5. 2.]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


#: The default layouts of transposed convolutions by the number of axes.
_DEFAULT_LAYOUTS = {3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"), 5: ("NHWDC", "HWDIO", "NHWDC")}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """Compute the transposed ("fractionally strided") convolution, which makes ``lhs`` larger.

    ``strides - 1`` zeros are inserted between its elements.

    Without ``dimension_numbers`` features come last (``("NHWC", "HWIO", "NHWC")``). With padding "SAME" the result is
    ``strides`` times as large, with "VALID" it has all positions that a kernel reaches. Padding given as numbers is
    that of the convolution which is carried out; with ``use_consistent_padding`` it is that of the convolution of
    which this is the gradient. ``transpose_kernel`` reverses the kernel and swaps its features: the result is then the
    gradient of :func:`conv_general_dilated` with respect to its input. Raises ValueError for another padding, and
    without ``dimension_numbers`` where there are not 3, 4 or 5 axes.

    >>> from xlascope import lax, numpy as jnp
    >>> x, kernel = jnp.arange(1.0, 4.0).reshape(1, 3, 1), jnp.ones((2, 1, 1))
    >>> print(lax.conv_transpose(x, kernel, (2,), "SAME")[0, :, 0])
    [1. 1. 2. 2. 3. 3.]
    """
    x, w = aval_of(lhs).shape, aval_of(rhs).shape
    if dimension_numbers is None:
        if len(x) not in _DEFAULT_LAYOUTS:
            raise ValueError(
                f"dimension_numbers of conv_transpose are needed for {len(x)} axes, there is a layout for 3, 4 and 5"
                + where_text(user_line())
            )
        dimension_numbers = _DEFAULT_LAYOUTS[len(x)]
    numbers = conv_dimension_numbers(x, w, dimension_numbers)
    rank = len(x) - 2
    steps = per_axis_factors(whole_numbers(strides, "strides of conv_transpose"), rank, "strides of conv_transpose")
    holes = per_axis_factors(rhs_dilation, rank, "rhs_dilation of conv_transpose")
    kernel = [dilated_size(w[axis], d) for axis, d in zip(numbers.rhs_spec[2:], holes, strict=True)]
    pairs = _transpose_padding(kernel, steps, padding, use_consistent_padding)
    if transpose_kernel:
        out_axis, in_axis, *spatial = numbers.rhs_spec
        order = list(range(len(w)))
        order[out_axis], order[in_axis] = in_axis, out_axis
        rhs = transpose(rev(rhs, spatial), order)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * rank,
        pairs,
        steps,
        holes,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transpose_padding(kernel: Sequence[int], strides: Sequence[int], padding: Padding, consistent: bool) -> Pairs:
    """Return the padding (low, high) for each spatial axis of the convolution that computes a transposed one.

    ``kernel`` are the sizes of the dilated kernel, ``padding`` is that of :func:`conv_transpose`. With ``consistent``,
    numbers in it are those of the convolution of which this is the gradient.
    """
    if not isinstance(padding, str):
        pairs = padding_pairs(padding, len(kernel), "padding of conv_transpose")
        if not consistent:
            return pairs
        return tuple((k - 1 - low, k - 1 - high) for k, (low, high) in zip(kernel, pairs, strict=True))
    word = parse_padding_word(padding, "padding of conv_transpose")
    if word == "SAME_LOWER":
        raise ValueError("padding of conv_transpose is 'SAME', 'VALID' or (low, high) for each axis, got 'SAME_LOWER'")
    result = []
    for k, step in zip(kernel, strides, strict=True):
        extra = max(k - step, 0)  # the excess of the result with VALID, or the other's padding with SAME
        low = k - 1 - (extra // 2 if word == "SAME" else 0)
        result.append((low, k + step - 2 + (extra if word == "VALID" else 0) - low))
    return tuple(result)


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Extract the patches of ``lhs`` that a kernel of shape ``filter_shape`` covers, as features.

    The features are (features in, filter axes…) merged into one axis.

    The other arguments and errors are those of :func:`conv_general_dilated`.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.conv_general_dilated_patches(jnp.arange(5.0).reshape(1, 1, 5), (2,), (1,), "VALID")[0])
    [[0. 1. 2. 3.]
     [1. 2. 3. 4.]]
    """
    sizes = whole_numbers(filter_shape, "sizes in filter_shape of conv_general_dilated_patches")
    aval = aval_of(lhs)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *sizes), dimension_numbers)
    count, features = math.prod(sizes), aval.shape[numbers.lhs_spec[1]]
    one_each = np.eye(count, dtype=aval.dtype).reshape(count, 1, *sizes)
    kernel = np.tile(one_each, (features, *[1] * (one_each.ndim - 1)))
    kernel = np.moveaxis(kernel, range(kernel.ndim), numbers.rhs_spec)
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """Convolve with a different kernel at each position.

    ``rhs`` has the axes of a kernel, with the result's spatial sizes and, as input features, (features in,
    ``filter_shape`` axes…) merged into one axis. The other arguments and errors are those of
    :func:`conv_general_dilated`.

    >>> from xlascope import lax, numpy as jnp
    >>> x, kernels = jnp.ones((1, 1, 4)), jnp.arange(6.0).reshape(1, 2, 3)
    >>> print(lax.conv_general_dilated_local(x, kernels, (1,), "VALID", (2,)))
    [[[3. 5. 7.]]]
    """
    numbers = conv_dimension_numbers(aval_of(lhs).shape, aval_of(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, precision=precision
    )
    # the patches are laid out as the result is; spatial axes come first in the product, then batch and features
    (batch, feature, *spatial_axes), (_, in_features, *kernels) = numbers.out_spec, numbers.rhs_spec
    contract, spatial = ((feature,), (in_features,)), (tuple(spatial_axes), tuple(kernels))
    product = dot_general(patches, rhs, (contract, spatial), precision)
    order = [*spatial_axes, batch, feature]
    return transpose(product, [order.index(axis) for axis in range(len(order))])


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of the result of :func:`conv` for operands of those shapes.

    >>> from xlascope import lax
    >>> lax.conv_shape_tuple((2, 3, 8, 8), (4, 3, 3, 3), (2, 1), ((1, 1), (0, 0)))
    (2, 4, 4, 6)
    """
    lhs, rhs = _shapes_as_tuples(lhs_shape, rhs_shape)
    return _result_shape(lhs, rhs, build_convolution((lhs, rhs), None, strides, pads, groups=(1, batch_group_count)))


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of the result of :func:`conv_general_dilated`, without dilations and groups.

    >>> from xlascope import lax
    >>> lax.conv_general_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (1, 1), "SAME", ("NHWC", "HWIO", "NCHW"))
    (2, 4, 8, 8)
    """
    lhs, rhs = _shapes_as_tuples(lhs_shape, rhs_shape)
    return _result_shape(lhs, rhs, build_convolution((lhs, rhs), dimension_numbers, window_strides, padding))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of the result of :func:`conv_transpose`, without dilation.

    >>> from xlascope import lax
    >>> lax.conv_transpose_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 1), "SAME", ("NHWC", "HWIO", "NHWC"))
    (2, 16, 8, 4)
    """
    lhs, rhs = _shapes_as_tuples(lhs_shape, rhs_shape)
    numbers = conv_dimension_numbers(lhs, rhs, dimension_numbers)
    strides = per_axis_factors(window_strides, len(lhs) - 2, "window_strides of conv_transpose_shape_tuple")
    kernel = [rhs[axis] for axis in numbers.rhs_spec[2:]]
    pairs = _transpose_padding(kernel, strides, padding, False)
    return _result_shape(lhs, rhs, build_convolution((lhs, rhs), numbers, (1,) * len(strides), pairs, (strides, None)))


def _shapes_as_tuples(lhs_shape: Any, rhs_shape: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return whole_numbers(lhs_shape, "sizes in lhs_shape"), whole_numbers(rhs_shape, "sizes in rhs_shape")


def _result_shape(lhs: tuple[int, ...], rhs: tuple[int, ...], operation: ConvGeneralDilated) -> tuple[int, ...]:
    """Return the shape of the result of a convolution of operands with the shapes ``lhs`` and ``rhs``."""
    dtype = np.dtype(np.float32)
    (result,) = operation.abstract_eval([make_aval(lhs, dtype), make_aval(rhs, dtype)])
    return result.shape
