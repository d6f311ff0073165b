"""Layers with parameters: dense layers, convolutions, normalization; part of :mod:`.stax`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import lax, random
from .. import numpy as jnp
from ..nn.functions import standardize
from ..nn.initializers import glorot_normal, normal, ones, zeros

Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = Sequence[int]


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """Return the layer ``x @ W + b`` with ``out_dim`` outputs.

    ``W_init`` and ``b_init`` initialize the parameters, ``init(key, shape)``; by default ``glorot_normal`` and
    ``normal``.
    """

    def init(rng: Any, input_shape: Shape) -> Any:
        of_weights, of_bias = random.split(rng)
        weights = (W_init or glorot_normal())(of_weights, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, (b_init or normal())(of_bias, (out_dim,)))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init, apply


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Shape,
    strides: Shape | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """Return a layer that convolves its input with ``out_chan`` filters and adds a bias.

    ``dimension_numbers`` name the axes of input, filter and output, such as ("NHWC", "HWIO", "NHWC").
    ``filter_shape`` and ``strides`` are for the spatial axes.
    """
    steps, ones = strides or (1,) * len(filter_shape), (1,) * len(filter_shape)
    return _convolution(
        dimension_numbers, out_chan, filter_shape, W_init, b_init,
        lambda x, w: lax.conv_general_shape_tuple(x, w, steps, padding, dimension_numbers),
        lambda x, w: lax.conv_general_dilated(
            x, w, steps, padding, ones, ones, dimension_numbers=tuple(dimension_numbers)
        ),
    )  # fmt: skip


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Shape,
    strides: Shape | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """Return a layer that applies a transposed convolution with ``out_chan`` filters and adds a bias.

    The parameters are those of :func:`GeneralConv`.
    """
    steps = strides or (1,) * len(filter_shape)
    numbers = tuple(dimension_numbers)
    return _convolution(
        dimension_numbers, out_chan, filter_shape, W_init, b_init,
        lambda x, w: lax.conv_transpose_shape_tuple(x, w, steps, padding, numbers),
        lambda x, w: lax.conv_transpose(x, w, steps, padding, dimension_numbers=numbers),
    )  # fmt: skip


def _convolution(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Shape,
    W_init: Any,
    b_init: Any,
    shape_of: Callable[[Any, Any], Any],
    convolve: Callable[[Any, Any], Any],
) -> Layer:
    """Return a layer with a filter and a bias, which ``convolve(inputs, filter)`` applies.

    ``shape_of(input_shape, filter_shape)`` returns the shape of its output; the other parameters are those of
    :func:`GeneralConv`.
    """
    of_input, of_filter, of_output = dimension_numbers
    make = W_init or glorot_normal(of_filter.index("I"), of_filter.index("O"))

    def init(rng: Any, input_shape: Shape) -> Any:
        window = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[of_input.index("C")]}
        shape = tuple(channels[axis] if axis in channels else next(window) for axis in of_filter)
        of_weights, of_bias = random.split(rng)
        bias = (b_init or normal(1e-6))(of_bias, tuple(out_chan if axis == "C" else 1 for axis in of_output))
        return tuple(shape_of(input_shape, shape)), (make(of_weights, shape), bias)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return convolve(inputs, weights) + bias

    return init, apply


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: Any = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Return a layer that normalizes its input to mean 0 and variance 1 over the axes ``axis``.

    Then it multiplies by gamma (if ``scale``) and adds beta (if ``center``). ``epsilon`` is added to the variance.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        of_beta, of_gamma = random.split(rng)
        beta = beta_init(of_beta, shape) if center else ()
        return input_shape, (beta, gamma_init(of_gamma, shape) if scale else ())

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        wide = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        z = standardize(x, axes, epsilon=epsilon)
        z = gamma[wide] * z if scale else z
        return z + beta[wide] if center else z

    return init, apply
