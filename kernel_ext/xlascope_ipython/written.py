"""The source of a cell as its author wrote it: IPython runs Python in which magics and shell commands are calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

_CALL = re.compile(r"get_ipython\(\)\.(run_line_magic|system|getoutput)\((.*)\)")
_OURS = "get_ipython()."


def written_in(shell: InteractiveShell) -> Callable[[str, str], str | None]:
    """Return a function from a file name to the original text of this shell's cell, or None for other files."""

    def original_source(file: str, text: str) -> str | None:
        number = shell.compile._filename_map.get(file)
        if number is None or _OURS not in text or shell.history_manager is None:
            return None
        cells = shell.history_manager.input_hist_raw
        return restored(text, cells[number] if number < len(cells) else "")

    return original_source


def restored(executed: str, cell: str) -> str:
    r"""Return executed source with the cell's original lines in place of the calls IPython generated.

    If the lines of both do not match, the calls are written as magics.

    >>> restore_magics("y = 1\nget_ipython().run_line_magic('timeit', 'f(y)')\n", "y = 1\n%timeit   f(y)")
    'y = 1\n%timeit   f(y)\n'
    >>> restore_magics("files = get_ipython().getoutput('ls')", "")
    'files = !ls'
    """
    if executed.startswith(f"{_OURS}run_cell_magic("):
        return cell or executed
    lines = executed.split("\n")
    original_lines = cell.split("\n")
    for start in range(
        len(original_lines)
    ):  # the cell may begin with empty lines and a cell magic that are not in the executed source
        part = original_lines[start:]
        part += [""] * (len(lines) - len(part))
        if all(_OURS in line or line == raw for line, raw in zip(lines, part, strict=False)) and cell:
            return "\n".join(raw if _OURS in line else line for line, raw in zip(lines, part, strict=False))
    return "\n".join(_CALL.sub(_magic, line) for line in lines)


def _magic(call: re.Match[str]) -> str:
    """Return the magic or shell command that a generated call came from."""
    try:
        arguments = ast.literal_eval(f"({call[2]},)")
    except (SyntaxError, ValueError):
        return call[0]
    texts = [argument for argument in arguments if isinstance(argument, str)]
    if call[1] != "run_line_magic":
        return f"!{texts[0]}" if texts else call[0]
    return f"%{' '.join(texts)}".rstrip()
