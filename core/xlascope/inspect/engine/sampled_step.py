"""One sample of a watched step: a twin of its program with sums of the watched values, compiled once."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ...analysis.values.watched import WatchedStep, WatchedValue, choose_watched
from ...ir.effects import calls_python
from ...records import EquationPath, Traced
from ..inspection_scope import inspection
from .traced_calls import InspectedCall, rebuild_traced
from .value_probes import Sums
from .value_runs import twin_executable
from .value_twin import Twin, twin_of


class Sample(NamedTuple):
    """Numbers of one call: of each watched value its norm, its share of zeros, or the loss itself.

    ``seconds`` are those of the clock, ``processor_seconds`` of the process.
    """

    numbers: tuple[float, ...]
    seconds: float
    processor_seconds: float

    @property
    def is_bad(self) -> bool:
        """Return whether one of the numbers is NaN or infinite."""
        return not all(np.isfinite(self.numbers))


class SampledStep:
    """Twin of one program of a step: compiled when it is made, and run by :meth:`sample`.

    ``reason`` says why it cannot be run, ``""`` if it can. ``compile_seconds`` include tracing the twin.
    """

    def __init__(self, call: InspectedCall) -> None:
        began = time.perf_counter()
        with inspection():
            self.record: Traced = rebuild_traced(call.traced)
            self.watched: WatchedStep = choose_watched(self.record.jaxpr)
            self.values: tuple[WatchedValue, ...] = self.watched.values
            self.reason = _why_not(call, self.values)
            if not self.reason:
                paths = frozenset(value.path for value in self.values)
                self._twin: Twin = twin_of(call.traced.program, Sums(), paths)
                self._executable = twin_executable(call, self._twin)
                self._rows = _rows_by_value(self._twin)
                self._run(call)
        self.compile_seconds = time.perf_counter() - began

    def sample(self, call: InspectedCall) -> Sample:
        """Run the twin on the arguments of a call, which stay, and wait for its numbers.

        The seconds begin when the arguments are there: the loop has to wait for them as well, and earlier calls that
        run meanwhile take processor time.
        """
        for leaf in call.arguments.operands:
            if hasattr(leaf, "block_until_ready"):
                leaf.block_until_ready()
        began, processor = time.perf_counter(), time.process_time()
        with inspection():
            table = self._run(call)
        numbers = tuple(_number_of(value, table[self._rows[value.path, value.output]]) for value in self.values)
        return Sample(numbers, time.perf_counter() - began, time.process_time() - processor)

    def _run(self, call: InspectedCall) -> Any:
        operands = call.put_operands(self._executable)
        results = self._executable(operands, call.avals)
        return np.asarray(results[len(call.traced.program.jaxpr.outvars)])


def _why_not(call: InspectedCall, values: tuple[WatchedValue, ...]) -> str:
    if calls_python(call.traced.program.effects):
        return "it calls Python, which would run again for each sample: only its loss is watched"
    return "" if values else "it has no gradients, and no relu: only its loss is watched"


def _rows_by_value(twin: Twin) -> dict[tuple[EquationPath, int], list[int]]:
    rows: dict[tuple[EquationPath, int], list[int]] = {}
    for number, site in enumerate(twin.sites):
        rows.setdefault((site.path, site.number), []).append(number)
    return rows


def _number_of(value: WatchedValue, rows: Any) -> float:
    """Return the number of a value from its rows of sums, one for each device."""
    elements, zeros, total, squares = rows.sum(0)
    if value.kind == "loss":
        return float(total) / len(rows)
    if value.kind == "gradient":
        return float(np.sqrt(squares))
    return float(zeros / elements) if elements else 0.0
