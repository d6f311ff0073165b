"""Algorithms for products of arrays: the types in which they multiply and add, and how often."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..dtypes import kind_of
from ..ir.avals import ShapedArray, shaped
from ..ir.sources import user_line, where_text
from ..xla.mlir.builder import attribute


class DotAlgorithm(NamedTuple):
    """An algorithm for products of arrays: ``precision=`` of ``dot_general`` and of all functions above it.

    The operands are rounded to ``lhs_precision_type`` and ``rhs_precision_type`` and products are added in
    ``accumulation_type``. To emulate wider types an algorithm may take operands apart into several components, and
    multiply several pairs of them. ``allow_imprecise_accumulation`` permits adding in fewer bits now and then.

    Compilers know some of them, those of :class:`DotAlgorithmPreset`; XLA's CPU compiler fewer still.

    >>> import numpy as np
    >>> from xlascope import lax, numpy as jnp
    >>> algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    >>> lax.dot(jnp.ones(3, "float16"), jnp.ones(3, "float16"), precision=algorithm)
    Array(3., dtype=float16)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """The algorithms for products that some hardware has, by name: types of the operands, type of the sum.

    ``X3`` and its kin say how many products emulate one of wider numbers; ``ANY_F8`` is any type of 8 bits, and
    ``FAST_ACCUM`` permits adding in fewer bits. XLA's CPU compiler knows ``F16_F16_F16``, ``BF16_BF16_F32`` (also
    ``X3`` and ``X6``), ``F32_F32_F32`` and ``F64_F64_F64``; ``DEFAULT`` leaves it to the compiler.

    >>> from xlascope import lax, numpy as jnp
    >>> lax.dot(jnp.ones(3), jnp.ones(3), precision=lax.DotAlgorithmPreset.F32_F32_F32)
    Array(3., dtype=float32)
    """

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


class _Way(NamedTuple):
    """How an algorithm is passed to the compiler.

    Operands of ``operand_dtypes`` are passed as they are, others are converted to the first of them. Likewise for
    results of ``result_dtypes``, where the algorithm returns its operands' type or the first one.
    """

    left: str
    right: str
    total: str
    takes: tuple[np.dtype[Any], ...]
    gives: tuple[np.dtype[Any], ...]
    times: int = 1
    fast: bool = False


_F16, _F32, _F64 = (np.dtype(name) for name in ("float16", "float32", "float64"))
_BF16 = np.dtype(ml_dtypes.bfloat16)
_MLIR = {_F16: "f16", _BF16: "bf16", _F32: "f32", _F64: "f64"}
_Preset = DotAlgorithmPreset
_WAYS = {
    _Preset.F16_F16_F16: _Way("f16", "f16", "f16", (_F16,), (_F16,)),
    _Preset.F16_F16_F32: _Way("f16", "f16", "f32", (_F16,), (_F32, _F16)),
    _Preset.BF16_BF16_BF16: _Way("bf16", "bf16", "bf16", (_BF16, _F32), (_BF16,)),
    _Preset.BF16_BF16_F32: _Way("bf16", "bf16", "f32", (_BF16, _F32), (_F32, _BF16)),
    _Preset.BF16_BF16_F32_X3: _Way("bf16", "bf16", "f32", (_F32,), (_F32,), 3),
    _Preset.BF16_BF16_F32_X6: _Way("bf16", "bf16", "f32", (_F32,), (_F32,), 6),
    _Preset.BF16_BF16_F32_X9: _Way("bf16", "bf16", "f32", (_F32,), (_F32,), 9),
    _Preset.TF32_TF32_F32: _Way("tf32", "tf32", "f32", (_F32,), (_F32,)),
    _Preset.TF32_TF32_F32_X3: _Way("tf32", "tf32", "f32", (_F32,), (_F32,), 3),
    _Preset.F32_F32_F32: _Way("f32", "f32", "f32", (_F32,), (_F32,)),
    _Preset.F64_F64_F64: _Way("f64", "f64", "f64", (_F64,), (_F64,)),
}
_OF_EIGHT_BITS = {
    _Preset.ANY_F8_ANY_F8_F32: False,
    _Preset.ANY_F8_ANY_F8_F32_FAST_ACCUM: True,
    _Preset.ANY_F8_ANY_F8_ANY: False,
    _Preset.ANY_F8_ANY_F8_ANY_FAST_ACCUM: True,
}
_ON_CPU = {
    _Preset.F16_F16_F16, _Preset.BF16_BF16_F32, _Preset.BF16_BF16_F32_X3, _Preset.BF16_BF16_F32_X6,
    _Preset.F32_F32_F32, _Preset.F64_F64_F64,
}  # fmt: skip


