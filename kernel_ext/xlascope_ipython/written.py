"""A cell as its author wrote it: IPython runs Python, with its magics and shell commands made into calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

_CALL = re.compile(r"get_ipython\(\)\.(run_line_magic|system|getoutput)\((.*)\)")
_OURS = "get_ipython()."


def written_in(shell: InteractiveShell) -> Callable[[str, str], str | None]:
    """A function that gives the text of a cell of this shell as it was written, None for every other file."""

    def as_written(file: str, text: str) -> str | None:
        number = shell.compile._filename_map.get(file)
        if number is None or _OURS not in text or shell.history_manager is None:
            return None
        cells = shell.history_manager.input_hist_raw
        return restored(text, cells[number] if number < len(cells) else "")

    return as_written


def restored(run: str, cell: str) -> str:
    r"""What was run, with the lines of the cell in place of what they were made into.

    Where the lines of both do not fit, calls are written as magics again.

    >>> restored("y = 1\nget_ipython().run_line_magic('timeit', 'f(y)')\n", "y = 1\n%timeit   f(y)")
    'y = 1\n%timeit   f(y)\n'
    >>> restored("files = get_ipython().getoutput('ls')", "")
    'files = !ls'
    """
    if run.startswith(f"{_OURS}run_cell_magic("):
        return cell or run
    lines = run.split("\n")
    theirs = cell.split("\n")
    for start in range(len(theirs)):  # empty lines and a magic of the whole cell may stand before what was run
        part = theirs[start:]
        part += [""] * (len(lines) - len(part))
        if all(_OURS in line or line == own for line, own in zip(lines, part, strict=False)) and cell:
            return "\n".join(own if _OURS in line else line for line, own in zip(lines, part, strict=False))
    return "\n".join(_CALL.sub(_magic, line) for line in lines)


def _magic(call: re.Match[str]) -> str:
    """The magic that a call was made of."""
    try:
        given = ast.literal_eval(f"({call[2]},)")
    except (SyntaxError, ValueError):
        return call[0]
    texts = [each for each in given if isinstance(each, str)]
    if call[1] != "run_line_magic":
        return f"!{texts[0]}" if texts else call[0]
    return f"%{' '.join(texts)}".rstrip()
