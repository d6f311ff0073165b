"""The source of a cell as its author wrote it: IPython runs Python in which magics and shell commands are calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

_MAGIC_CALL = re.compile(r"get_ipython\(\)\.(run_line_magic|system|getoutput)\((.*)\)")
_SHELL = "get_ipython()."


def make_original_source_lookup(shell: InteractiveShell) -> Callable[[str, str], str | None]:
    """Return a function that restores the source of a cell of this shell as its author wrote it.

    It takes the name of a file and the executed text, and returns None for files that are no cells and for cells
    without magics and shell commands.
    """

    def original_source(file: str, text: str) -> str | None:
        number = shell.compile._filename_map.get(file)
        if number is None or _SHELL not in text or shell.history_manager is None:
            return None
        cells = shell.history_manager.input_hist_raw
        return restore_magics(text, cells[number] if number < len(cells) else "")

    return original_source


def restore_magics(executed: str, cell: str) -> str:
    r"""Return executed source with the author's lines in place of the calls that IPython made of magics.

    If the lines of both do not match, the calls are written as magics. ``executed`` is the Python that ran, ``cell``
    the text of the cell.

    >>> restore_magics("y = 1\nget_ipython().run_line_magic('timeit', 'f(y)')\n", "y = 1\n%timeit   f(y)")
    'y = 1\n%timeit   f(y)\n'
    >>> restore_magics("files = get_ipython().getoutput('ls')", "")
    'files = !ls'
    """
    if executed.startswith(f"{_SHELL}run_cell_magic("):
        return cell or executed
    lines = executed.split("\n")
    original_lines = cell.split("\n")
    for start in range(
        len(original_lines)
    ):  # the cell may begin with empty lines and a cell magic that are not in the executed source
        part = original_lines[start:]
        part += [""] * (len(lines) - len(part))
        if all(_SHELL in line or line == raw for line, raw in zip(lines, part, strict=False)) and cell:
            return "\n".join(raw if _SHELL in line else line for line, raw in zip(lines, part, strict=False))
    return "\n".join(_MAGIC_CALL.sub(_magic_source, line) for line in lines)


def _magic_source(call: re.Match[str]) -> str:
    """Return the magic or shell command that a generated call came from; ``call`` is its match in the source."""
    try:
        arguments = ast.literal_eval(f"({call[2]},)")
    except (SyntaxError, ValueError):
        return call[0]
    texts = [argument for argument in arguments if isinstance(argument, str)]
    if call[1] != "run_line_magic":
        return f"!{texts[0]}" if texts else call[0]
    return f"%{' '.join(texts)}".rstrip()
