"""Products of block-scaled low-precision numbers: microscaling formats and NVIDIA's nvfp4.

Formats: Open Compute Project, "Microscaling Formats (MX) Specification" v1.0, 2023. A block of ``mxfp8`` is
32 numbers of 8 bits with a power-of-two scale; a block of ``nvfp4`` is 16 numbers of 4 bits with a scale of 8
bits, and there is one global scale.
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
from ..ir.requested_dtypes import resolve_requested_dtype
from ..lax.barriers import optimization_barrier, stop_gradient
from ..numpy.contractions import einsum
from ..numpy.logic import where
from ..numpy.reductions import clip
from ..numpy.repeating import repeat
from ..numpy.shaping import reshape, transpose
from ..numpy.ufuncs import abs
from ..operations.arithmetic import div, mul
from ..operations.conversion import bitcast_convert_type, convert_element_type
from ..operations.dot_product import dot_general, free_axes
from ..trace.source import here
from ..trace.values import aval_of

_FLOAT = np.dtype(np.float32)
_RESULT_DTYPES = (_FLOAT, np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


@dataclass(frozen=True)
class BlockScaleConfig:
    """Quantization of an operand of :func:`scaled_dot_general`.

    ``mode`` is "mxfp8" or "nvfp4". Blocks of ``block_size`` numbers of dtype ``data_type`` share a scale of dtype
    ``scale_type``; ``global_scale``, of shape (1,) or None, divides all numbers. ``infer_only`` has no effect.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(mode: Literal["nvfp4", "mxfp8"], global_scale: Any = None) -> BlockScaleConfig:
    """Return the config by which :func:`scaled_dot_general` quantizes an operand.

    ``mode`` is "mxfp8" or "nvfp4". ``global_scale``, of shape (1,), divides all numbers of ``nvfp4`` (None: one).
    Raises ValueError for other modes.

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
    """Return the products of ``lhs`` (b, m, k) and ``rhs`` (b, n, k), with block scales along k: (b, m, n).

    The scales are (b, m, blocks) and (b, n, blocks). The numbers are dequantized and multiplied in float32 on
    every platform; JAX requires cuDNN. Raises ValueError for shapes that do not fit.

    >>> from xlascope import nn, numpy as jnp
    >>> x, scales = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[0.5]]])
    >>> print(nn.scaled_matmul(x, x, scales, scales))
    [[[3.5]]]
    """
    if preferred_element_type is None:
        raise ValueError(f"scaled_matmul: preferred_element_type is a dtype, got None{here()}")
    x, y, s, t = shapes = [aval_of(operand).shape for operand in (lhs, rhs, lhs_scales, rhs_scales)]
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
    wide = [convert_element_type(operand, _FLOAT) for operand in (lhs, rhs, lhs_scales, rhs_scales)]
    left, right = (mul(operand, repeat(scale, block, -1)) for operand, scale in zip(wide[:2], wide[2:], strict=True))
    return convert_element_type(einsum("bmk,bnk->bmn", left, right), resolve_requested_dtype(preferred_element_type))


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: Any = None,
) -> Any:
    """Return the product over axes, as ``dot_general``, of operands quantized by their configs.

    ``configs`` are those of lhs, rhs and gradients (see :func:`get_scaled_dot_general_config`); None disables
    quantization. The derivative treats rounding as the identity (straight-through): for ``mxfp8`` its products
    are quantized as well, for ``nvfp4`` they are exact, and zero where an operand is out of range.
    ``implementation`` is ignored.

    Raises TypeError for results of other types than float32, bfloat16 and float16, ValueError if the block size
    does not divide the contracted size.

    >>> from xlascope import nn, numpy as jnp
    >>> configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    >>> x = jnp.full((1, 32), 1.1)
    >>> print(nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs))
    [[40.5]]
    """
    dtype = resolve_requested_dtype(preferred_element_type)
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, None, dtype)
    if dtype not in _RESULT_DTYPES:
        names = ", ".join(entry.name for entry in _RESULT_DTYPES)
        raise TypeError(f"scaled_dot_general: preferred_element_type is one of {names}, got {dtype.name}{here()}")
    if len(configs) < 2 or not all(isinstance(entry, BlockScaleConfig) for entry in configs):
        raise TypeError(f"scaled_dot_general takes configs of lhs, rhs and gradients, got {configs!r}{here()}")
    (contract_x, contract_y), (batch_x, batch_y) = dimension_numbers
    left, batch, rows = _as_matrices(lhs, tuple(batch_x), tuple(contract_x))
    right, _, columns = _as_matrices(rhs, tuple(batch_y), tuple(contract_y))
    product = _quantized_product(configs, dtype)(left, right)
    return reshape(product, (*batch, *rows, *columns))


def _as_matrices(x: Any, batch: tuple[int, ...], contract: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Return an operand as a batch of matrices, and the sizes of its batch axes and of its free axes.

    ``batch`` and ``contract`` are its batch and contracting axes; free axes are the others. The matrices have the
    shape (batch, free, contracted), each of them flattened.
    """
    shape = aval_of(x).shape
    free = free_axes(len(shape), contract, batch)
    parts = [tuple([shape[i] for i in axes]) for axes in (batch, free, contract)]
    transposed = transpose(x, (*batch, *free, *contract))
    return reshape(transposed, tuple(map(math.prod, parts))), parts[0], parts[1]


