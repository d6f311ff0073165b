"""Text of a report about values."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence

from ...records import ProbedValue, SourceRange, Traced, ValueReport, ValueStatistics
from ...records.programs import Variable
from ..formatting import percent, plural, seconds
from .depth import list_layers
from .health import VALUE_RULES
from .sparklines import sparkline

#: Maximum number of values in the table.
MAX_ROWS = 40
#: The least number of layers whose sizes are listed by depth.
MIN_DEPTH = 4


def report_text(report: ValueReport, traced: Traced, *, table: bool = True) -> str:
    """Return the report as text: results, births with their operands, findings, sizes by depth, values, and the cost.

    Without ``table`` the table of values is left out.
    """
    return "\n".join(_lines(report, traced, table))


def _lines(report: ValueReport, traced: Traced, table: bool) -> Iterator[str]:
    yield f"{report.function}: {_summary(report)}"
    for birth in report.births:
        title = _birth_title(birth.kind, birth.is_argument, birth.reaches_results)
        yield f"{title}: {birth.sentence} ({_place(birth.source, birth.path, birth.iterations, traced)})"
        yield from (f"  {_describe_operand(operand)}" for operand in birth.operands)
    for number, finding in enumerate(report.findings, 1):
        location = _location(finding.source, traced)
        yield f"{number}. {finding.rule}: {finding.sentence}{f' ({location})' if location else ''}"
        yield f"   do: {finding.action}"
    if not report.findings:
        yield f"no finding, by {len(VALUE_RULES)} rules about values"
    yield from _depth(report, traced)
    if table:
        yield from _table(report, traced)
    yield _cost(report)
    yield from (f"note: {note}" for note in report.notes)


def _summary(report: ValueReport) -> str:
    bad = [health for health in report.results if health in ("nan", "inf")]
    probed = plural(sum(value.position == "result" for value in report.values), "value")
    if not bad:
        return f"all results are finite ({probed} looked at)"
    what = " and ".join(word for word, kind in (("NaN", "nan"), ("infinity", "inf")) if kind in bad)
    total = plural(len(report.results), "result")
    return f"{len(bad)} of {total} {'holds' if len(bad) == 1 else 'hold'} {what} ({probed} looked at)"


def _birth_title(kind: str, is_argument: bool, reaches: bool) -> str:
    word = "NaN" if kind == "nan" else "infinity"
    if is_argument:
        return f"{word} given"
    return f"{word} born" if reaches else f"{word} born, and masked before the results"


def _place(source: SourceRange | None, path: str, iterations: Sequence[int], traced: Traced) -> str:
    parts = [_location(source, traced), f"equation {path}" if path else ""]
    parts += [f"iteration {', '.join(map(str, iterations))}"] if iterations else []
    return ", ".join(filter(None, parts)) or "an argument"


def _location(source: SourceRange | None, traced: Traced) -> str:
    if source is None:
        return ""
    titles = {text.file: text.title for text in traced.sources}
    return f"{titles.get(source.file) or os.path.basename(source.file)}:{source.line}"


def _describe_operand(value: ProbedValue) -> str:
    name = value.label or value.name
    kind = Variable(value.name, value.shape, value.dtype, False).type_text
    return f"operand {value.index}, {name}: {kind}{_statistics_text(value.statistics)}"


def _statistics_text(stats: ValueStatistics | None) -> str:
    if stats is None or not stats.elements:
        return ""
    parts = []
    if stats.minimum is not None and stats.maximum is not None:
        parts.append(f"{stats.minimum:.4g} to {stats.maximum:.4g}")
    if stats.root_mean_square is not None and stats.elements > 1:
        parts.append(f"mean {stats.mean:.3g}, root mean square {stats.root_mean_square:.3g}")
    counts = ((plural(stats.zeros, "zero"), stats.zeros), (plural(stats.subnormals, "subnormal"), stats.subnormals))
    parts += [words for words, count in counts if count]
    parts += [f"{count:,} {name}" for name, count in (("NaN", stats.nans), ("infinite", stats.infs)) if count]
    return f", {', '.join(parts)}"


def _depth(report: ValueReport, traced: Traced) -> Iterator[str]:
    """Yield a bar for each layer, of the size of its activations and of its gradients; nothing for few layers."""
    layers = list_layers(traced.jaxpr, report.values)
    if len(layers) < MIN_DEPTH:
        return
    yield f"root mean square by layer, {len(layers)} layers, from the first to the last:"
    for name, sizes in (
        ("activations", [layer.activation for layer in layers if layer.activation is not None]),
        ("gradients", [layer.gradient for layer in layers if layer.gradient is not None]),
    ):
        if sizes:
            yield f"  {name:11}  {sparkline(sizes, spans_decade=True)}  {sizes[0]:.3g} to {sizes[-1]:.3g}"


def _table(report: ValueReport, traced: Traced) -> Iterator[str]:
    """Yield a table of the values with statistics, or the ranges of all; nothing where a birth says enough."""
    values = [value for value in report.values if value.position == "result"]
    if not values or report.births:
        return
    operations = {equation.path: equation.operation for equation in traced.jaxpr.walk()}
    rows = [("equation", "operation", "type", "largest", "root mean square", "zeros", "line")]
    for value in values[:MAX_ROWS]:
        stats = value.statistics
        kind = Variable(value.name, value.shape, value.dtype, False).type_text
        largest = value.health if value.largest is None else f"{value.largest:.3g}"
        size = "" if stats is None or stats.root_mean_square is None else f"{stats.root_mean_square:.3g}"
        zeros = percent(stats.zeros / stats.elements) if stats is not None and stats.elements else ""
        line = _location(value.source, traced)
        rows.append((str(value.path), operations.get(value.path, ""), kind, largest, size, zeros, line))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(values) > MAX_ROWS:
        yield f"and {plural(len(values) - MAX_ROWS, 'other value')}, in to_json()"


def _cost(report: ValueReport) -> str:
    parts = [f"ranges {_cost_of(report.first_seconds, report.call_seconds)}"]
    if report.full_seconds:
        parts.append(f"statistics {_cost_of(report.full_seconds, report.call_seconds)}")
    return f"cost: {', '.join(parts)}{_equality(report)}"


def _cost_of(value: float, call: float) -> str:
    return f"{seconds(value)} ({value / call:.1f} calls)" if call else seconds(value)


def _equality(report: ValueReport) -> str:
    if report.difference is None:
        return ""
    total = len(report.results)
    if report.equal_results >= total and not report.difference:
        return "; results equal the program's own to the bit"
    if not report.difference:
        return "; finite results equal the program's own"
    if math.isinf(report.difference):
        return "; NaN and infinity are in other elements than in the program's own results"
    return f"; results differ from the program's own by {report.difference:.2g} of the largest at most"
