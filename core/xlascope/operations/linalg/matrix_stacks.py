"""Shared code of operations on stacks of matrices.

Requirements, batching, rules by platform, and reading of the results of LAPACK and similar libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import dtype_kind
from ...ir.avals import ShapedArray, make_aval
from ...ir.operation import Operation
from ...records.traits import KERNEL
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute, int64_array
from ...xla.mlir.solver_calls import GPU_PLATFORMS
from .. import sharding_rules
from ..indexing import mapped_size
from ..integer_arguments import whole_number
from ..shapes import mapped_in_front

#: Attributes for LAPACK's letter arguments.
LETTER_ATTRIBUTES = {letter: f"{ord(letter)} : ui8" for letter in "CLNRSTUVA"}

#: The attribute that selects MAGMA in routines that run on CUDA and on the host.
MAGMA_ATTRIBUTES = {None: '"auto"', True: '"on"', False: '"off"'}

INT32, BOOL = np.dtype("int32"), np.dtype("bool")


class MatrixStackOperation(Operation):
    """Base of operations on stacks of matrices: a batch axis is one more axis of the stack.

    Subclasses define the lowering of each platform by :meth:`on_cpu`, :meth:`on_gpu` and :meth:`on_tpu`.
    """

    traits = KERNEL
    sharding_rule = sharding_rules.matrix_stacks

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = mapped_size(operands, axes)
        results = bind(self, *(mapped_in_front(x, axis, size) for x, axis in zip(operands, axes, strict=True)))
        return results, [0] * len(results)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError(
            f"{self.name} has no derivative, here as in JAX{here()}; say what it is with custom_jvp, or use a "
            "factorization that has one (qr, eigh, svd, cholesky, lu)"
        )

    def on_platform(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit the routine of the program's platform and return its results.

        Raises NotImplementedError if there is none.
        """
        if builder.platform == "cpu":
            return self.on_cpu(builder, operands)
        if builder.platform in GPU_PLATFORMS:
            return self.on_gpu(builder, operands)
        if builder.platform == "tpu":
            return self.on_tpu(builder, operands)
        raise self.unsupported_error(builder)

    def require_library(self, builder: Any) -> None:
        """Raise NotImplementedError unless the platform is the CPU, a GPU or a TPU."""
        if builder.platform not in ("cpu", "tpu", *GPU_PLATFORMS):
            raise self.unsupported_error(builder)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit LAPACK's routine and return its results."""
        raise self.unsupported_error(builder)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit a routine of CUDA's libraries and return its results."""
        raise self.unsupported_error(builder)

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit XLA's own routine, or a composition of other operations, and return the results."""
        raise self.unsupported_error(builder)

    def unsupported_error(self, builder: Any, how: str = "") -> NotImplementedError:
        """Return the error for a factorization that the platform does not support.

        ``how`` is appended to the operation's name: an unsupported variant, with a space in front.
        """
        instead = "leave that to the platform" if how else "run the program on the CPU, or move it out of the program"
        return NotImplementedError(
            f"{self.name}{how} is not there for the platform {builder.platform!r}, here as in JAX: {instead}"
        )


def require_matrices(name: str, x: ShapedArray, square: bool = False) -> None:
    """Raise unless the type is a stack of matrices of a dtype that LAPACK supports.

    ``name`` is the operation's name, for messages; ``square`` also requires square matrices. The error is ValueError
    for shapes, NotImplementedError for narrow floats, TypeError otherwise.
    """
    if x.dtype.name not in lapack.TYPE_LETTERS:
        narrow = dtype_kind(x.dtype) == "f"
        raise (NotImplementedError if narrow else TypeError)(
            f"{name} takes float32, float64, complex64 or complex128, got {x.dtype.name}{here()}; convert with astype"
        )
    if x.ndim < 2:
        raise ValueError(f"{name} takes matrices, or stacks of them, got shape {x.shape}{here()}")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"{name} takes square matrices, of a shape [..., n, n], got shape {x.shape}: they have {x.shape[-2]} rows "
            f"and {x.shape[-1]} columns{here()}"
        )


def emit_function(
    builder: Any, function: Callable[..., Sequence[Any]], operands: Sequence[Any], types: Sequence[ShapedArray]
) -> list[Any]:
    """Emit a function that is composed of other operations; return the MLIR results.

    ``operands`` are the MLIR operands, ``types`` their types.
    """
    program = stage(lambda *xs: list(function(*xs)), list(types), function.__name__.strip("_"))
    return list(builder.call_formula(program, operands))


def parse_subset(name: str, subset: Any, count: int) -> tuple[int, int] | None:
    """Return ``subset`` as a range (first, end) of ``count`` values, None if it is all of them.

    Raises ValueError unless 0 <= first < end <= count; ``name`` is the function's name, for messages.
    """
    first, end = (whole_number(bound, f"subset_by_index of {name}") for bound in subset)
    if not 0 <= first < end <= count:
        raise ValueError(
            f"subset_by_index of {name} is (first, end) with 0 <= first < end <= {count}, got {subset}{here()}"
        )
    return None if (first, end) == (0, count) else (first, end)


