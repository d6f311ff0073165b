"""Where training begins: initializers are functions of (key, shape, dtype)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import random
from ..dtypes import canonical
from ..operations.arithmetic import mul
from ..operations.shapes import full
from ..operations.values import typed_scalar
from ..trace.values import aval_of
from ..xla.dispatch import put

Initializer = Callable[..., Any]

#: The standard deviation of the normal distribution cut off at ±2.
_CUT_DEVIATION = 0.87962566103423978


def zeros(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
    """Zeros; the key is not used."""
    return constant(0)(key, shape, dtype)


def ones(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
    """Ones; the key is not used."""
    return constant(1)(key, shape, dtype)


def constant(value: Any) -> Initializer:
    """An initializer that gives ``value`` everywhere."""

    def initialize(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
        scalar = typed_scalar(value, canonical(dtype))
        return full(tuple(shape), scalar) if len(shape) else put(scalar, aval_of(scalar))

    return initialize


def uniform(scale: Any = 1e-2) -> Initializer:
    """An initializer that gives numbers spread evenly over [0, scale)."""

    def initialize(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
        return mul(random.uniform(key, shape, dtype), scale)

    return initialize


def normal(stddev: Any = 1e-2) -> Initializer:
    """An initializer that gives normally distributed numbers."""

    def initialize(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
        return mul(random.normal(key, shape, dtype), stddev)

    return initialize


def variance_scaling(scale: float, mode: str, distribution: str, in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """An initializer whose numbers have variance ``scale`` over the number of inputs of a unit.

    ``mode`` is "fan_in", "fan_out" or "fan_avg" (inputs, outputs, or their mean); ``distribution`` "truncated_normal",
    "normal" or "uniform". The other axes than ``in_axis`` and ``out_axis`` are windows, whose size counts with both.
    """

    def initialize(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:
        if len(shape) < 2:
            raise ValueError(
                f"this initializer needs a shape with an axis of inputs and one of outputs, got {tuple(shape)}"
            )
        window = math.prod(shape) / (shape[in_axis] * shape[out_axis])
        fans = {"fan_in": shape[in_axis] * window, "fan_out": shape[out_axis] * window}
        fans["fan_avg"] = (fans["fan_in"] + fans["fan_out"]) / 2
        if mode not in fans:
            raise ValueError(f"mode is one of {', '.join(fans)}, got {mode!r}")
        return _drawn(key, shape, dtype, scale / max(1.0, fans[mode]), distribution)

    return initialize


def _drawn(key: Any, shape: Sequence[int], dtype: Any, variance: float, distribution: str) -> Any:
    if distribution == "truncated_normal":
        deviation = math.sqrt(variance) / _CUT_DEVIATION
        return mul(random.truncated_normal(key, -2, 2, shape, dtype), deviation)
    if distribution == "normal":
        return mul(random.normal(key, shape, dtype), math.sqrt(variance))
    if distribution == "uniform":
        return mul(random.uniform(key, shape, dtype, -1), math.sqrt(3 * variance))
    raise ValueError(f"distribution is one of truncated_normal, normal, uniform, got {distribution!r}")


def glorot_uniform(in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """Glorot and Bengio's initializer (2010), evenly distributed."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis)


def glorot_normal(in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """Glorot and Bengio's initializer (2010), normally distributed."""
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis)


def he_uniform(in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """He et al.'s initializer for layers with relu (2015), evenly distributed."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis)


def he_normal(in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """He et al.'s initializer for layers with relu (2015), normally distributed."""
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis)


def lecun_uniform(in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """LeCun et al.'s initializer (1998), evenly distributed."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis)


def lecun_normal(in_axis: int = -2, out_axis: int = -1) -> Initializer:
    """LeCun et al.'s initializer (1998), normally distributed."""
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal
