"""Products of numbers of few bits that share scales: microscaling formats and NVIDIA's variant of four bits.

Formats: Open Compute Project, "Microscaling Formats (MX) Specification" v1.0, 2023. A block of ``mxfp8`` is 32 numbers
of 8 bits with a power of two; one of ``nvfp4`` 16 numbers of 4 bits with a number of 8 bits, and a scale for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from ..control.rules.custom_vjp import custom_vjp
from ..dtypes import finfo
from ..ir.requested_dtypes import requested_dtype
from ..lax.barriers import optimization_barrier, stop_gradient
from ..numpy.contractions import einsum
from ..numpy.logic import where
from ..numpy.reductions import clip
from ..numpy.repeating import repeat
from ..numpy.shaping import reshape, transpose
from ..numpy.ufuncs import abs
from ..operations.arithmetic import div, mul
from ..operations.conversion import bitcast_convert_type, convert_element_type
from ..operations.linear_algebra import dot_general, free_axes
from ..trace.source import here
from ..trace.values import aval_of

_FLOAT = np.dtype(np.float32)
_RESULTS = (_FLOAT, np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


@dataclass(frozen=True)
class BlockScaleConfig:
    """How an operand is made narrow: the types of numbers and scales, and how many numbers share a scale."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(mode: Literal["nvfp4", "mxfp8"], global_scale: Any = None) -> BlockScaleConfig:
    """How :func:`scaled_dot_general` makes an operand narrow: ``mxfp8`` or ``nvfp4``.

    ``global_scale``, of shape (1,), is by what all numbers of ``nvfp4`` are divided (None: one). Raises ValueError for
    other modes.

    >>> from xlascope import nn
    >>> nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, None, False)
    if mode == "nvfp4":
        scale = np.ones(1, _FLOAT) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, scale, False)
    raise ValueError(f"there is no mode {mode!r}: the modes are 'mxfp8' and 'nvfp4'{here()}")


def scaled_matmul(
    lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32
) -> Any:
    """The products of ``lhs`` (b, m, k) and ``rhs`` (b, n, k), where numbers along k share scales: (b, m, n).

    The scales are (b, m, blocks) and (b, n, blocks). The numbers are multiplied out and added in float32, on every
    platform; jax has it where cuDNN does it. Raises ValueError for shapes that do not fit.

    >>> from xlascope import nn, numpy as jnp
    >>> x, scales = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[0.5]]])
    >>> print(nn.scaled_matmul(x, x, scales, scales))
    [[[3.5]]]
    """
    if preferred_element_type is None:
        raise ValueError(f"scaled_matmul: preferred_element_type is a dtype, got None{here()}")
    x, y, s, t = shapes = [aval_of(each).shape for each in (lhs, rhs, lhs_scales, rhs_scales)]
    if any(len(shape) != 3 for shape in shapes):
        raise ValueError(f"scaled_matmul takes arrays of three axes, got shapes {', '.join(map(str, shapes))}{here()}")
    if (x[0], x[2]) != (y[0], y[2]):
        raise ValueError(f"scaled_matmul takes lhs (b, m, k) and rhs (b, n, k), got shapes {x} and {y}{here()}")
    if s[:2] != x[:2] or t[:2] != y[:2] or s[2] != t[2] or not s[2] or x[2] % s[2]:
        raise ValueError(
            f"scaled_matmul takes scales (b, m, blocks) and (b, n, blocks) where blocks divides k = {x[2]}, got "
            f"{s} and {t} for {x} and {y}{here()}"
        )
    block = x[2] // s[2]
    wide = [convert_element_type(each, _FLOAT) for each in (lhs, rhs, lhs_scales, rhs_scales)]
    left, right = (mul(each, repeat(scale, block, -1)) for each, scale in zip(wide[:2], wide[2:], strict=True))
    return convert_element_type(einsum("bmk,bnk->bmn", left, right), requested_dtype(preferred_element_type))


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: Any = None,
) -> Any:
    """The product over axes, as ``dot_general``'s, of operands that are made narrow before: each as its config says.

    ``configs`` are those of lhs, rhs and gradients (see :func:`get_scaled_dot_general_config`); None leaves the
    operands as they are. The derivative takes the rounding for the identity: of ``mxfp8`` its products are narrow as
    well, of ``nvfp4`` they are exact and zero where an operand is out of range. ``implementation`` is not looked at.

    Raises TypeError for results of other types than float32, bfloat16 and float16, ValueError where the block size does
    not divide the size of what is contracted.

    >>> from xlascope import nn, numpy as jnp
    >>> configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = jnp.full((1, 32), 1.1)
    >>> print(nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs))
    [[40.5]]
    """
    dtype = requested_dtype(preferred_element_type)
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, None, dtype)
    if dtype not in _RESULTS:
        names = ", ".join(each.name for each in _RESULTS)
        raise TypeError(f"scaled_dot_general: preferred_element_type is one of {names}, got {dtype.name}{here()}")
    if len(configs) < 2 or not all(isinstance(each, BlockScaleConfig) for each in configs):
        raise TypeError(f"scaled_dot_general takes configs of lhs, rhs and gradients, got {configs!r}{here()}")
    (contract_x, contract_y), (batch_x, batch_y) = dimension_numbers
    left, batch, rows = _as_matrices(lhs, tuple(batch_x), tuple(contract_x))
    right, _, columns = _as_matrices(rhs, tuple(batch_y), tuple(contract_y))
    product = _quantized_product(configs, dtype)(left, right)
    return reshape(product, (*batch, *rows, *columns))


def _as_matrices(x: Any, batch: tuple[int, ...], contract: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """An operand as (batch, free, contracted), and the sizes of its batch axes and of its free ones."""
    shape = aval_of(x).shape
    free = free_axes(len(shape), contract, batch)
    parts = [tuple([shape[i] for i in axes]) for axes in (batch, free, contract)]
    whole = transpose(x, (*batch, *free, *contract))
    return reshape(whole, tuple(map(math.prod, parts))), parts[0], parts[1]


def _quantized_product(configs: Sequence[BlockScaleConfig], dtype: np.dtype[Any]) -> Any:
    """The product of (b, m, k) and (b, n, k) made narrow, with the derivative that training takes for it."""

    @custom_vjp
    def product(x: Any, y: Any) -> Any:
        return _narrow_product(x, y, configs[0], configs[1], dtype)

    def forward(x: Any, y: Any) -> tuple[Any, Any]:
        return product(x, y), (x, y)

    def backward(kept: Any, ct: Any) -> tuple[Any, Any]:
        x, y = kept
        to_x = _gradient(ct, transpose(y, (0, 2, 1)), configs[-1], configs[1], x, configs[0])
        to_y = _gradient(transpose(ct, (0, 2, 1)), transpose(x, (0, 2, 1)), configs[-1], configs[0], y, configs[1])
        return to_x, to_y

    product.defvjp(forward, backward)
    return product


def _gradient(
    ct: Any, other: Any, of_ct: BlockScaleConfig, of_other: BlockScaleConfig, x: Any, config: BlockScaleConfig
) -> Any:
    """The cotangent of ``x``, made narrow by ``config``, for the cotangent of its product with ``other``."""
    dtype = aval_of(x).dtype
    if config.mode == "mxfp8" and of_ct.mode == "mxfp8":
        return _narrow_product(ct, other, of_ct, of_other, dtype)
    found = convert_element_type(einsum("bmk,bnk->bmn", ct, other), dtype)
    if config.global_scale is None:
        return found
    most = mul(convert_element_type(stop_gradient(config.global_scale), _FLOAT), _largest(config))
    return where(abs(x) <= most, found, 0)


def _largest(config: BlockScaleConfig) -> float:
    return float(finfo(config.data_type).max) * float(finfo(config.scale_type).max)


def _narrow_product(x: Any, y: Any, of_x: BlockScaleConfig, of_y: BlockScaleConfig, dtype: np.dtype[Any]) -> Any:
    (left, left_scales), (right, right_scales) = _narrow(x, of_x), _narrow(y, of_y)
    found = scaled_matmul(left, right, left_scales, right_scales, _FLOAT)
    for config in (of_x, of_y):
        if config.global_scale is not None:
            found = mul(found, reshape(convert_element_type(stop_gradient(config.global_scale), _FLOAT), (-1, 1, 1)))
    return convert_element_type(found, dtype)


def _narrow(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """The numbers of (b, m, k) divided by the scales of their blocks and rounded, and the scales (b, m, blocks)."""
    batch, rows, size = aval_of(x).shape
    if size % config.block_size:
        raise ValueError(
            f"scaled_dot_general: what is contracted is a multiple of {config.block_size} for {config.mode}, got "
            f"{size}{here()}"
        )
    blocks = reshape(convert_element_type(x, _FLOAT), (batch, rows, size // config.block_size, config.block_size))
    if config.global_scale is not None:
        scale = reshape(convert_element_type(stop_gradient(config.global_scale), _FLOAT), (-1, 1, 1, 1))
        blocks = blocks / scale
    most = float(finfo(config.data_type).max)
    wanted = div(abs(blocks).max(-1), np.float32(most))
    if config.mode == "mxfp8":
        wanted = _power_of_two_above(wanted)
    else:
        wanted = clip(wanted, 0, float(finfo(config.scale_type).max))
    # Rounding is for good: the compiler is not to take a number that was made narrow and wide again for the same one.
    scales = optimization_barrier(convert_element_type(wanted, np.dtype(config.scale_type)))
    divisor = convert_element_type(scales, _FLOAT)
    divisor = where(divisor < _SMALLEST, np.float32(_SMALLEST), divisor)  # a block of zeros is zeros
    numbers = clip(blocks / divisor[..., None], -most, most)
    rounded = optimization_barrier(convert_element_type(numbers, np.dtype(config.data_type)))
    return reshape(rounded, (batch, rows, size)), scales


_SMALLEST = float(np.finfo(np.float32).tiny)


def _power_of_two_above(x: Any) -> Any:
    """The least power of two that is not less, of numbers that are not negative; 2^-126 for what is smaller."""
    bits = bitcast_convert_type(where(x < _SMALLEST, np.float32(_SMALLEST), x), np.dtype(np.uint32))
    carried = (bits + np.uint32(0x7FFFFF)) & np.uint32(0xFF800000)
    return bitcast_convert_type(carried, _FLOAT)
