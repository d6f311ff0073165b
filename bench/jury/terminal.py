"""Run one program of the jury in an IPython shell of this process: ``python -m bench.jury.terminal NAME``.

Its last line is JSON: what the program told, and what was recorded and printed of its cell.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope import records
from xlascope.records import Executed, Record
from xlascope_widgets import text

from .clock import parse
from .programs import PROGRAMS


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
    numbers = {record.program: None for record in seen if isinstance(record, Executed)}
    return {
        "told": parse(printed + printed_after),
        "shown": [_shown([record for record in seen if record.program == number]) for number in numbers],
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


def _shown(of_program: list[Record]) -> dict[str, Any]:
    """Return the last measurement among the records of a program, with the text that is printed of them."""
    last = next(record for record in reversed(of_program) if isinstance(record, Executed))
    return dataclasses.asdict(dataclasses.replace(last, devices=())) | {"text": text(of_program, jaxpr=False)}


if __name__ == "__main__":
    print(json.dumps(judge(sys.argv[1])))