def named_algorithm(request: DotAlgorithm) -> DotAlgorithmPreset:
    """Return the preset of an algorithm that a user described.

    Raises ValueError for an algorithm that no hardware is known to have, and for invalid types.
    """
    lhs, rhs, total, *components, times, fast = request
    try:
        types = tuple([np.dtype(dtype) for dtype in (lhs, rhs, total)])
    except TypeError:
        raise ValueError(f"DotAlgorithm takes dtypes, got {request}{where_text(user_line())}") from None
    if all(map(_has_eight_bits, types[:2])) and (types[2], *components, times) == (_F32, 1, 1, 1):
        return _Preset.ANY_F8_ANY_F8_F32_FAST_ACCUM if fast else _Preset.ANY_F8_ANY_F8_F32
    type_names = [_MLIR.get(dtype) for dtype in types]
    for preset, way in _WAYS.items():
        if [way.left, way.right, way.total, 1, 1, way.times, False] == [*type_names, *components, times, bool(fast)]:
            return preset
    raise ValueError(
        f"no hardware is known to have the algorithm {request}{where_text(user_line())}: lax.DotAlgorithmPreset lists "
        f"those that there are ({', '.join(_Preset.__members__)})"
    )


def _has_eight_bits(dtype: np.dtype[Any]) -> bool:
    return dtype.name.startswith("float8_")


def check_algorithm(algorithm: DotAlgorithmPreset, x: ShapedArray, y: ShapedArray) -> None:
    """Raise TypeError for complex operands, ValueError for operands that an 8-bit algorithm does not take.

    An algorithm for real numbers would take the real parts of complex operands.
    """
    if algorithm is _Preset.DEFAULT:
        return
    if "c" in (kind_of(x.dtype), kind_of(y.dtype)):
        raise TypeError(
            f"the algorithm {algorithm} is one for real numbers, got {x.dtype.name} and {y.dtype.name}"
            f"{where_text(user_line())}: give precision=None, or a lax.Precision"
        )
    if algorithm in _OF_EIGHT_BITS and not all(_has_eight_bits(operand.dtype) for operand in (x, y)):
        raise ValueError(
            f"the algorithm {algorithm} takes operands of 8 bits, got {x.dtype.name} and {y.dtype.name}"
            + where_text(user_line())
        )


def emit_product(
    builder: Any,
    operands: Sequence[Any],
    algorithm: DotAlgorithmPreset,
    attributes: dict[str, Any],
    of_matrices: bool,
) -> list[Any]:
    """Emit the product of the current equation's operands by an algorithm, with the conversions that it needs.

    XLA's CPU compiler multiplies and adds in the types of its operands whatever the algorithm says, and fails for
    some products that are not of matrices once an algorithm is named: for these only the conversions are emitted.
    Raises ValueError for an algorithm that the CPU compiler does not support.
    """
    x, y = builder.in_avals
    (out,) = builder.out_avals
    if builder.platform == "cpu" and algorithm not in _ON_CPU:
        cpu_names = ", ".join(preset.name for preset in _WAYS if preset in _ON_CPU)
        raise ValueError(f"XLA's CPU compiler has no algorithm {algorithm} for products; it has {cpu_names}")
    if algorithm in _OF_EIGHT_BITS:
        names = [f"f8{aval.dtype.name.removeprefix('float8_').upper()}" for aval in (x, y)]
        way = _Way(names[0], names[1], "f32", (x.dtype, y.dtype), (out.dtype,), 1, _OF_EIGHT_BITS[algorithm])
    else:
        way = _WAYS[algorithm]
    lhs, rhs = (aval.dtype if aval.dtype in way.takes else way.takes[0] for aval in (x, y))
    total = out.dtype if out.dtype in way.gives and out.dtype in (way.gives[0], lhs) else way.gives[0]
    values = [_converted(builder, v, a, to) for v, a, to in zip(operands, (x, y), (lhs, rhs), strict=True)]
    if builder.platform != "cpu" or of_matrices:
        attributes = {**attributes, "algorithm": _attribute(way)}
    product = builder.emit1("stablehlo.dot_general", values, shaped(out.shape, total), attributes)
    return [_converted(builder, product, shaped(out.shape, total), out.dtype)]


def _converted(builder: Any, value: Any, aval: ShapedArray, dtype: np.dtype[Any]) -> Any:
    if aval.dtype == dtype:
        return value
    return builder.emit1("stablehlo.convert", [value], shaped(aval.shape, dtype))


def _attribute(lowering: _Way) -> Any:
    return attribute(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {lowering.left}, rhs_precision_type = {lowering.right}, "
        f"accumulation_type = {lowering.total}, lhs_component_count = 1, rhs_component_count = 1, "
        f"num_primitive_operations = {lowering.times}, "
        f"allow_imprecise_accumulation = {str(lowering.fast).lower()}>"
    )
