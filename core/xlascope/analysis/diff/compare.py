"""Two lists of records, compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...records.events import Compiled, Executed, Record, Traced
from ...records.store import VERSION, encoded, to_json
from . import text
from .changes import EquationChange, KernelChange, Number, Timing
from .equations import Flat, compare_equations
from .kernels import compare_kernels

R = TypeVar("R", Traced, Compiled, Executed)


@dataclass(frozen=True)
class Diff:
    """What differs between two programs: ``before`` and ``after`` are their records, ``labels`` what they are called.

    ``equations`` holds every equation of both in their common order, ``kernels`` every kernel, ``numbers`` what both
    cost; ``timing`` is there when both were measured in turn.
    """

    before: tuple[Record, ...]
    after: tuple[Record, ...]
    labels: tuple[str, str]
    equations: tuple[EquationChange, ...]
    kernels: tuple[KernelChange, ...]
    numbers: tuple[Number, ...]
    timing: Timing | None = None

    def text(self) -> str:
        """The differences as text: for terminals, pull requests and screen readers."""
        traced = [_first(Traced, each) for each in (self.before, self.after)]
        programs = [Flat(each) for each in traced if each is not None]
        parts = [
            text.heading(self.labels),
            *text.equation_lines(self.equations, *programs),
            *text.kernel_lines(self.kernels),
            *text.number_lines(self.numbers, self.labels),
            *text.timing_lines(self.timing, self.labels),
        ]
        return "\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Both lists of records and how they align, as a dict that JSON can hold."""
        found: dict[str, Any] = {"xlascope_diff": VERSION, "labels": list(self.labels)}
        for side in ("before", "after"):
            found[side] = [to_json(each) for each in getattr(self, side)]
        for part in ("equations", "kernels", "numbers", "timing"):
            found[part] = encoded(getattr(self, part))
        return found


def compare(
    before: Sequence[Record],
    after: Sequence[Record],
    *,
    labels: tuple[str, str] = ("before", "after"),
    timing: Timing | None = None,
) -> Diff:
    """What differs between the programs of two lists of records: the first that was traced of each.

    Equations belong together by the text of their source line, then by what they do, in order. Kernels are compared
    when both programs were compiled. ``timing`` is what :func:`timing` says of both. Raises ValueError
    when either holds no ``Traced`` record.
    """
    traced = [_first(Traced, each) for each in (before, after)]
    for label, found in zip(labels, traced, strict=True):
        if found is None:
            raise ValueError(f"nothing to compare: the records of {label} hold no program that was traced")
    old, new = (Flat(each) for each in traced if each is not None)
    equations = compare_equations(old, new)
    compiled = _first(Compiled, before), _first(Compiled, after)
    kernels = compare_kernels(compiled[0], compiled[1], equations) if compiled[0] and compiled[1] else ()
    numbers = tuple(_numbers(before, after))
    return Diff(tuple(before), tuple(after), labels, equations, kernels, numbers, timing)


def _first(kind: type[R], found: Iterable[Record]) -> R | None:
    return next((each for each in found if isinstance(each, kind)), None)


#: Whose a time per call is.
_CLOCKS = {"host": "host clock", "profile": "profiler", "": "measured"}
_Known = dict[str, tuple[float, str, str]]


def _numbers(before: Sequence[Record], after: Sequence[Record]) -> Iterable[Number]:
    """Every number that either program has."""
    old, new = _known(before), _known(after)
    for name in dict.fromkeys([*old, *new]):
        _, unit, source = old.get(name) or new[name]
        values = [found[name][0] if name in found else None for found in (old, new)]
        yield Number(name, values[0], values[1], unit, source)  # type: ignore[arg-type]


def _known(found: Sequence[Record]) -> _Known:
    known: _Known = {}
    if (traced := _first(Traced, found)) is not None:
        known |= _of_traced(traced)
    if (compiled := _first(Compiled, found)) is not None:
        known |= _of_compiled(compiled)
    if (run := _first(Executed, found)) is not None and run.step:
        known["time per call"] = run.step, "s", _CLOCKS[run.clock]
    if traced is not None and traced.seconds:
        known["tracing"] = traced.seconds, "s", "measured once"
    if compiled is not None:
        known["compiling"] = compiled.seconds, "s", "from the cache" if compiled.cache == "hit" else "measured once"
    return known


def _of_traced(traced: Traced) -> _Known:
    """How many equations, and their work; nobody knows either of what only names tell, or not even names."""
    equations = sum(1 for _ in traced.jaxpr.walk())
    if not equations and not traced.text:
        return {}
    known: _Known = {"equations": (float(equations), "", "our count")}
    if not traced.jaxpr.by_names:
        known["work"] = float(sum(each.flops for each in traced.jaxpr.equations)), "FLOP", "our count"
    return known


def _of_compiled(compiled: Compiled) -> _Known:
    kernels = compiled.kernels
    known: _Known = {
        "kernels": (float(len(kernels)), "", "XLA's program"),
        "read by kernels": (float(sum(each.bytes_read for each in kernels)), "B", "our count, loops once"),
        "written by kernels": (float(sum(each.bytes_written for each in kernels)), "B", "our count, loops once"),
        "saved by fusing": (float(sum(each.bytes_saved for each in kernels)), "B", "our count, loops once"),
    }
    if compiled.flops is not None:
        known["work after compiling"] = compiled.flops, "FLOP", "XLA's estimate"
    if compiled.bytes_accessed is not None:
        known["memory traffic"] = compiled.bytes_accessed, "B", "XLA's estimate"
    if compiled.estimated_seconds is not None:
        known["one run at least"] = compiled.estimated_seconds, "s", compiled.estimated_by
    if (memory := compiled.memory) is not None:
        known["memory for temporaries"] = float(memory.temporaries), "B", "XLA's figure"
        known["memory at peak"] = float(memory.peak), "B", "XLA's figure"
    return known
