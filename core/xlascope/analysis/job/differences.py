"""Differences between the processes of a job: programs, retraces on one of them alone, errors, ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...records.events import Traced
from ...records.job import JobDifference
from ...records.programs import SourceRange
from .process_records import ProcessRecords, make_digest

#: Differences of each kind in a report.
MAX_DIFFERENCES = 40
MAX_LINE_CHARS = 200


def find_differences(processes: Sequence[ProcessRecords]) -> tuple[JobDifference, ...]:
    """Return what is true of some processes alone: ends and errors first, then programs and retraces."""
    kinds = (_differing_ends(processes), _failures(processes), _differing_programs(processes), _retraces(processes))
    return tuple(difference for rows in kinds for _, difference in zip(range(MAX_DIFFERENCES), rows, strict=False))


def _differing_ends(processes: Sequence[ProcessRecords]) -> Iterator[JobDifference]:
    ends: dict[str, list[int]] = defaultdict(list)
    for process in processes:
        if process.run is not None:
            ends[process.run.ended].append(process.number)
    if set(ends) != {"ended"}:
        for ended, numbers in sorted(ends.items(), key=lambda item: item[1]):
            if ended != "ended":
                text = f"ended by {ended}" if ended else "left no end: it runs still, or it was killed"
                yield JobDifference("end", processes[0].process.function, tuple(numbers), text)


def _failures(processes: Sequence[ProcessRecords]) -> Iterator[JobDifference]:
    errors: dict[tuple[str, str, str], list[tuple[int, SourceRange | None]]] = defaultdict(list)
    for process in processes:
        for failure in process.failures:
            errors[failure.function, failure.error, failure.message].append((process.number, failure.source))
    for (function, error, message), places in errors.items():
        numbers = tuple(sorted({number for number, _ in places}))
        text = f"raised {error}: {message.splitlines()[0][:MAX_LINE_CHARS] if message else ''}".rstrip(": ")
        yield JobDifference("failure", function, numbers, text, places[0][1])


def _functions_by_process(processes: Sequence[ProcessRecords]) -> dict[str, dict[int, list[Traced]]]:
    """Return the traces of functions, without operations outside of them, by function and process."""
    functions: dict[str, dict[int, list[Traced]]] = defaultdict(lambda: defaultdict(list))
    for process in processes:
        for traced in process.traced.values():
            if not traced.is_operation:
                functions[traced.function][process.number].append(traced)
    return functions


def _differing_programs(processes: Sequence[ProcessRecords]) -> Iterator[JobDifference]:
    """Yield for each function the programs that some processes alone have; traces without text are not compared."""
    everybody = {process.number for process in processes}
    for function, traces in _functions_by_process(processes).items():
        if any(not traced.text for listed in traces.values() for traced in listed):
            continue
        if set(traces) != everybody:
            first = next(iter(traces.values()))[0]
            yield JobDifference("alone", function, tuple(sorted(traces)), "ran only there", _line_of(first))
            continue
        if len({len(listed) for listed in traces.values()}) > 1:
            continue  # a retrace
        texts = {number: {make_digest(function, item.text): item for item in items} for number, items in traces.items()}
        common = set.intersection(*(set(by_digest) for by_digest in texts.values()))
        groups: dict[str, list[int]] = defaultdict(list)
        programs: dict[str, Traced] = {}
        for number, by_digest in texts.items():
            for digest in set(by_digest) - common:
                groups[digest].append(number)
                programs[digest] = by_digest[digest]
        for digest, numbers in groups.items():
            other = next(traces[number][0] for number in sorted(everybody) if number not in numbers)
            text = f"has a program of its own: {_first_difference(programs[digest].text, other.text)}"
            yield JobDifference("program", function, tuple(sorted(numbers)), text, _line_of(programs[digest]))


def _first_difference(text: str, other: str) -> str:
    r"""Return the first lines in which two programs differ.

    >>> _first_difference("{ a\n b = sin a }", "{ a\n b = cos a }")
    '`b = sin a }`, elsewhere `b = cos a }`'
    """
    lines, other_lines = text.splitlines(), other.splitlines()
    for i in range(max(len(lines), len(other_lines))):
        pair = [listed[i].strip() if i < len(listed) else "(its end)" for listed in (lines, other_lines)]
        if pair[0] != pair[1]:
            return f"`{pair[0][:MAX_LINE_CHARS]}`, elsewhere `{pair[1][:MAX_LINE_CHARS]}`"
    return "its text is equal, and objects that it holds are not"


def _retraces(processes: Sequence[ProcessRecords]) -> Iterator[JobDifference]:
    """Yield for each function the processes that traced it more often than the others."""
    for function, traces in _functions_by_process(processes).items():
        counts: Mapping[int, int] = {process.number: len(traces.get(process.number, ())) for process in processes}
        least = min(counts.values())
        most = [number for number, count in counts.items() if count > least]
        if most and least and max(counts.values()) > 1:
            newest = max((traces[number][-1] for number in most), key=lambda traced: traced.time)
            times = ", ".join(f"{counts[number]} times in process {number}" for number in sorted(most)[:4])
            text = f"was traced {times}, elsewhere {least}; the last time: {newest.reason[:MAX_LINE_CHARS]}"
            yield JobDifference("retrace", function, tuple(sorted(most)), text, newest.call_site)


def _line_of(traced: Traced) -> SourceRange | None:
    if traced.call_site is not None:
        return traced.call_site
    return next((equation.source for equation in traced.jaxpr.walk() if equation.source is not None), None)
