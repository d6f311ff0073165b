"""The table of known faults.

A row stays until no supported jaxlib has its fault. `tests/core/xla/test_known_faults.py` runs each fault without
its workaround, and fails when XLA has repaired it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jaxlib import version

from ...runtime.supported_jaxlibs import parse_version
from .program_operations import EXTREME_OF_ELEMENTS, FUNCTION_OF_SCALED, OperationSummary

#: XLA's option that names the operations for the library YNNPACK.
YNNPACK_OPTION = "xla_cpu_experimental_ynn_fusion_type"
#: All operations that YNNPACK gets except individual reductions.
_WITHOUT_REDUCTIONS = (
    (YNNPACK_OPTION, "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION"),
)


class CompilerFault(NamedTuple):
    """Fault of XLA's CPU compiler.

    jaxlib has it from version ``since`` to before version ``fixed``, None where no version is known to be right.
    ``matches`` returns whether a program may be affected, given those of its operations whose names are in ``names``.
    ``options`` are the compiler options of such a program that avoid it; () where operations are written in another
    form instead. ``cost`` is the time of what is affected with the workaround, relative to without, and ``share`` how
    many of the programs of `bench` match; `python -m bench.known_faults` measures both.
    """

    name: str
    reports: tuple[str, ...]
    since: str
    fixed: str | None
    pattern: str
    workaround: str
    cost: str
    share: str
    names: frozenset[str]
    matches: Callable[[Iterable[OperationSummary]], bool]
    options: tuple[tuple[str, str], ...] = ()

    def is_in(self, jaxlib: str) -> bool:
        """Return whether a version of jaxlib has the fault."""
        return parse_version(self.since) <= parse_version(jaxlib) and (
            self.fixed is None or parse_version(jaxlib) < parse_version(self.fixed)
        )


_FLOATS = frozenset({"f64", "f32", "f16", "bf16"})


def has_nan(operations: Iterable[OperationSummary]) -> bool:
    """Return whether a program contains a NaN literal.

    LLVM does not define the conversion of NaN to an integer, which exponentials of 32 bits and less contain. Where
    the compiler finds that an operand is NaN, it drops the computation, and the result is uninitialized memory. A NaN
    that it finds by computing with other constants (``inf - inf``) is not detected.
    """
    return any(operation.is_nan for operation in operations)


#: The fault was observed with 2 or 3 rows, 3 products per sum, and from 16,385 columns. The limits follow from block
#: sizes, which may differ on other processors.
_MAX_SMALL_SIZE, _MIN_LONG_SIZE = 16, 8192


def has_reduction_of_thin_product(operations: Iterable[OperationSummary]) -> bool:
    """Return whether a program has a thin matrix product and a reduction that leaves a long axis.

    ``sum((M @ v) ** 2)`` for each of 40,000 vectors of three numbers is one kernel of YNNPACK that transposes and
    packs the vectors in blocks; blocks after the first one are read from a wrong place.
    """
    product = reduction = False
    for op in operations:
        if op.name == "dot_general":
            product = product or _is_thin_product(op)
        else:
            reduction = reduction or (op.result.element in _FLOATS and math.prod(op.result.shape) >= _MIN_LONG_SIZE)
    return product and reduction


def _is_thin_product(product: OperationSummary) -> bool:
    """Return whether a matrix product of floats sums over few elements, and its result has a short and a long side."""
    left, right = product.operands
    if left.element not in _FLOATS:
        return False
    summed = math.prod(left.shape[axis] for axis in product.contracted)
    if summed > _MAX_SMALL_SIZE:
        return False
    batch = math.prod(left.shape[axis] for axis in product.batched)
    sides = sorted(math.prod(operand.shape) // max(1, batch * summed) for operand in (left, right))
    return sides[0] <= _MAX_SMALL_SIZE and sides[1] >= _MIN_LONG_SIZE


#: YNNPACK supports 8 axes and adds up to 2.
_MAX_AXES = 6


def has_sum_of_many_axes(operations: Iterable[OperationSummary]) -> bool:
    """Return whether a program reduces, or multiplies as matrices, arrays of 7 axes or more.

    A product of two arrays of rank 7 or 8, summed, is a matrix product to YNNPACK, which supports 8 axes and adds up
    to 2 of its own, and the process ends with signal 11.
    """
    return any(
        _count_axes(operation) > _MAX_AXES and operation.operands[0].element in _FLOATS for operation in operations
    )


def _count_axes(operation: OperationSummary) -> int:
    if operation.name == "dot_general":
        return len(operation.result.shape) + len(operation.contracted)
    return len(operation.operands[0].shape)


def has_reduction_of_scaled_bfloat16(operations: Iterable[OperationSummary]) -> bool:
    """Return whether a program has a function of scaled bfloat16 and a reduction.

    ``sum(exp(x * 0.3))`` is one kernel of YNNPACK, in which the scaled numbers are read from a wrong place: nearly
    all sums are those of other elements, or of uninitialized memory.
    """
    function = reduction = False
    for operation in operations:
        function = function or operation.name == FUNCTION_OF_SCALED
        reduction = reduction or (operation.name == "reduce" and operation.result.element in _FLOATS)
    return function and reduction


#: YNNPACK reduces arrays from 4,096 elements on.
MIN_ELEMENTS_OF_EXTREME = 4096
AFFECTED_EXTREMES = frozenset({"float64", "float32", "float16", "bfloat16"})


def has_large_extreme(operations: Iterable[OperationSummary]) -> bool:
    """Return whether a program takes the maximum or the minimum of many floats, whose NaN matters.

    YNNPACK compares as processors do: of two elements one of which is NaN the second is the larger and the smaller
    one. It compares float16 and bfloat16 as integers, so NaN is beyond infinity on the side of its sign bit. An
    all-reduce between CPUs compares likewise, of any number of elements; it is not in the program before XLA has
    partitioned it.
    """
    return any(
        op.name == EXTREME_OF_ELEMENTS
        and op.operands[0].element in _FLOATS
        and math.prod(op.operands[0].shape) >= MIN_ELEMENTS_OF_EXTREME
        for op in operations
    )


NAN = CompilerFault(
    name="The exponential of a NaN that LLVM finds is left out; the result is what memory held",
    reports=(),
    since="0.10.2",
    fixed=None,
    pattern="a NaN is written in it",
    workaround="`select(x != x, x, exp(x))`",
    cost="2 to 3 times, for an exponential by itself",
    share="6 of 63",
    names=frozenset({"constant"}),
    matches=has_nan,
)
THIN_PRODUCT = CompilerFault(
    name="Rows from 16,385 (float64) or 32,769 on of a thin matrix product that is reduced are wrong",
    reports=("jax-ml/jax#39103",),
    since="0.10.2",
    fixed="0.11.0",
    pattern="a product of at most 16 × 16 numbers for each of 8,192 or more rows, and a reduction that leaves as many",
    workaround="YNNPACK without reductions",
    cost="0.5 to 1.2 times",
    share="0 of 63",
    names=frozenset({"dot_general", "reduce"}),
    matches=has_reduction_of_thin_product,
    options=_WITHOUT_REDUCTIONS,
)
MANY_AXES = CompilerFault(
    name="A summed product of two arrays of rank 7 or 8 ends the process with signal 11",
    reports=("jax-ml/jax#39257", "jax-ml/jax#40412"),
    since="0.10.2",
    fixed="0.11.1",
    pattern="a reduction or a matrix product of 7 axes or more",
    workaround="YNNPACK without reductions",
    cost="0.5 to 2.8 times",
    share="0 of 63",
    names=frozenset({"dot_general", "reduce"}),
    matches=has_sum_of_many_axes,
    options=_WITHOUT_REDUCTIONS,
)
SCALED_BFLOAT16 = CompilerFault(
    name="A reduced exponential, logarithm, sigmoid or erf of scaled bfloat16 is that of other elements",
    reports=(),
    since="0.10.2",
    fixed="0.11.0",
    pattern="such a function of bfloat16 times a number, and a reduction",
    workaround="YNNPACK without reductions",
    cost="2.5 to 5 times, for such a sum by itself",
    share="0 of 63",
    names=frozenset({FUNCTION_OF_SCALED, "reduce"}),
    matches=has_reduction_of_scaled_bfloat16,
    options=_WITHOUT_REDUCTIONS,
)
EXTREME = CompilerFault(
    name="The maximum or the minimum of 4,096 floats and more, or over devices, leaves NaN out",
    reports=(),
    since="0.10.2",
    fixed=None,
    pattern="such a reduction, except the maximum in a softmax or logsumexp",
    workaround="NaN where the sum of squares is NaN",
    cost="1.1 to 1.9 times, for such a reduction by itself",
    share="3 of 63",
    names=frozenset({EXTREME_OF_ELEMENTS}),
    matches=has_large_extreme,
)
FAULTS = (NAN, THIN_PRODUCT, MANY_AXES, SCALED_BFLOAT16, EXTREME)


MARKDOWN_HEADER = (
    "| fault of XLA:CPU | reports | jaxlib | programs that match | workaround | cost | share |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def table_lines() -> list[str]:
    """Return the table of all known faults as lines of Markdown."""
    lines = list(MARKDOWN_HEADER)
    for row in FAULTS:
        versions = f"{row.since} and later" if row.fixed is None else f"{row.since} to before {row.fixed}"
        cells = (row.name, ", ".join(row.reports) or "none", versions, row.pattern, row.workaround, row.cost, row.share)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def faults_in(jaxlib: str = version.__version__) -> tuple[CompilerFault, ...]:
    """Return the faults that a version of jaxlib has."""
    return tuple(fault for fault in FAULTS if fault.is_in(jaxlib))


def match_faults(faults: Iterable[CompilerFault], operations: Iterable[OperationSummary]) -> tuple[CompilerFault, ...]:
    """Return those of the faults that may affect a program with these operations."""
    program = list(operations)
    return tuple(fault for fault in faults if fault.matches([op for op in program if op.name in fault.names]))
