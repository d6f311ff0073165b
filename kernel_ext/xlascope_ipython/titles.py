"""What people call a piece of code: ``In[7]`` rather than the file name that the kernel made up for the cell."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from xlascope.records import Failure


def titles_of(shell: InteractiveShell) -> Callable[[str], str | None]:
    """A function that gives the titles of this shell's cells by their file names, None for other files."""

    def title_of(file: str) -> str | None:
        found = shell.compile.format_code_name(file) if file in shell.compile._filename_map else None
        return found[1] if found else None

    return title_of


def titled(failure: Failure, shell: InteractiveShell) -> Failure:
    """The failure with its cell called by its number: a failed trace ships no source text that could say it."""
    title = titles_of(shell)(failure.source.file) if failure.source else None
    if title is None or failure.source is None:
        return failure
    return dataclasses.replace(failure, source=dataclasses.replace(failure.source, file=title))


def cell_number(shell: InteractiveShell) -> int:
    """The number of the cell that runs now (``shell.execution_count`` may be the next one's already)."""
    return max(shell.compile._filename_map.values(), default=shell.execution_count)
