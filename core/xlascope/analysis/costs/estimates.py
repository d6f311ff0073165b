"""Lower bounds of kernel times on a chip: memory traffic at its bandwidth, or computation at its peak.

This is a roofline estimate from the optimized HLO, for back ends whose compiler gives no estimate. Launch
overhead, caches and waiting are not included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...readers.hlo.kernels import iter_executed, iter_fused_instructions
from ...readers.hlo.text import Computation, Instruction, Module
from ...records.compiled import Kernel

_SHAPE = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]")
_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_CONTRACTING_DIMS = re.compile(r"lhs_contracting_dim(?:ension)?s\W*[{\[]([\d,\" ]*)[}\]]")
_HIGHEST_PRECISION = re.compile(r'operand_precision(?:=\{highest|":\["HIGHEST)')
_LABELS = re.compile(r"dim_labels=\w+_(\w+)->")
#: Opcodes that compute nothing: they rename or move values, or call computations.
_ALIAS_OPCODES = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"}
)
_SHAPE_OPCODES = frozenset(
    {"copy", "broadcast", "reshape", "transpose", "slice", "pad", "concatenate", "reverse", "iota"}
)
_SLICE_OPCODES = frozenset({"dynamic-slice", "dynamic-update-slice", "gather"})
_CALLING_OPCODES = frozenset({"fusion", "call", "while", "conditional"})
_NON_COMPUTING_OPCODES = _ALIAS_OPCODES | _SHAPE_OPCODES | _SLICE_OPCODES | _CALLING_OPCODES
_PRODUCT_OPCODES = frozenset({"dot", "convolution", "custom-call"})
_DTYPE_NAMES = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16", "f8": "float8"}


class ChipPeaks(NamedTuple):
    """Peak rates of a chip.

    ``bandwidth`` is in bytes per second; ``products`` are operations per second in matrix products by the factors'
    dtype, and ``vector`` those elsewhere.
    """

    bandwidth: float
    products: Mapping[str, float]
    vector: float


class KernelWork(NamedTuple):
    """Floating-point operations in one run of a kernel.

    ``products`` are those in matrix products by the factors' dtype, ``vector`` all others.
    """

    products: Mapping[str, int]
    vector: int


def estimate_kernel_seconds(kernel: Kernel, work: KernelWork, peaks: ChipPeaks) -> float:
    """Return the estimated seconds of one run: the longer of memory traffic and computation at their peak rates.

    >>> from xlascope.readers.hlo import read_kernels
    >>> text = '''HloModule f
    ... ENTRY %main (x: f32[1000]) -> f32[1000] {
    ...   %x = f32[1000]{0} parameter(0)
    ...   ROOT %sin.1 = f32[1000]{0} sine(%x)
    ... }'''
    >>> estimate_kernel_seconds(read_kernels(text)[0], KernelWork({}, 1000), ChipPeaks(8e9, {}, 1e9))
    1e-06
    """
    computing = sum(count / peaks.products.get(kind, peaks.vector) for kind, count in work.products.items())
    computing += work.vector / peaks.vector
    return max((kernel.bytes_read + kernel.bytes_written) / peaks.bandwidth, computing)


def count_kernel_work(module: Module) -> dict[str, KernelWork]:
    """Return the work of each kernel of a module in one run, by the kernel's name."""
    work = {}
    for computation, instruction in iter_executed(module):
        products: dict[str, int] = {}
        vector = 0
        for parent, step in ((computation, instruction), *iter_fused_instructions(module, instruction)):
            kind, count = _count_product(parent, step)
            if count:
                products[kind] = products.get(kind, 0) + count
            elif step.opcode not in _NON_COMPUTING_OPCODES:
                vector += _count_elements(parent, step)
        work[instruction.name] = KernelWork(products, vector)
    return work


def count_kernel_runs(module: Module) -> dict[str, int]:
    """Return how often each kernel runs in one run of the program.

    A loop of unknown trip count counts once, and all branches of a conditional count.
    """
    computation_counts = {module.entry.name: 1}
    counts = {}
    for computation, instruction in iter_executed(module):
        counts[instruction.name] = computation_counts.get(computation.name, 1)
        trips = _TRIP_COUNT.search(instruction.attributes) if instruction.opcode == "while" else None
        for name in instruction.called:
            computation_counts[name] = counts[instruction.name] * (int(trips[1]) if trips else 1)
    return counts


def _count_product(computation: Computation, step: Instruction) -> tuple[str, int]:
    """Return the dtype of a product's factors and its operations (multiplication and addition count as two).

    ``("", 0)`` for an instruction that is no product, or whose contracted axes are unknown. ``computation`` holds the
    operands of ``step``.
    """
    factor = computation.instructions.get(step.operands[0]) if step.operands else None
    if step.opcode not in _PRODUCT_OPCODES or factor is None:
        return "", 0
    kind, sizes = _parse_shape(factor.type_text)
    result = math.prod(_parse_shape(step.type_text)[1])
    contracted, labels = _CONTRACTING_DIMS.search(step.attributes), _LABELS.search(step.attributes)
    if contracted:
        summed = math.prod(sizes[axis] for axis in _parse_ints(contracted[1]) if axis < len(sizes))
    elif labels and len(step.operands) > 1 and step.operands[1] in computation.instructions:
        summed = _products_per_element(_parse_shape(computation.instructions[step.operands[1]].type_text)[1], labels[1])
    else:
        return "", 0
    precise = _HIGHEST_PRECISION.search(step.attributes) is not None  # unrounded factors do not use tensor cores
    return f"{kind} highest" if precise else kind, 2 * result * summed


def _products_per_element(sizes: list[int], labels: str) -> int:
    """Return the number of products summed in one element of a convolution: the kernel's size without output features.

    ``sizes`` is the kernel's shape, ``labels`` names its axes as in XLA's ``dim_labels``.
    """
    features = labels.find("o")
    return math.prod(size for axis, size in enumerate(sizes) if axis != features)


def _count_elements(computation: Computation, step: Instruction) -> int:
    """Return the number of elements that an instruction computes, or that a reduction reads.

    ``computation`` holds the operands of ``step``.
    """
    operand = computation.instructions.get(step.operands[0]) if step.opcode == "reduce" and step.operands else None
    return math.prod(_parse_shape((operand or step).type_text)[1])


def _parse_shape(type_text: str) -> tuple[str, list[int]]:
    match = _SHAPE.search(type_text)
    if match is None:
        return "", []
    kind = next((long for short, long in _DTYPE_NAMES.items() if match[1].startswith(short)), match[1])
    return kind, list(_parse_ints(match[2]))


def _parse_ints(text: str) -> Iterable[int]:
    return (int(number) for number in re.findall(r"\d+", text))
