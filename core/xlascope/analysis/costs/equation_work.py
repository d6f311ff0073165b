"""Estimated work of the equations in a kernel, by which the kernel's measured time is shared among them.

The profiler measures kernels. An equation's part of its kernel is estimated by its roofline: the longer of its
arithmetic and of the memory traffic that it causes, at the rates of the device's kind. Traffic is what crosses the
kernel's boundary: an array that one equation of a kernel leaves to another is not in memory. Arithmetic counts
floating-point operations; an element of a transcendental function or of a division counts as several sums, by the
operation's traits.

Rates are typical ones of a platform, not those measured here, so that a kernel is shared in the same way wherever
its time is shown. Only their ratios matter.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...records.compiled import Kernel
from ...records.events import Compiled, Traced
from ...records.paths import EquationPath
from ...records.programs import Equation, Jaxpr, Variable
from ...records.traits import Trait


class PlatformRates(NamedTuple):
    """Picoseconds of typical hardware: for an element of a sum, of a division and of a transcendental function, for a
    floating-point operation of a product, and for a byte read and written.
    """

    element: float
    division: float
    transcendental: float
    product_flop: float
    read_byte: float
    written_byte: float


#: Of a CPU: two cores of a server together (``xla/materialization/cost_model.py``).
CPU_RATES = PlatformRates(60, 150, 600, 10, 60, 120)
#: Of a GPU: half its float32 peak, special functions at a sixteenth, TF32 products, HBM (data sheet of the H100).
GPU_RATES = PlatformRates(0.03, 0.2, 0.3, 0.0025, 0.3, 0.3)
#: Of a TPU: vector unit, matrix unit with bfloat16, HBM (documentation of the v5e).
TPU_RATES = PlatformRates(0.25, 1.0, 2.5, 0.005, 1.2, 1.2)
_RATES = {"cpu": CPU_RATES, "tpu": TPU_RATES}

#: Sums per element of operations that have no trait for their cost: by counting, and as measured on a CPU.
_SUMS_PER_ELEMENT: dict[str, float] = {"threefry2x32": 110, "cumsum": 20, "cumprod": 20, "cummax": 20, "cummin": 20}
#: Sums per element on a CPU of functions that it computes without vectors, as measured there.
_CPU_SUMS_PER_ELEMENT: dict[str, float] = {"pow": 200, "sin": 40, "cos": 40, "tan": 40, "atan2": 40}
#: Sums per element and comparison of sorting.
_SUMS_PER_COMPARISON = 20
#: Operations that change a part of their first operand in place.
_UPDATES = ("scatter", "dynamic_update_slice")
_TRIPS = re.compile(r"(?:^| )(?:length|count)=(\d+)(?: |$)")


class EquationCost(NamedTuple):
    """Estimated picoseconds of one equation in one kernel, and how often it runs in a call (loops around it)."""

    path: EquationPath
    picoseconds: float
    trips: int


#: Costs of the equations of each kernel that has several, by kernel; kernels of unknown work have none.
KernelCosts = Mapping[str, Sequence[EquationCost]]


@dataclass(frozen=True, slots=True)
class _LeafEquation:
    """Equation without bodies; ``inputs`` and ``outputs`` are numbers of values, the same across calls of functions."""

    equation: Equation
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    trips: int


@dataclass(slots=True)
class _ValueTable:
    """Leaves of a program by path, the variable of each value, and the leaves that use it.

    ``results`` are the values that leave the program or one of its loops.
    """

    traced: Traced
    leaves: dict[EquationPath, _LeafEquation] = field(default_factory=dict)
    variables: list[Variable | None] = field(default_factory=list)
    users: dict[int, list[EquationPath]] = field(default_factory=dict)
    results: set[int] = field(default_factory=set)

    def add_value(self, variable: Variable | None) -> int:
        """Return the number of a new value of that type; None for a type that is not known."""
        self.variables.append(variable)
        return len(self.variables) - 1

    def add_body(self, jaxpr: Jaxpr, arguments: Sequence[int | None], trips: int) -> list[int]:
        """Add the equations of a program or of a body; return the values of its results.

        ``arguments`` are the values of its inputs, None for a new one each. Literals are no values.
        """
        numbers = {name: self.add_value(jaxpr.variables.get(name)) for name in jaxpr.constants}
        for name, argument in zip(jaxpr.inputs, arguments, strict=False):
            numbers[name] = self.add_value(jaxpr.variables.get(name)) if argument is None else argument
        for equation in jaxpr.equations:
            inputs = [numbers.get(name) for name in equation.inputs]
            outputs = self._add_equation(equation, inputs, trips) if equation.bodies else None
            if outputs is None or len(outputs) != len(equation.outputs):
                outputs = [self.add_value(jaxpr.variables.get(name)) for name in equation.outputs]
            numbers.update(zip(equation.outputs, outputs, strict=True))
            if not equation.bodies:
                self._add_leaf(equation, [number for number in inputs if number is not None], outputs, trips)
        return [numbers[name] if name in numbers else self.add_value(None) for name in jaxpr.outputs]

    def _add_equation(self, equation: Equation, inputs: Sequence[int | None], trips: int) -> list[int] | None:
        """Add the bodies of an equation; return the values of its results for a call, None for new ones."""
        body = equation.bodies[0]
        if self.traced.has(equation, Trait.CALL) and len(body.inputs) == len(inputs):
            return self.add_body(body, inputs, trips)
        self.results.update(number for number in inputs if number is not None)  # read by what is within, from memory
        match = _TRIPS.search(equation.parameters) if self.traced.has(equation, Trait.LOOP) else None
        inside = trips * (int(match[1]) if match else 1)
        for body in equation.bodies:
            self.results.update(self.add_body(body, [None] * len(body.inputs), inside))
        return None

    def _add_leaf(self, equation: Equation, inputs: Iterable[int], outputs: Iterable[int], trips: int) -> None:
        leaf = _LeafEquation(equation, tuple(inputs), tuple(outputs), trips)
        self.leaves[equation.path] = leaf
        for number in dict.fromkeys(leaf.inputs):
            self.users.setdefault(number, []).append(equation.path)

    def size_of(self, number: int) -> int:
        variable = self.variables[number]
        return math.prod(variable.shape) if variable is not None else 1

    def bytes_of(self, number: int) -> int:
        variable = self.variables[number]
        return variable.bytes if variable is not None else 0


def estimate_kernel_costs(traced: Traced, compiled: Compiled) -> KernelCosts:
    """Return the estimated costs of the equations of each kernel that has several.

    Kernels are left out of whose equations nothing is known, as in a program of which only names are known. An equation
    that holds a program (a loop that slices its operands in this kernel) has no work of its own. The walk takes about
    as long as listing the equations: a caller that needs it often should cache the result.

    >>> from xlascope.records import Variable
    >>> vector = {name: Variable(name, (1000,), "float32", False) for name in "abc"}
    >>> steps = [Equation(EquationPath("0"), "exp", "", ("a",), ("b",), flops=1000),
    ...          Equation(EquationPath("1"), "add", "", ("b", "b"), ("c",), flops=1000)]
    >>> program = Jaxpr("f", (), ("a",), ("c",), vector, tuple(steps))
    >>> traced = Traced(1, "f", 0.0, 0.1, program, "", "", traits={"exp": (Trait.TRANSCENDENTAL,)})
    >>> kernel = Kernel("fusion", "fusion", "loop", "f32[1000]", ("0", "1"), 2, 0, 4000, 4000, 8000)
    >>> compiled = Compiled(1, "f", 0.0, 0.1, "miss", "cpu", ("cpu:0",), "m", (kernel,), "")
    >>> estimate_kernel_costs(traced, compiled)["fusion"]  # picoseconds: arithmetic, and writing the result
    [EquationCost(path='0', picoseconds=600000.0, trips=1), EquationCost(path='1', picoseconds=480000.0, trips=1)]
    """
    shared = [kernel for kernel in compiled.kernels if len(set(kernel.equations)) > 1]
    if not shared or traced.jaxpr.by_names:
        return {}
    program = _ValueTable(traced)
    program.results.update(program.add_body(traced.jaxpr, [None] * len(traced.jaxpr.inputs), 1))
    reads = _bytes_read_by_equation(compiled.kernels)
    costs = {}
    for kernel in shared:
        paths = [path for path in dict.fromkeys(kernel.equations) if path in program.leaves]
        costs[kernel.name] = _cost_equations(program, kernel, paths, compiled, reads)
    return {name: parts for name, parts in costs.items() if any(cost.picoseconds for cost in parts)}


def _bytes_read_by_equation(kernels: Iterable[Kernel]) -> Counter[EquationPath]:
    """Return the bytes that all kernels of an equation read together, at least one each."""
    read: Counter[EquationPath] = Counter()
    for kernel in kernels:
        read.update(dict.fromkeys(kernel.equations, kernel.bytes_read + 1))
    return read


def _cost_equations(
    program: _ValueTable,
    kernel: Kernel,
    paths: Sequence[EquationPath],
    compiled: Compiled,
    reads: Counter[EquationPath],
) -> list[EquationCost]:
    """Return the costs of the equations ``paths`` of a kernel.

    ``reads`` are the bytes that all kernels of an equation read. An elementwise equation in several kernels is
    computed in each; any other is divided among them, by the bytes that they read.
    """
    rates = _RATES.get(compiled.platform, GPU_RATES)
    traffic = _estimate_traffic(program, kernel, paths, rates, len(compiled.devices))
    costs = []
    for path in paths:
        leaf = program.leaves[path]
        arithmetic = _estimate_arithmetic(program, leaf, rates)
        if not program.traced.has(leaf.equation, Trait.ELEMENTWISE):
            arithmetic *= (kernel.bytes_read + 1) / reads[path]
        costs.append(EquationCost(path, max(arithmetic, traffic[path]), leaf.trips))
    return costs


def _estimate_arithmetic(program: _ValueTable, leaf: _LeafEquation, rates: PlatformRates) -> float:
    """Return the estimated picoseconds of an equation's arithmetic, at the rates of a platform."""
    equation, traced = leaf.equation, program.traced
    size = max((program.size_of(number) for number in leaf.outputs), default=0)
    read = max((program.size_of(number) for number in leaf.inputs), default=0)
    sums = _SUMS_PER_ELEMENT.get(equation.operation) or (
        _CPU_SUMS_PER_ELEMENT.get(equation.operation) if rates is CPU_RATES else None
    )
    if sums is not None:
        return rates.element * sums * max(size, read)
    if equation.operation in ("sort", "top_k"):
        return rates.element * _SUMS_PER_COMPARISON * read * math.log2(read + 2)
    if traced.has(equation, Trait.PRODUCT):
        return rates.product_flop * equation.flops
    if traced.has(equation, Trait.TRANSCENDENTAL):
        return rates.transcendental * size
    if traced.has(equation, Trait.DIVIDES):
        return rates.division * size
    if traced.has(equation, Trait.ELEMENTWISE):
        return rates.element * max(size, equation.flops)
    if traced.has(equation, Trait.MOVES):
        return 0.0
    return rates.element * (equation.flops or size)


