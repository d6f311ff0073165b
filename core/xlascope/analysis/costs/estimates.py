"""Lower bounds of kernel times on a chip: memory traffic at its bandwidth, or computation at its peak.

This is a roofline estimate from the optimized HLO, for back ends whose compiler gives no estimate. Launch
overhead, caches and waiting are not included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...readers.hlo.kernels import called_by, running
from ...readers.hlo.text import Computation, Instruction, Module
from ...records.compiled import Kernel

_SHAPE = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_CONTRACTED = re.compile(r"lhs_contracting_dim(?:ension)?s\W*[{\[]([\d,\" ]*)[}\]]")
_PRECISE = re.compile(r'operand_precision(?:=\{highest|":\["HIGHEST)')
_LABELS = re.compile(r"dim_labels=\w+_(\w+)->")
#: Opcodes that compute nothing: they rename or move values, or call computations.
_NAMES = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"})
_SHAPES = frozenset({"copy", "broadcast", "reshape", "transpose", "slice", "pad", "concatenate", "reverse", "iota"})
_PARTS = frozenset({"dynamic-slice", "dynamic-update-slice", "gather"})
_HOLDS = frozenset({"fusion", "call", "while", "conditional"})
_MOVES = _NAMES | _SHAPES | _PARTS | _HOLDS
_PRODUCTS = frozenset({"dot", "convolution", "custom-call"})
_LONG = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16", "f8": "float8"}


class Peaks(NamedTuple):
    """Peak rates of a chip: bytes per second, and operations per second in products by factor dtype, and elsewhere."""

    bandwidth: float
    products: Mapping[str, float]
    vector: float


class Work(NamedTuple):
    """Floating-point operations of one run of a kernel: in matrix products by the factors' dtype, and elsewhere."""

    products: Mapping[str, int]
    vector: int


def kernel_seconds(kernel: Kernel, work: Work, peaks: Peaks) -> float:
    """Return the estimated seconds of one run: the longer of memory traffic and computation.

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


def work_of(module: Module) -> dict[str, Work]:
    """Return the work of each kernel of a module in one run, by the kernel's name."""
    work = {}
    for computation, instruction in running(module):
        products: dict[str, int] = {}
        vector = 0
        for parent, step in ((computation, instruction), *called_by(module, instruction)):
            kind, count = _product(parent, step)
            if count:
                products[kind] = products.get(kind, 0) + count
            elif step.opcode not in _MOVES:
                vector += _elements(parent, step)
        work[instruction.name] = Work(products, vector)
    return work


def runs_of(module: Module) -> dict[str, int]:
    """Return how often each kernel runs in one run of the program.

    A loop of unknown trip count counts once, and all branches of a conditional count.
    """
    computation_counts = {module.entry.name: 1}
    counts = {}
    for computation, instruction in running(module):
        counts[instruction.name] = computation_counts.get(computation.name, 1)
        trips = _TRIPS.search(instruction.attributes) if instruction.opcode == "while" else None
        for name in instruction.called:
            computation_counts[name] = counts[instruction.name] * (int(trips[1]) if trips else 1)
    return counts


def _product(computation: Computation, step: Instruction) -> tuple[str, int]:
    """Return the dtype of a product's factors and its operations (a multiplication and an addition count as two)."""
    factor = computation.instructions.get(step.operands[0]) if step.operands else None
    if step.opcode not in _PRODUCTS or factor is None:
        return "", 0
    kind, sizes = _shape(factor.type_text)
    result = math.prod(_shape(step.type_text)[1])
    contracted, labels = _CONTRACTED.search(step.attributes), _LABELS.search(step.attributes)
    if contracted:
        summed = math.prod(sizes[axis] for axis in _numbers(contracted[1]) if axis < len(sizes))
    elif labels and len(step.operands) > 1 and step.operands[1] in computation.instructions:
        summed = _window(_shape(computation.instructions[step.operands[1]].type_text)[1], labels[1])
    else:
        return "", 0
    precise = _PRECISE.search(step.attributes) is not None  # unrounded factors do not use tensor cores
    return f"{kind} highest" if precise else kind, 2 * result * summed


def _window(sizes: list[int], labels: str) -> int:
    """Return the number of products in one element of a convolution: the kernel's size without output features."""
    features = labels.find("o")
    return math.prod(size for axis, size in enumerate(sizes) if axis != features)


def _elements(computation: Computation, step: Instruction) -> int:
    """Return the number of elements that an elementwise operation computes, or that a reduction reads."""
    operand = computation.instructions.get(step.operands[0]) if step.opcode == "reduce" and step.operands else None
    return math.prod(_shape((operand or step).type_text)[1])


def _shape(type_text: str) -> tuple[str, list[int]]:
    match = _SHAPE.search(type_text)
    if match is None:
        return "", []
    kind = next((long for short, long in _LONG.items() if match[1].startswith(short)), match[1])
    return kind, list(_numbers(match[2]))


def _numbers(text: str) -> Iterable[int]:
    return (int(number) for number in re.findall(r"\d+", text))
