"""``doctor --read FILE [FILE]``: show a report, draw its records and profiles as pages, and compare two reports.

A report is untrusted: its texts are printed without terminal control characters, and nothing in it is executed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .archive import ArchiveError, Report, read_archive
from .pages import write_pages
from .report_changes import describe_changes
from .summary import MAX_COLUMNS, failure_lines, print_safely, summarize


def main(files: Sequence[Path], folder: Path | None) -> int:
    """Print one report, or two and their changes, draw their pages, and return the exit status.

    The pages are written to ``folder`` (None: beside the files).
    """
    if len(files) > 2:
        print("doctor --read takes one file, or two to compare", file=sys.stderr)
        return 2
    try:
        reports = [read_archive(file) for file in files]
        texts = [_format_report(report) for report in reports]
        changes = describe_changes(*(report.results for report in reports)) if len(reports) == 2 else []
    except ArchiveError as error:
        print_safely(f"python -m xlascope doctor: {error}", sys.stderr)
        return 1
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        print_safely(f"python -m xlascope doctor: the results are damaged ({type(error).__name__})", sys.stderr)
        return 1
    for file, text in zip(files, texts, strict=True):
        print_safely(f"{file}\n{text}")
    for line in changes:
        print_safely(line)
    for file, report in zip(files, reports, strict=True):
        where = file.with_name(f"{file.stem}_pages") if folder is None else folder / file.stem
        for line in write_pages(report, where):
            print_safely(line)
    return 0


def _format_report(report: Report) -> str:
    """Return the summary, recomputed from the results, with all failures and the remarks of all checks."""
    parts = report.results["parts"]
    lines = [summarize(report.results).rstrip()]
    failures = failure_lines(parts)
    if not all(failure[:MAX_COLUMNS] in lines[0] for failure in failures):
        lines += ["", "All failures:", *failures]
    lines.append("")
    for part in parts:
        shown = [item for item in part["items"] if item.get("words") and not item.get("tried")]
        lines += [f"{part['name']}: {item['name']}: {item['result']}: {item['words']}" for item in shown]
    left_out = report.results.get("left_out") or []
    lines += [f"left out for lack of room: {', '.join(map(str, left_out))}"] if left_out else []
    return "\n".join(lines) + "\n"
