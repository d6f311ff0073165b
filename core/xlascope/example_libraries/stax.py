"""Layers as two functions: ``init(key, input_shape)`` gives (shape, parameters), ``apply(params, x)`` the output.

>>> import xlascope as xs, xlascope.numpy as jnp
>>> init, apply = serial(Dense(8), Relu, Dense(3), LogSoftmax)
>>> shape, params = init(xs.random.PRNGKey(0), (-1, 4))
>>> shape, apply(params, jnp.ones((5, 4))).shape
((-1, 3), (5, 3))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import lax, nn, random
from .. import numpy as jnp
from ..names import explain_missing as _explain_missing
from ..nn.initializers import glorot_normal, normal, ones, zeros
from .weights import (
    BatchNorm,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    Dense,
    GeneralConv,
    GeneralConvTranspose,
    Layer,
    Shape,
)

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "elu",
    "gelu",
    "glorot",
    "glorot_normal",
    "leaky_relu",
    "log_softmax",
    "logsoftmax",
    "normal",
    "ones",
    "parallel",
    "randn",
    "relu",
    "selu",
    "serial",
    "shape_dependent",
    "sigmoid",
    "softmax",
    "softplus",
    "standardize",
    "zeros",
]  # fmt: skip

# Names kept for compatibility with earlier programs.
elu, gelu, leaky_relu, log_softmax = nn.elu, nn.gelu, nn.leaky_relu, nn.log_softmax
relu, selu, sigmoid, softmax, softplus, standardize = (
    nn.relu, nn.selu, nn.sigmoid, nn.softmax, nn.softplus, nn.standardize,
)  # fmt: skip
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax


# Elementwise layers -------------------------------------------------------------------------------------------------


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return a layer without parameters that applies ``fun(inputs, **fun_kwargs)``."""

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return _identity_init, apply


def _identity_init(rng: Any, input_shape: Shape) -> Any:
    return input_shape, ()


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = elementwise(lambda x: x)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Return a layer that zeroes inputs at random and divides the others by ``rate``, the probability to keep one.

    If ``mode`` is not "train", inputs are unchanged. ``apply`` takes a random key as ``rng``, and raises ValueError
    without it.
    """

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("a layer with Dropout is applied with a key: apply(params, inputs, rng=key)")
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return _identity_init, apply


# Shapes -------------------------------------------------------------------------------------------------------------


def _pool(
    reducer: Callable[[Any, Any], Any], init_val: float, window_shape: Shape, strides: Any, padding: Any, spec: Any,
    *, mean: bool = False,
) -> Layer:  # fmt: skip
    """Return a layer that reduces each window of the spatial axes by ``reducer``, starting from ``init_val``.

    ``spec`` names the axes (None: the batch first, the channels last). With ``mean`` sums are divided by the number
    of elements of the window that lie inside the input.
    """
    where = sorted((spec.index("N"), spec.index("C")) if spec is not None else (0, len(window_shape) + 1))
    window, steps = list(window_shape), list(strides or (1,) * len(window_shape))
    for axis in where:
        window.insert(axis, 1)
        steps.insert(axis, 1)

    def init(rng: Any, input_shape: Shape) -> Any:
        pads = lax.padtype_to_pads(input_shape, window, steps, padding)
        unit = (1,) * len(window)
        return tuple(lax.reduce_window_shape_tuple(input_shape, window, steps, pads, unit, unit)), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        out = lax.reduce_window(inputs, init_val, reducer, window, steps, padding)
        if not mean:
            return out
        spatial = [1 if i in where else size for i, size in enumerate(inputs.shape)]
        return out / lax.reduce_window(jnp.ones(spatial, inputs.dtype), 0.0, lax.add, window, steps, padding)

    return init, apply


def MaxPool(window_shape: Shape, strides: Any = None, padding: Any = "VALID", spec: str | None = None) -> Layer:
    """Return a layer with the maximum of each window.

    ``window_shape`` and ``strides`` are for the spatial axes; ``spec`` names all axes, by default "NHWC".
    """
    return _pool(lax.max, -math.inf, window_shape, strides, padding, spec)


def SumPool(window_shape: Shape, strides: Any = None, padding: Any = "VALID", spec: str | None = None) -> Layer:
    """Return a layer with the sum of each window.

    ``window_shape`` and ``strides`` are for the spatial axes; ``spec`` names all axes, by default "NHWC".
    """
    return _pool(lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(window_shape: Shape, strides: Any = None, padding: Any = "VALID", spec: str | None = None) -> Layer:
    """Return a layer with the mean of each window, without padding elements.

    ``window_shape`` and ``strides`` are for the spatial axes; ``spec`` names all axes, by default "NHWC".
    """
    return _pool(lax.add, 0.0, window_shape, strides, padding, spec, mean=True)


def _flatten() -> Layer:
    def init(rng: Any, input_shape: Shape) -> Any:
        return (input_shape[0], math.prod(input_shape[1:])), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return jnp.reshape(inputs, (inputs.shape[0], -1))

    return init, apply


Flatten = _flatten()


# Several inputs and outputs -----------------------------------------------------------------------------------------


def FanOut(num: int) -> Layer:
    """Return a layer that returns a list of ``num`` references to its input."""

    def init(rng: Any, input_shape: Shape) -> Any:
        return [input_shape] * num, ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return [inputs] * num

    return init, apply


def _fan_in_sum() -> Layer:
    def init(rng: Any, input_shape: Any) -> Any:
        return input_shape[0], ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return sum(inputs)

    return init, apply


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:
    """Return a layer that concatenates a list of inputs along ``axis``."""

    def init(rng: Any, input_shape: Any) -> Any:
        first = input_shape[0]
        axis_number = axis % len(first)
        return (*first[:axis_number], sum(shape[axis_number] for shape in input_shape), *first[axis_number + 1 :]), ()

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return jnp.concatenate(inputs, axis)

    return init, apply


# Layers of layers ---------------------------------------------------------------------------------------------------


def serial(*layers: Layer) -> Layer:
    """Return a layer that applies layers one after the other, each to the output of the previous one."""

    def init(rng: Any, input_shape: Any) -> Any:
        params = []
        for make, _ in layers:
            rng, layer_key = random.split(rng)
            input_shape, layer_params = make(layer_key, input_shape)
            params.append(layer_params)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        for (_, function), layer_params, rng in zip(layers, params, _keys(kwargs, len(layers)), strict=True):
            inputs = function(layer_params, inputs, rng=rng, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Return a layer that applies the i-th of ``layers`` to the i-th of its inputs, and returns the list of outputs.

    It is placed between :func:`FanOut`, which makes several inputs, and a layer that combines them, such as
    :func:`FanInConcat`.
    """

    def init(rng: Any, input_shape: Any) -> Any:
        keys = random.split(rng, len(layers))
        initialized = [make(key, shape) for (make, _), key, shape in zip(layers, keys, input_shape, strict=True)]
        return tuple(shape for shape, _ in initialized), tuple(layer_params for _, layer_params in initialized)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs, len(layers))
        items = zip(layers, params, inputs, keys, strict=True)
        return [function(layer_params, x, rng=rng, **kwargs) for (_, function), layer_params, x, rng in items]

    return init, apply


def _keys(kwargs: dict[str, Any], count: int) -> Any:
    """Remove ``rng`` from ``kwargs`` and split it into ``count`` keys; return Nones if there is none."""
    rng = kwargs.pop("rng", None)
    return (None,) * count if rng is None else random.split(rng, count)


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Return a layer that is made by ``make_layer(input_shape)`` as soon as the shape of its input is known."""

    def init(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init, apply


_explain_missing(__name__)
