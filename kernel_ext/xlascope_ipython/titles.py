"""What people call a piece of code: ``In[7]`` rather than the file name that the kernel made up for the cell."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from xlascope.records import Failure, Missed, Record, SourceRange, Traced


def titles_of(shell: InteractiveShell) -> Callable[[str], str | None]:
    """A function that gives the titles of this shell's cells by their file names, None for other files."""

    def title_of(file: str) -> str | None:
        found = shell.compile.format_code_name(file) if file in shell.compile._filename_map else None
        return found[1] if found else None

    return title_of


def titled(record: Record, shell: InteractiveShell) -> Record:
    """The record with its cell called by its number, where no source text says it: of a failure, and of the call that
    caused a trace.
    """
    match record:
        case Failure(source=SourceRange() as place):
            return dataclasses.replace(record, source=_named(place, shell))
        case Traced(call_site=SourceRange() as place) | Missed(call_site=SourceRange() as place):
            return dataclasses.replace(record, call_site=_named(place, shell))
    return record


def _named(place: SourceRange, shell: InteractiveShell) -> SourceRange:
    title = titles_of(shell)(place.file)
    return place if title is None else dataclasses.replace(place, file=title)


def cell_number(shell: InteractiveShell) -> int:
    """The number of the cell that runs now (``shell.execution_count`` may be the next one's already)."""
    return max(shell.compile._filename_map.values(), default=shell.execution_count)
