"""Run one program of the jury in an IPython shell of this process: ``python -m bench.jury.terminal NAME``.

Its last line is JSON: what the program told, and what was recorded and printed of its cell.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope import records
from xlascope.records import Record

from .clock import parse
from .programs import PROGRAMS
from .recorded import measured_programs


def judge(name: str) -> dict[str, Any]:
    """Return what the program ``name`` told, and what xlascope showed of it."""
    program = PROGRAMS[name]
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    _run(shell, "%load_ext xlascope")
    _run(shell, program.imports)
    _run(shell, program.setup)
    if program.again:
        _run(shell, program.cell)
    seen: list[Record] = []
    subscription = records.watch(seen.append)
    printed = _run(shell, program.cell, program.raises)
    subscription.close()
    _run(shell, "%scope off")
    printed_after = _run(shell, program.after)
    return {
        "told": parse(printed + printed_after),
        "shown": measured_programs(seen),
        "line": next((line for line in printed.splitlines() if line.startswith("xlascope: ")), ""),
    }


def _run(shell: InteractiveShell, code: str, raises: str = "") -> str:
    """Run a cell and return what it printed; ``raises`` names the exception that it has to raise."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = shell.run_cell(code, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    if type(error).__name__ != (raises or "NoneType"):
        raise RuntimeError(f"{error!r} in\n{code}\n{printed.getvalue()}")
    return printed.getvalue()


if __name__ == "__main__":
    print(json.dumps(judge(sys.argv[1])))