def emit_leading_part(builder: Any, value: Any, have: ShapedArray, out: ShapedArray, first: int = 0) -> Any:
    """Emit a slice of type ``out`` of a value of type ``have``, and return it.

    It begins at ``first`` along the last axis and at 0 along the others.
    """
    if have.shape == out.shape:
        return value
    starts = [*[0] * (out.ndim - 1), first]
    attributes = {
        "start_indices": int64_array(starts),
        "limit_indices": int64_array([start + size for start, size in zip(starts, out.shape, strict=True)]),
        "strides": int64_array([1] * out.ndim),
    }
    return builder.emit1("stablehlo.slice", [value], out, attributes)


def emit_zeros(builder: Any, aval: ShapedArray) -> Any:
    """Emit zeros of the type ``aval``."""
    return builder.broadcast(builder.constant(0, make_aval((), aval.dtype)), aval)


def emit_identities(builder: Any, aval: ShapedArray) -> Any:
    """Emit a stack of identity matrices of the type ``aval``."""
    equal = emit_triangle_mask(builder, aval.shape, "EQ")
    return emit_select(builder, equal, _emit_full(builder, 1, aval), emit_zeros(builder, aval), aval)


def emit_triangle_mask(builder: Any, shape: tuple[int, ...], direction: str, offset: int = 0) -> Any:
    """Emit the comparison of row index plus ``offset`` with column index, for matrices of that shape.

    ``direction`` is StableHLO's name of the comparison, such as ``GE``.
    """
    of_numbers = make_aval(shape, INT32)

    def numbers(axis: int) -> Any:
        return builder.emit1("stablehlo.iota", [], of_numbers, {"iota_dimension": attribute(f"{axis} : i64")})

    rows = numbers(len(shape) - 2)
    if offset:
        rows = builder.emit1("stablehlo.add", [rows, _emit_full(builder, offset, of_numbers)], of_numbers)
    return emit_compare(builder, direction, rows, numbers(len(shape) - 1), shape)


def emit_lower_triangle(builder: Any, value: Any, aval: ShapedArray, offset: int = 0) -> Any:
    """Emit the value of type ``aval`` with zeros above the diagonal; with ``offset`` -1 also on it."""
    return emit_select(
        builder, emit_triangle_mask(builder, aval.shape, "GE", offset), value, emit_zeros(builder, aval), aval
    )


def emit_upper_triangle(builder: Any, value: Any, aval: ShapedArray) -> Any:
    """Emit the value of type ``aval`` with zeros below the diagonal."""
    return emit_select(builder, emit_triangle_mask(builder, aval.shape, "LE"), value, emit_zeros(builder, aval), aval)


def emit_compare(builder: Any, direction: str, x: Any, y: Any, shape: tuple[int, ...]) -> Any:
    """Emit an elementwise comparison of arrays of that shape; ``direction`` is StableHLO's name of it."""
    attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
    return builder.emit1("stablehlo.compare", [x, y], make_aval(shape, BOOL), attributes)


def emit_select(builder: Any, where: Any, x: Any, y: Any, aval: ShapedArray) -> Any:
    """Emit ``x`` where the boolean ``where`` is true, else ``y``; both have the type ``aval``."""
    return builder.emit1("stablehlo.select", [where, x, y], aval)


def _emit_full(builder: Any, value: Any, aval: ShapedArray) -> Any:
    return builder.broadcast(builder.constant(value, make_aval((), aval.dtype)), aval)


def emit_nan_where_failed(builder: Any, info: Any, lead: tuple[int, ...], value: Any, aval: ShapedArray) -> Any:
    """Emit the value, with NaN for those matrices for which LAPACK reports failure.

    ``info`` is the MLIR value of LAPACK's status, 0 for success, of the shape ``lead`` of the stack; ``aval`` is the
    type of ``value``.
    """
    succeeded = emit_compare(builder, "EQ", info, emit_zeros(builder, make_aval(lead, INT32)), lead)
    everywhere = builder.broadcast(succeeded, make_aval(aval.shape, BOOL), range(len(lead)))
    nan = complex(math.nan, math.nan) if dtype_kind(aval.dtype) == "c" else math.nan
    return emit_select(builder, everywhere, value, _emit_full(builder, nan, aval), aval)


def emit_zero_based(builder: Any, value: Any, aval: ShapedArray) -> Any:
    """Emit integers of type ``aval`` that count from 0, given ones that count from 1."""
    return builder.emit1("stablehlo.subtract", [value, _emit_full(builder, 1, aval)], aval)