def _estimate_traffic(
    program: _ValueTable, kernel: Kernel, paths: Sequence[EquationPath], rates: PlatformRates, devices: int
) -> dict[EquationPath, float]:
    """Return the estimated picoseconds of the bytes that each equation reads and writes across a kernel's boundary.

    An array that several equations read is shared by them. If a device has the whole arrays, the kernel's own bytes
    are an upper bound: it may read a slice of an operand only.
    """
    inside = set(paths)
    produced_inside = {number for path in paths for number in program.leaves[path].outputs}
    read: dict[EquationPath, float] = dict.fromkeys(paths, 0.0)
    written: dict[EquationPath, float] = dict.fromkeys(paths, 0.0)
    for path in paths:
        leaf = program.leaves[path]
        for number in dict.fromkeys(leaf.inputs):
            if number not in produced_inside:
                readers = sum(1 for user in program.users[number] if user in inside)
                read[path] += _bytes_touched(program, leaf, number) / readers
        for number in leaf.outputs:
            if number in program.results or any(user not in inside for user in program.users.get(number, ())):
                written[path] += _bytes_touched(program, leaf, number)
    if devices == 1:
        _limit_sum(read, kernel.bytes_read)
        _limit_sum(written, kernel.bytes_written)
    return {path: rates.read_byte * read[path] + rates.written_byte * written[path] for path in paths}


