"""Algorithms for products of arrays: the types in which they multiply and add, and how often."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.user_frames import user_line, where_text
from ..xla.mlir.builder import attribute


class DotAlgorithm(NamedTuple):
    """Algorithm for products of arrays, for the ``precision`` of ``dot_general`` and the functions that use it.

    The operands are rounded to ``lhs_precision_type`` and ``rhs_precision_type`` and products are added in
    ``accumulation_type``. To emulate wider types an algorithm may split operands into several components and multiply
    several pairs of these. ``allow_imprecise_accumulation`` permits less accurate sums.

    Compilers support those of :class:`DotAlgorithmPreset`, XLA's CPU compiler only some of these.

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
    """Algorithms for products that some hardware has; a name gives the operands' types and that of the sum.

    ``X3``, ``X6`` and ``X9`` say how many products emulate one in a wider type; ``ANY_F8`` is any type of 8 bits, and
    ``FAST_ACCUM`` permits less accurate sums. XLA's CPU compiler supports ``F16_F16_F16``, ``BF16_BF16_F32`` (also
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


class _AlgorithmLowering(NamedTuple):
    """Form in which an algorithm is passed to the compiler.

    The first three fields are names of MLIR types. Operands of ``operand_dtypes`` are passed as they are, others are
    converted to the first of them. Results are computed in the requested dtype if it is in ``result_dtypes`` and is the
    first of them or the left operand's dtype; otherwise in the first one, and converted.
    """

    lhs_type: str
    rhs_type: str
    accumulation_type: str
    operand_dtypes: tuple[np.dtype[Any], ...]
    result_dtypes: tuple[np.dtype[Any], ...]
    operation_count: int = 1
    allow_imprecise: bool = False


_F16, _F32, _F64 = (np.dtype(name) for name in ("float16", "float32", "float64"))
_BF16 = np.dtype(ml_dtypes.bfloat16)
_MLIR_TYPE_NAMES = {_F16: "f16", _BF16: "bf16", _F32: "f32", _F64: "f64"}
_Preset = DotAlgorithmPreset
_LOWERINGS = {
    _Preset.F16_F16_F16: _AlgorithmLowering("f16", "f16", "f16", (_F16,), (_F16,)),
    _Preset.F16_F16_F32: _AlgorithmLowering("f16", "f16", "f32", (_F16,), (_F32, _F16)),
    _Preset.BF16_BF16_BF16: _AlgorithmLowering("bf16", "bf16", "bf16", (_BF16, _F32), (_BF16,)),
    _Preset.BF16_BF16_F32: _AlgorithmLowering("bf16", "bf16", "f32", (_BF16, _F32), (_F32, _BF16)),
    _Preset.BF16_BF16_F32_X3: _AlgorithmLowering("bf16", "bf16", "f32", (_F32,), (_F32,), 3),
    _Preset.BF16_BF16_F32_X6: _AlgorithmLowering("bf16", "bf16", "f32", (_F32,), (_F32,), 6),
    _Preset.BF16_BF16_F32_X9: _AlgorithmLowering("bf16", "bf16", "f32", (_F32,), (_F32,), 9),
    _Preset.TF32_TF32_F32: _AlgorithmLowering("tf32", "tf32", "f32", (_F32,), (_F32,)),
    _Preset.TF32_TF32_F32_X3: _AlgorithmLowering("tf32", "tf32", "f32", (_F32,), (_F32,), 3),
    _Preset.F32_F32_F32: _AlgorithmLowering("f32", "f32", "f32", (_F32,), (_F32,)),
    _Preset.F64_F64_F64: _AlgorithmLowering("f64", "f64", "f64", (_F64,), (_F64,)),
}
_F8_PRESETS = {
    _Preset.ANY_F8_ANY_F8_F32: False,
    _Preset.ANY_F8_ANY_F8_F32_FAST_ACCUM: True,
    _Preset.ANY_F8_ANY_F8_ANY: False,
    _Preset.ANY_F8_ANY_F8_ANY_FAST_ACCUM: True,
}
_CPU_PRESETS = {
    _Preset.F16_F16_F16, _Preset.BF16_BF16_F32, _Preset.BF16_BF16_F32_X3, _Preset.BF16_BF16_F32_X6,
    _Preset.F32_F32_F32, _Preset.F64_F64_F64,
}  # fmt: skip


def preset_of_algorithm(request: DotAlgorithm) -> DotAlgorithmPreset:
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
    type_names = [_MLIR_TYPE_NAMES.get(dtype) for dtype in types]
    for preset, way in _LOWERINGS.items():
        if [way.lhs_type, way.rhs_type, way.accumulation_type, 1, 1, way.operation_count, False] == [
            *type_names,
            *components,
            times,
            bool(fast),
        ]:
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
    if "c" in (dtype_kind(x.dtype), dtype_kind(y.dtype)):
        raise TypeError(
            f"the algorithm {algorithm} is one for real numbers, got {x.dtype.name} and {y.dtype.name}"
            f"{where_text(user_line())}: give precision=None, or a lax.Precision"
        )
    if algorithm in _F8_PRESETS and not all(_has_eight_bits(operand.dtype) for operand in (x, y)):
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

    ``operands`` are the MLIR operands, ``attributes`` those of ``stablehlo.dot_general``; returns the MLIR results.
    ``of_matrices`` says whether both operands have free axes and contracted ones of more than one element. XLA's CPU
    compiler multiplies and adds in the types of its operands whatever the algorithm says, and fails for some products
    that are not of matrices once an algorithm is named: for these only the conversions are emitted. Raises ValueError
    for an algorithm that the CPU compiler does not support.
    """
    x, y = builder.in_avals
    (out,) = builder.out_avals
    if builder.platform == "cpu" and algorithm not in _CPU_PRESETS:
        cpu_names = ", ".join(preset.name for preset in _LOWERINGS if preset in _CPU_PRESETS)
        raise ValueError(f"XLA's CPU compiler has no algorithm {algorithm} for products; it has {cpu_names}")
    if algorithm in _F8_PRESETS:
        names = [f"f8{aval.dtype.name.removeprefix('float8_').upper()}" for aval in (x, y)]
        way = _AlgorithmLowering(names[0], names[1], "f32", (x.dtype, y.dtype), (out.dtype,), 1, _F8_PRESETS[algorithm])
    else:
        way = _LOWERINGS[algorithm]
    lhs, rhs = (aval.dtype if aval.dtype in way.operand_dtypes else way.operand_dtypes[0] for aval in (x, y))
    total = (
        out.dtype
        if out.dtype in way.result_dtypes and out.dtype in (way.result_dtypes[0], lhs)
        else way.result_dtypes[0]
    )
    values = [_convert(builder, v, a, to) for v, a, to in zip(operands, (x, y), (lhs, rhs), strict=True)]
    if builder.platform != "cpu" or of_matrices:
        attributes = {**attributes, "algorithm": _algorithm_attribute(way)}
    product = builder.emit1("stablehlo.dot_general", values, make_aval(out.shape, total), attributes)
    return [_convert(builder, product, make_aval(out.shape, total), out.dtype)]


def _convert(builder: Any, value: Any, aval: ShapedArray, dtype: np.dtype[Any]) -> Any:
    if aval.dtype == dtype:
        return value
    return builder.emit1("stablehlo.convert", [value], make_aval(aval.shape, dtype))


def _algorithm_attribute(lowering: _AlgorithmLowering) -> Any:
    return attribute(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {lowering.lhs_type}, rhs_precision_type = {lowering.rhs_type}, "
        f"accumulation_type = {lowering.accumulation_type}, lhs_component_count = 1, rhs_component_count = 1, "
        f"num_primitive_operations = {lowering.operation_count}, "
        f"allow_imprecise_accumulation = {str(lowering.allow_imprecise).lower()}>"
    )
