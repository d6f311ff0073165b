"""Titles of code: ``In[7]`` instead of the file name that the kernel generated for the cell."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from xlascope.records import Failure, Missed, Record, SourceRange, TimeAccount, TimePart, Traced


def make_title_lookup(shell: InteractiveShell) -> Callable[[str], str | None]:
    """Return a function from a file name to the title of this shell's cell (``In[7]``), or None for other files."""

    def title_of(file: str) -> str | None:
        code_name = shell.compile.format_code_name(file) if file in shell.compile._filename_map else None
        return code_name[1] if code_name else None

    return title_of


def with_cell_title(record: Record, shell: InteractiveShell) -> Record:
    """Return the record with cell titles instead of file names in its failure source, call site or lines.

    Other source ranges get their titles from the records' source texts.
    """
    match record:
        case Failure(source=SourceRange() as source_range):
            return dataclasses.replace(record, source=_with_title(source_range, shell))
        case Traced(call_site=SourceRange() as source_range) | Missed(call_site=SourceRange() as source_range):
            return dataclasses.replace(record, call_site=_with_title(source_range, shell))
        case TimeAccount():
            return dataclasses.replace(record, parts=tuple(_with_titled_line(part, shell) for part in record.parts))
    return record


def _with_titled_line(part: TimePart, shell: InteractiveShell) -> TimePart:
    return part if part.source is None else dataclasses.replace(part, source=_with_title(part.source, shell))


def _with_title(source_range: SourceRange, shell: InteractiveShell) -> SourceRange:
    title = make_title_lookup(shell)(source_range.file)
    return source_range if title is None else dataclasses.replace(source_range, file=title)


def cell_number(shell: InteractiveShell) -> int:
    """Return the number of the running cell (``shell.execution_count`` may already be the next one's)."""
    return max(shell.compile._filename_map.values(), default=shell.execution_count)
