"""Shared code of operations on stacks of matrices.

Requirements, batching, rules by platform, and reading of the results of LAPACK and similar libraries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import kind_of
from ...ir.avals import ShapedArray, shaped
from ...ir.operation import Operation
from ...records.traits import KERNEL
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute, integers
from ...xla.mlir.solver_calls import GPUS
from .. import sharding_rules
from ..indexing import mapped_size
from ..shapes import mapped_in_front
from ..whole_numbers import whole_number

#: Attributes for LAPACK's letter arguments.
LETTER = {letter: f"{ord(letter)} : ui8" for letter in "CLNRSTUVA"}

#: The attribute that selects MAGMA in routines that run on CUDA and on the host.
MAGMA = {None: '"auto"', True: '"on"', False: '"off"'}

INT32, BOOL = np.dtype("int32"), np.dtype("bool")


class OfStacks(Operation):
    """Operation on stacks of matrices: a mapped axis is one more axis of the stack."""

    traits = KERNEL
    sharding_rule = sharding_rules.of_stacks

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
        """Emit the platform's library call; raise NotImplementedError where there is none."""
        if builder.platform == "cpu":
            return self.on_cpu(builder, operands)
        if builder.platform in GPUS:
            return self.on_gpu(builder, operands)
        if builder.platform == "tpu":
            return self.on_tpu(builder, operands)
        raise self.not_there(builder)

    def require_library(self, builder: Any) -> None:
        """Raise NotImplementedError for a platform without a known library of factorizations."""
        if builder.platform not in ("cpu", "tpu", *GPUS):
            raise self.not_there(builder)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit LAPACK's routine."""
        raise self.not_there(builder)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit a routine of CUDA's libraries."""
        raise self.not_there(builder)

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit XLA's own routine, or a composition of others."""
        raise self.not_there(builder)

    def not_there(self, builder: Any, how: str = "") -> NotImplementedError:
        """Return the error for a platform without this factorization, or without the variant ``how`` of it."""
        instead = "leave that to the platform" if how else "run the program on the CPU, or move it out of the program"
        return NotImplementedError(
            f"{self.name}{how} is not there for the platform {builder.platform!r}, here as in JAX: {instead}"
        )


def require_matrices(name: str, x: ShapedArray, square: bool = False) -> None:
    """Raise unless the type is a stack of matrices of a dtype that LAPACK supports.

    The error is ValueError for shapes, NotImplementedError for narrow floats, TypeError otherwise.
    """
    if x.dtype.name not in lapack.LETTERS:
        narrow = kind_of(x.dtype) == "f"
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


def written_as(
    builder: Any, function: Callable[..., Sequence[Any]], operands: Sequence[Any], types: Sequence[ShapedArray]
) -> list[Any]:
    """Emit the result of a function that is composed of other operations."""
    program = stage(lambda *xs: list(function(*xs)), list(types), function.__name__.strip("_"))
    return list(builder.call_body(program, operands))


def chosen(name: str, subset: Any, count: int) -> tuple[int, int] | None:
    """Return a range of ``count`` values, None for all of them; raise ValueError for an invalid one."""
    first, end = (whole_number(bound, f"subset_by_index of {name}") for bound in subset)
    if not 0 <= first < end <= count:
        raise ValueError(
            f"subset_by_index of {name} is (first, end) with 0 <= first < end <= {count}, got {subset}{here()}"
        )
    return None if (first, end) == (0, count) else (first, end)


def part_of(builder: Any, value: Any, have: ShapedArray, out: ShapedArray, first: int = 0) -> Any:
    """Emit the leading part of type ``out``, along the last axis from ``first`` on."""
    if have.shape == out.shape:
        return value
    starts = [*[0] * (out.ndim - 1), first]
    attributes = {
        "start_indices": integers(starts),
        "limit_indices": integers([start + size for start, size in zip(starts, out.shape, strict=True)]),
        "strides": integers([1] * out.ndim),
    }
    return builder.emit1("stablehlo.slice", [value], out, attributes)


def zeros(builder: Any, aval: ShapedArray) -> Any:
    """Emit zeros of a type."""
    return builder.broadcast(builder.constant(0, shaped((), aval.dtype)), aval)


def identities(builder: Any, aval: ShapedArray) -> Any:
    """Emit a stack of identity matrices."""
    equal = triangle(builder, aval.shape, "EQ")
    return select(builder, equal, _filled(builder, 1, aval), zeros(builder, aval), aval)


def triangle(builder: Any, shape: tuple[int, ...], direction: str, offset: int = 0) -> Any:
    """Emit the comparison of the row index, plus ``offset``, with the column index."""
    of_numbers = shaped(shape, INT32)

    def numbers(axis: int) -> Any:
        return builder.emit1("stablehlo.iota", [], of_numbers, {"iota_dimension": attribute(f"{axis} : i64")})

    rows = numbers(len(shape) - 2)
    if offset:
        rows = builder.emit1("stablehlo.add", [rows, _filled(builder, offset, of_numbers)], of_numbers)
    return compare(builder, direction, rows, numbers(len(shape) - 1), shape)


def lower_triangle(builder: Any, value: Any, aval: ShapedArray, offset: int = 0) -> Any:
    """Emit the value with zeros above the diagonal (``offset`` -1: on it, too)."""
    return select(builder, triangle(builder, aval.shape, "GE", offset), value, zeros(builder, aval), aval)


def upper_triangle(builder: Any, value: Any, aval: ShapedArray) -> Any:
    """Emit the value with zeros below the diagonal."""
    return select(builder, triangle(builder, aval.shape, "LE"), value, zeros(builder, aval), aval)


def compare(builder: Any, direction: str, x: Any, y: Any, shape: tuple[int, ...]) -> Any:
    """Emit an elementwise comparison."""
    attributes = {"comparison_direction": attribute(f"#stablehlo<comparison_direction {direction}>")}
    return builder.emit1("stablehlo.compare", [x, y], shaped(shape, BOOL), attributes)


def select(builder: Any, where: Any, x: Any, y: Any, aval: ShapedArray) -> Any:
    """Emit ``x`` where the condition holds, else ``y``."""
    return builder.emit1("stablehlo.select", [where, x, y], aval)


def _filled(builder: Any, value: Any, aval: ShapedArray) -> Any:
    return builder.broadcast(builder.constant(value, shaped((), aval.dtype)), aval)


def nan_where_failed(builder: Any, info: Any, lead: tuple[int, ...], value: Any, aval: ShapedArray) -> Any:
    """Emit the value with NaN for those matrices for which LAPACK reports failure."""
    succeeded = compare(builder, "EQ", info, zeros(builder, shaped(lead, INT32)), lead)
    everywhere = builder.broadcast(succeeded, shaped(aval.shape, BOOL), range(len(lead)))
    nan = complex(math.nan, math.nan) if kind_of(aval.dtype) == "c" else math.nan
    return select(builder, everywhere, value, _filled(builder, nan, aval), aval)


def counted_from_zero(builder: Any, value: Any, aval: ShapedArray) -> Any:
    """Emit integers that count from 0, given ones that count from 1."""
    return builder.emit1("stablehlo.subtract", [value, _filled(builder, 1, aval)], aval)
