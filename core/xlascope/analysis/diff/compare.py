"""Comparison of two lists of records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...records.events import Compiled, Executed, Record, Traced
from ...records.store import VERSION, to_json, to_json_value
from . import text
from .changes import EquationChange, KernelChange, Number, Timing
from .equations import FlatProgram, compare_equations
from .kernels import compare_kernels

R = TypeVar("R", Traced, Compiled, Executed)


@dataclass(frozen=True)
class Diff:
    """Differences between two programs: ``before`` and ``after`` are their records, ``labels`` their names.

    ``equations`` holds every equation of both in their common order, ``kernels`` every kernel, ``numbers`` the
    costs of both; ``timing`` is set when both were measured interleaved. If that was asked for and did not happen,
    ``unmeasured`` says why.
    """

    before: tuple[Record, ...]
    after: tuple[Record, ...]
    labels: tuple[str, str]
    equations: tuple[EquationChange, ...]
    kernels: tuple[KernelChange, ...]
    numbers: tuple[Number, ...]
    timing: Timing | None = None
    unmeasured: str = ""

    def text(self) -> str:
        """Return the differences as text: for terminals, pull requests and screen readers."""
        traced = [_first(Traced, item) for item in (self.before, self.after)]
        programs = [FlatProgram(item) for item in traced if item is not None]
        parts = [
            text.format_heading(self.labels),
            *text.equation_lines(self.equations, *programs),
            *text.kernel_lines(self.kernels),
            *text.number_lines(self.numbers, self.labels),
            *text.timing_lines(self.timing, self.labels),
            *([f"not measured: {self.unmeasured}"] if self.unmeasured else []),
        ]
        return "\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Return both lists of records and their alignment as a JSON-compatible dict."""
        result: dict[str, Any] = {"xlascope_diff": VERSION, "labels": list(self.labels)}
        for side in ("before", "after"):
            result[side] = [to_json(record) for record in getattr(self, side)]
        for part in ("equations", "kernels", "numbers", "timing", "unmeasured"):
            result[part] = to_json_value(getattr(self, part))
        return result


def compare(
    before: Sequence[Record],
    after: Sequence[Record],
    *,
    labels: tuple[str, str] = ("before", "after"),
    timing: Timing | None = None,
    unmeasured: str = "",
) -> Diff:
    """Return the differences between the programs of two lists of records: the first traced program of each.

    Equations are matched by the text of their source line, then by what they do, in order. Kernels are compared
    when both programs were compiled. ``timing`` is a result of :func:`~xlascope.analysis.diff.compare_timings`,
    ``unmeasured`` says why there is none. Raises ValueError when either holds no ``Traced`` record.
    """
    traced = [_first(Traced, item) for item in (before, after)]
    for label, program in zip(labels, traced, strict=True):
        if program is None:
            raise ValueError(f"nothing to compare: the records of {label} hold no program that was traced")
    old, new = (FlatProgram(item) for item in traced if item is not None)
    equations = compare_equations(old, new)
    compiled = _first(Compiled, before), _first(Compiled, after)
    kernels = compare_kernels(compiled[0], compiled[1], equations) if compiled[0] and compiled[1] else ()
    numbers = tuple(_iter_numbers(before, after))
    return Diff(tuple(before), tuple(after), labels, equations, kernels, numbers, timing, unmeasured)


def _first(kind: type[R], records: Iterable[Record]) -> R | None:
    return next((record for record in records if isinstance(record, kind)), None)


#: Source of a time per call, by clock.
_CLOCK_SOURCES = {"host": "host clock", "profile": "profiler", "": "measured"}
_Figures = dict[str, tuple[float, str, str]]


def _iter_numbers(before: Sequence[Record], after: Sequence[Record]) -> Iterable[Number]:
    """Yield every number in the records of either program, paired by name.

    A value is None for the program that lacks the number.
    """
    old, new = _collect_figures(before), _collect_figures(after)
    for name in dict.fromkeys([*old, *new]):
        _, unit, source = old.get(name) or new[name]
        values = [figures[name][0] if name in figures else None for figures in (old, new)]
        yield Number(name, values[0], values[1], unit, source)  # type: ignore[arg-type]


def _collect_figures(records: Sequence[Record]) -> _Figures:
    """Return the numbers in a program's records by name, each as (value, unit, source)."""
    figures: _Figures = {}
    if (traced := _first(Traced, records)) is not None:
        figures |= _figures_of_traced(traced)
    if (compiled := _first(Compiled, records)) is not None:
        figures |= _figures_of_compiled(compiled)
    if (run := _first(Executed, records)) is not None and run.step:
        figures["time per call"] = run.step, "s", _CLOCK_SOURCES[run.clock]
    if traced is not None and traced.seconds:
        figures["tracing"] = traced.seconds, "s", "measured once"
    if compiled is not None:
        figures["compiling"] = compiled.seconds, "s", "from the cache" if compiled.cache == "hit" else "measured once"
    return figures


def _figures_of_traced(traced: Traced) -> _Figures:
    """Return the number of equations and their work, as far as the trace has them; see :func:`_collect_figures`."""
    equations = sum(1 for _ in traced.jaxpr.walk())
    if not equations and not traced.text:
        return {}
    figures: _Figures = {"equations": (float(equations), "", "counted")}
    if not traced.jaxpr.by_names:
        figures["work"] = float(sum(equation.flops for equation in traced.jaxpr.equations)), "FLOP", "roofline estimate"
    return figures


def _figures_of_compiled(compiled: Compiled) -> _Figures:
    """Return the counts of kernels, bytes and memory of a compilation; see :func:`_collect_figures`."""
    kernels = compiled.kernels
    figures: _Figures = {
        "kernels": (float(len(kernels)), "", "XLA's program"),
        "read by kernels": (float(sum(kernel.bytes_read for kernel in kernels)), "B", "roofline estimate, loops once"),
        "written by kernels": (
            float(sum(kernel.bytes_written for kernel in kernels)),
            "B",
            "roofline estimate, loops once",
        ),
        "saved by fusing": (float(sum(kernel.bytes_saved for kernel in kernels)), "B", "roofline estimate, loops once"),
    }
    if compiled.flops is not None:
        figures["work after compiling"] = compiled.flops, "FLOP", "XLA's estimate"
    if compiled.bytes_accessed is not None:
        figures["memory traffic"] = compiled.bytes_accessed, "B", "XLA's estimate"
    if compiled.estimated_seconds is not None:
        figures["one run at least"] = compiled.estimated_seconds, "s", compiled.estimated_by
    if (memory := compiled.memory) is not None:
        figures["memory for temporaries"] = float(memory.temporaries), "B", "XLA's figure"
        figures["memory at peak"] = float(memory.peak), "B", "XLA's figure"
    return figures