def _quantized_product(configs: Sequence[BlockScaleConfig], dtype: np.dtype[Any]) -> Any:
    """Return a function for the quantized product of (b, m, k) and (b, n, k), with its straight-through gradient.

    ``configs`` are those of the two operands and, last, of gradients; ``dtype`` is that of the product.
    """

    @custom_vjp
    def product(x: Any, y: Any) -> Any:
        return _quantize_and_multiply(x, y, configs[0], configs[1], dtype)

    def forward(x: Any, y: Any) -> tuple[Any, Any]:
        return product(x, y), (x, y)

    def backward(residuals: Any, ct: Any) -> tuple[Any, Any]:
        x, y = residuals
        to_x = _operand_gradient(ct, transpose(y, (0, 2, 1)), configs[-1], configs[1], x, configs[0])
        to_y = _operand_gradient(
            transpose(ct, (0, 2, 1)), transpose(x, (0, 2, 1)), configs[-1], configs[0], y, configs[1]
        )
        return to_x, to_y

    product.defvjp(forward, backward)
    return product


def _operand_gradient(
    ct: Any, partner: Any, of_ct: BlockScaleConfig, of_partner: BlockScaleConfig, x: Any, config: BlockScaleConfig
) -> Any:
    """Return the cotangent of ``x`` for the cotangent ``ct`` of its product with ``partner``, ignoring rounding.

    ``config`` is that of ``x``, ``of_ct`` and ``of_partner`` are those of the others. If ``x`` and ``ct`` are
    ``mxfp8``, the product of ``ct`` and ``partner`` is quantized; with a global scale, elements of ``x`` out of
    range have the cotangent 0.
    """
    dtype = aval_of(x).dtype
    if config.mode == "mxfp8" and of_ct.mode == "mxfp8":
        return _quantize_and_multiply(ct, partner, of_ct, of_partner, dtype)
    gradient = convert_element_type(einsum("bmk,bnk->bmn", ct, partner), dtype)
    if config.global_scale is None:
        return gradient
    limit = mul(convert_element_type(stop_gradient(config.global_scale), _FLOAT), _max_representable(config))
    return where(abs(x) <= limit, gradient, 0)


def _max_representable(config: BlockScaleConfig) -> float:
    return float(finfo(config.data_type).max) * float(finfo(config.scale_type).max)


def _quantize_and_multiply(x: Any, y: Any, of_x: BlockScaleConfig, of_y: BlockScaleConfig, dtype: np.dtype[Any]) -> Any:
    (left, left_scales), (right, right_scales) = _quantize(x, of_x), _quantize(y, of_y)
    result = scaled_matmul(left, right, left_scales, right_scales, _FLOAT)
    for config in (of_x, of_y):
        if config.global_scale is not None:
            result = mul(result, reshape(convert_element_type(stop_gradient(config.global_scale), _FLOAT), (-1, 1, 1)))
    return convert_element_type(result, dtype)


def _quantize(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """Return the numbers of (b, m, k) divided by their block scales and rounded, and the scales (b, m, blocks).

    Blocks lie along k; raises ValueError unless the block size of ``config`` divides k.
    """
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
    data_max = float(finfo(config.data_type).max)
    ideal_scales = div(abs(blocks).max(-1), np.float32(data_max))
    if config.mode == "mxfp8":
        ideal_scales = _next_power_of_two(ideal_scales)
    else:
        ideal_scales = clip(ideal_scales, 0, float(finfo(config.scale_type).max))
    # The barrier keeps the rounding: otherwise the compiler may cancel a conversion to a narrow type and back.
    scales = optimization_barrier(convert_element_type(ideal_scales, np.dtype(config.scale_type)))
    divisor = convert_element_type(scales, _FLOAT)
    divisor = where(
        divisor < _MIN_NORMAL_FLOAT32, np.float32(_MIN_NORMAL_FLOAT32), divisor
    )  # avoid division by zero for a block of zeros
    numbers = clip(blocks / divisor[..., None], -data_max, data_max)
    rounded = optimization_barrier(convert_element_type(numbers, np.dtype(config.data_type)))
    return reshape(rounded, (batch, rows, size)), scales


_MIN_NORMAL_FLOAT32 = float(np.finfo(np.float32).tiny)


def _next_power_of_two(x: Any) -> Any:
    """Return the smallest power of two that is not less than nonnegative ``x``, and at least 2^-126."""
    bits = bitcast_convert_type(where(x < _MIN_NORMAL_FLOAT32, np.float32(_MIN_NORMAL_FLOAT32), x), np.dtype(np.uint32))
    carried = (bits + np.uint32(0x7FFFFF)) & np.uint32(0xFF800000)
    return bitcast_convert_type(carried, _FLOAT)
