"""Porting of the files of a command line, with a report of what was done and what remains to be done."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator

from .cli import NAME
from .files import PortedFile, find_files, port_file, write_file
from .names import MissingName
from .spelling import DIRECTIONS, Direction

_MAX_LINES = 6
_LEFT_ALONE_REASON = (
    "brings jax itself and takes its arrays, so the file is left as it is: watch it with jax "
    "(python -m xlascope watch), or change its imports --anyway"
)
_ARRAYS_REASON = "brings jax itself: its functions take arrays of jax, not of xlascope"


def port(options: argparse.Namespace) -> int:
    """Port the files that the command line names, print what was done, and return the exit status."""
    direction = DIRECTIONS[options.to]
    only_show = options.check or options.diff
    files: list[PortedFile] = []
    for path in find_files(options.paths):
        ported = port_file(path, direction, anyway=options.anyway)
        if ported.would_change and not only_show:
            write_file(ported)
        files.append(ported)
        if options.diff:
            sys.stdout.writelines(_diff(ported))
        for line in _describe(ported, only_show=only_show):
            print(line, file=sys.stderr if options.diff else sys.stdout)
    print(_summarize(files, direction, only_show=only_show), file=sys.stderr if options.diff else sys.stdout)
    if any(ported.error for ported in files):
        return 2
    changed = options.check and any(ported.would_change for ported in files)
    return int(changed or any(ported.has_work_left for ported in files))


def _diff(ported: PortedFile) -> Iterator[str]:
    if not ported.would_change:
        return
    before, after = (text.splitlines(keepends=True) for text in (ported.text_before, ported.text_after))
    for line in difflib.unified_diff(before, after, fromfile=str(ported.path), tofile=str(ported.path)):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _describe(ported: PortedFile, *, only_show: bool) -> Iterator[str]:
    """Yield lines about what was done with a file, or would be done (``only_show``), and what remains to be done."""
    path = ported.path
    if ported.error:
        yield f"{path}: {ported.error}"
        return
    if ported.unparsed is not None:
        yield f"{ported.location(ported.unparsed.line)}: left as it is, it cannot be parsed: {ported.unparsed.reason}"
        return
    if ported.would_change:
        imports = "1 import" if ported.changes == 1 else f"{ported.changes} imports"
        yield f"{path}: {imports} {'to change' if only_show else 'changed'}"
    for library, lines in ported.libraries.items():
        yield f"{ported.location(lines[0])}: {library} {_LEFT_ALONE_REASON if ported.left_alone else _ARRAYS_REASON}"
    for missing in ported.missing:
        more_lines = _format_more_lines(ported, missing)
        yield f"{ported.location(missing.lines[0])}: {missing.name} {missing.reason}{more_lines}"


def _format_more_lines(ported: PortedFile, missing: MissingName) -> str:
    lines = [ported.describe_line(line) for line in missing.lines[1:]]
    if not lines:
        return ""
    suffix = f" and {len(lines) - _MAX_LINES} more" if len(lines) > _MAX_LINES else ""
    return f" (also {', '.join(lines[:_MAX_LINES])}{suffix})"


def _summarize(files: list[PortedFile], direction: Direction, *, only_show: bool) -> str:
    """Return a one-line summary of all files."""
    changed = sum(ported.would_change and not ported.error for ported in files)
    counts = [
        (changed, "would change" if only_show else "changed"),
        (sum(not (ported.would_change or ported.has_work_left) for ported in files), f"without {direction.source}"),
        (sum(ported.left_alone for ported in files), "left to jax"),
        (sum(ported.unparsed is not None for ported in files), "cannot be parsed"),
        (sum(bool(ported.error) for ported in files), "cannot be read or written"),
    ]
    missing = {missing.name for ported in files if not ported.left_alone for missing in ported.missing}
    summary = ", ".join(f"{count} {description}" for count, description in counts if count) or "nothing to change"
    names = f"; {len(missing)} {'name needs' if len(missing) == 1 else 'names need'} a look" if missing else ""
    return f"{NAME}: {len(files)} {'file' if len(files) == 1 else 'files'}: {summary}{names}"