def _bytes_touched(program: _ValueTable, leaf: _LeafEquation, number: int) -> float:
    """Return the bytes that an equation reads or writes of a value: of a slice or an update no more than that."""
    size = program.bytes_of(number)
    if leaf.equation.operation.startswith(_UPDATES):
        return min(size, sum(program.bytes_of(other) for other in leaf.inputs[1:]))
    if program.traced.has(leaf.equation, Trait.MOVES) or leaf.equation.operation in ("gather", "dynamic_slice"):
        return min(size, sum(program.bytes_of(result) for result in leaf.outputs))
    return size


def _limit_sum(parts: dict[EquationPath, float], most: int) -> None:
    total = sum(parts.values())
    if total > most:
        parts.update((path, part * most / total) for path, part in parts.items())


def share_kernel(costs: Sequence[EquationCost], runs: Mapping[EquationPath, float]) -> dict[EquationPath, float]:
    """Return each equation's part of its kernel's time, by the estimated work; the parts add up to one.

    ``runs`` are the runs in a call of all kernels of an equation: where they are fewer than the trips of the loops
    around it, XLA unrolled these, and a run of a kernel has several trips.

    >>> costs = [EquationCost(EquationPath("0/0"), 1.0, 10), EquationCost(EquationPath("1"), 10.0, 1)]
    >>> share_kernel(costs, {EquationPath("0/0"): 1.0, EquationPath("1"): 1.0})
    {'0/0': 0.5, '1': 0.5}
    """
    work = {cost.path: cost.picoseconds * max(1.0, cost.trips / (runs.get(cost.path) or 1.0)) for cost in costs}
    total = sum(work.values())
    return {path: part / total for path, part in work.items()}
