"""What twins of programs measure of values, as plain numbers, and the records that are made of it.

Engines have probes of their own; the numbers that these return are defined here, so that their reports are alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..records.paths import EquationPath
from ..records.values import Health, Position, ProbedValue, ValueStatistics
from .program import QuestionError

#: The paths of the equations to probe, relative to a program; None for all.
Selection = frozenset[EquationPath] | None

#: Bit of a code that says that the value was computed; the others are the bits of the largest magnitude in float32.
RAN = np.uint32(1 << 31)
#: Magnitude bits of infinity, and the mask of magnitude bits.
INFINITY_BITS, MAGNITUDE_MASK = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)
#: Iteration of an event that never happened.
NEVER = np.int32(np.iinfo(np.int32).max)
#: The kinds of events whose first iteration is found: the first NaN, and the first NaN or infinity.
EVENT_KINDS = ("nan", "inf")
#: The exponents that a histogram tells apart: 2**-127 (and less) to 2**127 (and more).
MIN_EXPONENT, MAX_EXPONENT = -127, 127
BINS = MAX_EXPONENT - MIN_EXPONENT + 1
#: The number of elements from which a histogram is of every so many of them: an odd number, which meets all columns of
#: a matrix.
MAX_HISTOGRAM_ELEMENTS, HISTOGRAM_STRIDE = 1 << 12, 7
#: The same for a value in a loop, of whose every iteration a histogram is taken.
MAX_LOOP_HISTOGRAM_ELEMENTS = 1 << 6
#: First columns of a row of sums: numbers of elements; then the sum and the sum of squares.
COUNTS = ("elements", "zeros", "subnormals", "nans", "infs", "negatives")
SUM_COLUMNS = len(COUNTS) + 2

#: The largest number of elements of values that are measured together with others, as rows of a table: measuring them
#: one by one costs more for starting kernels. The largest number of such rows, and of bytes of values that wait.
MAX_SMALL_ELEMENTS, MAX_TABLE_ROWS, MAX_WAITING_BYTES = 1 << 10, 256, 1 << 22

#: Operations whose results are bad exactly where an operand is: nothing is born in them, so they are not probed.
TRANSPARENT_OPERATIONS = frozenset(
    {"reshape", "transpose", "broadcast_in_dim", "squeeze", "rev", "neg", "copy", "stop_gradient", "name"}
    | {"optimization_barrier", "sharding_constraint", "abs"}
)

#: Maximum bytes of results that are compared with those of the program itself.
MAX_COMPARED_BYTES = 1 << 26
#: Number of runs whose shortest time counts; no run starts after this many seconds of them.
MAX_RUNS, MAX_REPEATED_SECONDS = 3, 1.0

#: The iteration that stands for the last one.
LAST_INDEX = -1
#: The number of iterations of a loop whose length is not known before it runs.
UNKNOWN_LENGTH = -1

#: Notes about effects of a program that is run for its values.
IO_NOTE = "the program calls Python for input or output (io_callback), which ran once more for each answer here"
PYTHON_NOTE = "the program prints or calls Python: that was left out here, and the program itself was not run again"


class Site(NamedTuple):
    """Value that a twin probes.

    ``path`` is the equation, ``""`` for the program; ``position`` and ``number`` are its place there. ``depth`` is
    the number of loops around it, ``devices`` are the indices on the devices of the ``shard_map`` around it, outermost
    first.
    """

    path: EquationPath
    position: Position
    number: int
    depth: int = 0
    devices: tuple[int, ...] = ()


def join_paths(path: EquationPath, body: int, inner: EquationPath) -> EquationPath:
    """Return the path of an equation in a body of the one at ``path``; ``inner`` is relative to the body."""
    return EquationPath(f"{path}/{body}.{inner}" if body else f"{path}/{inner}")


def selection_within(selection: Selection, path: EquationPath, body: int) -> Selection:
    """Return a selection relative to a body of the equation at ``path``."""
    if selection is None:
        return None
    depth = len(path.steps)
    inside = (other.steps[depth:] for other in selection if other != path and other.within(path))
    return frozenset(_to_path(steps) for steps in inside if steps[0].body == body)


def _to_path(steps: Sequence[Any]) -> EquationPath:
    path = EquationPath("")
    for position, step in enumerate(steps):
        path = path.child(step.number, step.body if position else 0)
    return path


# Records --------------------------------------------------------------------------------------------------------------


def describe_ranges(sites: Sequence[Site], depth: int, state: Sequence[Any]) -> list[ProbedValue]:
    """Return the values of a first pass in program order, without names and types.

    ``state`` is (codes, uint32[n]; in loops the iterations of the first NaN, and of the first NaN or infinity, int32[n,
    2, depth]), with a row for each of the ``sites``; ``depth`` is the largest number of nested loops.
    """
    if not sites:
        return []
    codes = np.asarray(state[0])
    iterations = np.asarray(state[1]) if depth else np.zeros((len(codes), len(EVENT_KINDS), 0), np.int32)
    values = [_describe_code(*row) for row in zip(sites, codes, iterations, strict=True)]
    return _in_order(_join_devices(values))


def describe_statistics(sites: Sequence[Site], state: Sequence[Any]) -> list[ProbedValue]:
    """Return the values of a pass with full statistics in program order, without names and types.

    ``state`` is (sums, float64[n, 8]; histograms, uint32[n, bins]; minima and maxima, float64[n]; more is ignored).
    """
    rows = [np.asarray(array) for array in state[:4]] if sites else [np.zeros((0, 0))] * 4
    groups: dict[Site, list[tuple[Any, ...]]] = {}
    for site, *row in zip(sites, *rows, strict=True):
        groups.setdefault(site._replace(devices=()), []).append(tuple(row))
    return _in_order(_describe_rows(site, rows) for site, rows in groups.items())


def _in_order(values: Iterable[ProbedValue]) -> list[ProbedValue]:
    """Return values in the order of the program: arguments first, outputs last."""
    return sorted(values, key=lambda value: (value.position == "output", value.path))


def _describe_code(site: Site, code: Any, iterations: Any) -> tuple[Site, ProbedValue]:
    bits = np.uint32(code) & MAGNITUDE_MASK
    first = [tuple(map(int, row[: site.depth])) for row in iterations]
    is_nan, is_bad = bits > INFINITY_BITS, bits >= INFINITY_BITS
    ran = bool(np.uint32(code) & RAN)
    return site, ProbedValue(
        path=site.path,
        position=site.position,
        index=site.number,
        name="",
        shape=(),
        dtype="",
        health="nan" if is_nan else "inf" if is_bad else "finite" if ran else "not run",
        largest=None if is_bad or not ran else float(bits.view(np.float32)),
        first_nan=first[0] if is_nan and NEVER not in first[0] else None,
        first_inf=first[1] if is_bad and NEVER not in first[1] else None,
    )


_ORDER = {"nan": 3, "inf": 2, "finite": 1, "not run": 0}


def _join_devices(described: Sequence[tuple[Site, ProbedValue]]) -> list[ProbedValue]:
    """Return one value for the same site on all devices of a ``shard_map``: the worst, and the earliest events."""
    groups: dict[Site, list[ProbedValue]] = {}
    for site, value in described:
        groups.setdefault(site._replace(devices=()), []).append(value)
    joined = []
    for values in groups.values():
        worst = max(values, key=lambda value: (_ORDER[value.health], value.largest or 0.0))
        if len(values) > 1:
            worst = replace(
                worst,
                first_nan=min((v.first_nan for v in values if v.first_nan is not None), default=None),
                first_inf=min((v.first_inf for v in values if v.first_inf is not None), default=None),
                devices=tuple(value.health for value in values),
            )
        joined.append(worst)
    return joined


def _describe_rows(site: Site, rows: Sequence[tuple[Any, ...]]) -> ProbedValue:
    """Return the statistics of one site, of all devices together."""
    sums, histogram = (np.sum([row[index] for row in rows], axis=0) for index in (0, 1))
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)
    counts = dict(zip(COUNTS, map(int, sums), strict=False))
    total, squares = sums[len(COUNTS) :]
    finite = counts["elements"] - counts["nans"] - counts["infs"]
    statistics = ValueStatistics(
        **counts,
        minimum=float(low) if finite else None,
        maximum=float(high) if finite else None,
        mean=float(total / finite) if finite else None,
        root_mean_square=float(np.sqrt(squares / finite)) if finite else None,
        exponents=tuple((MIN_EXPONENT + int(i), int(histogram[i])) for i in np.flatnonzero(histogram)),
    )
    health: Health = (
        "nan" if counts["nans"] else "inf" if counts["infs"] else "finite" if counts["elements"] else "not run"
    )
    largest = max(abs(low), abs(high)) if health == "finite" and finite else None
    return ProbedValue(
        site.path,
        site.position,
        site.number,
        "",
        (),
        "",
        health,
        largest,
        statistics=statistics,
    )


# Runs -----------------------------------------------------------------------------------------------------------------


def compare_outputs(expected: Sequence[Any], outputs: Sequence[Any]) -> tuple[int, float | None, str]:
    """Compare results; return the number of equal ones, the largest relative difference of the others, and a note.

    Random keys are not compared.
    """
    pairs = [(x, y) for x, y in zip(expected, outputs, strict=True) if isinstance(x.dtype, np.dtype)]
    if sum(x.nbytes for x, _ in pairs) > MAX_COMPARED_BYTES:
        return 0, None, f"results of more than {MAX_COMPARED_BYTES >> 20} MiB are not compared with the program's own"
    equal, difference = 0, 0.0
    for x, y in pairs:
        first, second = np.asarray(x), np.asarray(y)
        if first.tobytes() == second.tobytes():
            equal += 1
        elif first.dtype.kind not in "biu":
            difference = max(difference, _relative_difference(first, second))
        else:
            difference = float("inf")
    return equal, difference if pairs else None, ""


def _relative_difference(first: Any, second: Any) -> float:
    """Return the largest difference of finite elements, relative to the largest magnitude; inf if others differ."""
    kind = np.complex128 if first.dtype.kind == "c" else np.float64
    first, second = first.astype(kind), second.astype(kind)
    finite = np.isfinite(first)
    if not np.array_equal(finite, np.isfinite(second)):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(first[finite]).max())
    return float(np.abs(first[finite] - second[finite]).max()) / scale if scale else float(np.abs(second).max() > 0)


def time_runs(run: Callable[[], list[Any]], most: int) -> tuple[float, list[Any]]:
    """Run once, or if that is short up to ``most`` times; return the shortest seconds and the last results."""
    best, total, results = float("inf"), 0.0, list[Any]()
    for _ in range(most):
        results.clear()  # before the next ones need memory
        began = time.perf_counter()
        results = list(run())
        for result in results:
            result.block_until_ready()
        seconds = time.perf_counter() - began
        best, total = min(best, seconds), total + seconds
        if total > MAX_REPEATED_SECONDS:
            break
    return best, results


# One value -----------------------------------------------------------------------------------------------------------


def choose_iterations(iterations: Sequence[int], loops: Sequence[int]) -> tuple[int, ...]:
    """Return the iterations in which a value is computed again, within loops of these lengths; ``()`` for the last.

    >>> choose_iterations((7, -2), (5, 4)), choose_iterations((-1,), (5,)), choose_iterations((), (5,))
    ((4, 2), (), ())
    """
    chosen = tuple(_fit(number, length) for number, length in zip(iterations, loops, strict=False))
    is_last = len(chosen) < len(loops) or all(number == LAST_INDEX for number in iterations)
    return () if is_last else chosen


def _fit(number: int, length: int) -> int:
    """Return an iteration within the length of its loop; negative ones count from the end where that is known."""
    if length == UNKNOWN_LENGTH:
        return max(0, number)
    return min(number % length if -length <= number < 0 else max(number, 0), max(0, length - 1))


def check_captured_size(size: int, max_bytes: int) -> None:
    """Raise QuestionError if a value of ``size`` bytes is too large to be computed again."""
    if size > max_bytes:
        raise QuestionError(
            f"this value has {size / 1e6:,.0f} MB, and values that are computed again may take {max_bytes / 1e6:,.0f} "
            "MB (5 % of the free memory): return a slice of it, and look at that"
        )


def describe_missing(loops: Sequence[int], chosen: Sequence[int]) -> str:
    """Return why a value was not computed, in loops of these lengths and in the chosen iterations."""
    if loops and chosen:
        numbers = ", ".join(map(str, chosen))
        return f"this value was not computed in iteration {numbers}: the loop is shorter, or a branch did not run"
    return "this value was not computed in this call: it is in a branch or a loop that did not run"
