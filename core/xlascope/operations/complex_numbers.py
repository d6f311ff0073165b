"""Complex numbers from their parts, and the parts.

Derivatives are those of functions of the two parts: a tangent of a complex value is complex, and the transpose is the
plain transpose (without conjugation) of a map that is linear over the real numbers. The pairing of a cotangent c and a
tangent t is the real part of c·t, which is what gives ``imag`` its minus sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import SIMPLE
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from . import sharding_rules
from .elementwise import align, stretch_values
from .linear_operation import Linear
from .operand_checks import broadcast_shape, is_linear, require_kind
from .operand_values import aval, match, typed_scalar
from .shapes import zeros_of
from .tangent_arithmetic import neg, unbroadcast


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the real part of a complex dtype; any other dtype unchanged.

    >>> real_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    return np.zeros((), dtype).real.dtype if dtype_kind(dtype) == "c" else dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return complex128 for a real dtype of 8 bytes, complex64 for others; a complex dtype unchanged."""
    return dtype if dtype_kind(dtype) == "c" else np.dtype("complex128" if dtype.itemsize == 8 else "complex64")


class _ComplexPart(Linear):
    """Base of the operations that return the real or the imaginary part."""

    traits = SIMPLE

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, "c")
        return [make_aval(x.shape, real_dtype(x.dtype), x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(f"stablehlo.{self.name}", operands)  # type: ignore[no-any-return]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


class Real(_ComplexPart, name="real"):
    """Elementwise real part of a complex value."""

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [complex(ct, typed_scalar(0, aval(ct).dtype))]


def real(x: Any) -> Any:
    """Return the real part of a complex value, elementwise."""
    return bind1(Real.instance, x)


class Imag(_ComplexPart, name="imag"):
    """Elementwise imaginary part of a complex value."""

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # the real part of c·t, for c = -i·ct, is ct times the imaginary part of t
        (ct,) = cotangents
        return [complex(typed_scalar(0, aval(ct).dtype), neg(ct))]


def imag(x: Any) -> Any:
    """Return the imaginary part of a complex value, elementwise."""
    return bind1(Imag.instance, x)


class Complex(Operation, name="complex"):
    """Elementwise complex value x + iy."""

    traits = SIMPLE
    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y = operands
        if x.dtype != y.dtype or x.dtype.name not in ("float32", "float64"):
            raise TypeError(
                f"complex takes a real and an imaginary part of one dtype, float32 or float64, got {x.dtype.name} and "
                f"{y.dtype.name}; convert with astype"
            )
        shape = broadcast_shape(self.name, x.shape, y.shape)
        return [make_aval(shape, complex_dtype(x.dtype), x.weak_type and y.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.complex", stretch_values(builder, operands))  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        out_tangents = [zeros_of(aval(x)) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
        return [bind1(self, *primals)], [bind1(self, *out_tangents)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (x, y) = cotangents, operands
        return [
            unbroadcast(real(ct), x.aval) if is_linear(x) else None,
            unbroadcast(imag(neg(ct)), y.aval) if is_linear(y) else None,
        ]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]


def complex(x: Any, y: Any) -> Any:
    """Return the complex value x + iy, elementwise; ``x`` and ``y`` are float32 or float64."""
    return bind1(Complex.instance, *match(x, y))


def emit_extreme(builder: Any, name: str, x: Any, y: Any, aval: ShapedArray) -> Any:
    """Return the MLIR value of the elementwise maximum or minimum of ``x`` and ``y``.

    ``name`` is the StableHLO operation, ``aval`` the type of operands and result. Complex values are compared by real
    parts first, then by imaginary parts; XLA's own operations compare only the real parts.
    """
    if dtype_kind(aval.dtype) != "c":
        return builder.emit1(name, [x, y], aval)
    truth, part = make_aval(aval.shape, np.dtype("bool")), make_aval(aval.shape, real_dtype(aval.dtype))

    def emit_comparison(direction: str, part_of: str) -> Any:
        parts = [builder.emit1(f"stablehlo.{part_of}", [value], part) for value in (x, y)]
        how = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
        return builder.emit1("stablehlo.compare", parts, truth, how)

    beyond = "GT" if name.endswith("maximum") else "LT"
    cases = [emit_comparison("EQ", "real"), emit_comparison(beyond, "imag"), emit_comparison(beyond, "real")]
    return builder.emit1("stablehlo.select", [builder.emit1("stablehlo.select", cases, truth), x, y], aval)


class Conj(Linear, name="conj"):
    """Complex conjugate, complex also for a real operand; ``input_dtype`` is the operand's dtype."""

    traits = SIMPLE
    input_dtype: np.dtype[Any]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
            raise TypeError(
                f"conj takes operands of dtype float32 or float64, or complex ones, got {x.dtype.name}; convert with "
                "astype"
            )
        return [make_aval(x.shape, complex_dtype(x.dtype), x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval_x,) = operands, builder.in_avals
        if dtype_kind(aval_x.dtype) != "c":
            return builder.emit("stablehlo.convert", [x])  # type: ignore[no-any-return]
        part = make_aval(aval_x.shape, real_dtype(aval_x.dtype))
        inside = builder.emit1("stablehlo.negate", [builder.emit1("stablehlo.imag", [x], part)], part)
        return builder.emit("stablehlo.complex", [builder.emit1("stablehlo.real", [x], part), inside])  # type: ignore[no-any-return]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        if dtype_kind(self.input_dtype) == "c":
            return [conj(ct)]
        return [real(ct)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


def conj(x: Any) -> Any:
    """Return the complex conjugate, elementwise; for a real value, the complex value with that real part."""
    return bind1(Conj(aval(x).dtype), x)
