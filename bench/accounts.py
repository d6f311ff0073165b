"""Ten cells, each with where its time went: the parts of the account beside a clock around the cell.

``python -m bench.accounts`` runs programs of the jury in an IPython shell, each in a process of its own, prints the
table and puts it into REPORTS.md; ``python -m bench.accounts NAME`` prints one account as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from .jury.places import environment
from .jury.programs import PROGRAMS
from .results import replace_table

CELLS = (
    *("short_free_1000", "step_waited_100", "asarray_30", "numpy_beside_waited", "sleep_beside_free"),
    *("train_and_evaluate", "eager_beside", "device_put_each", "in_a_thread", "retraced_in_the_middle"),
)
#: Columns of the table: what they are called, and the activities whose seconds are added up in them.
COLUMNS = {
    "tracing, lowering": ("trace", "lower"),
    "compiling": ("compile",),
    "dispatching": ("dispatch", "queue"),
    "operations outside of jit": ("eager",),
    "waiting for results": ("wait",),
    "transfers": ("to_device", "to_host"),
    "Python": ("python",),
    "sleeping, locks": ("blocked",),
    "waiting for a processor": ("processor",),
    "xlascope": ("watching",),
}
#: The share of a cell that may be unaccounted.
MAX_UNACCOUNTED = 0.05


def measure(name: str) -> dict[str, Any]:
    """Return the account of a program's cell, and the seconds by a clock around it."""
    program = PROGRAMS[name]
    shell = InteractiveShell.instance()
    for cell in ("%load_ext xlascope", program.imports, program.setup):
        shell.run_cell(cell, store_history=True)
    began = time.perf_counter()
    shell.run_cell(program.cell, store_history=True)
    wall = time.perf_counter() - began
    (account,) = shell.run_line_magic("scope", "time").records
    return {"name": name, "wall": wall, **dataclasses.asdict(account)}


def table() -> list[str]:
    """Return the lines of the table, a row for each cell; all times in milliseconds."""
    names = " | ".join(COLUMNS)
    rows = [
        f"| ten accounts, ms | clock around the cell | account | {names} | sum | unaccounted |",
        "|---" * (len(COLUMNS) + 5) + "|",
    ]
    for name in CELLS:
        command = [sys.executable, "-m", "bench.accounts", name]
        done = subprocess.run(command, env=environment(PROGRAMS[name]), capture_output=True, text=True, check=True)
        rows.append(_row(json.loads(done.stdout.splitlines()[-1])))
    return rows


def _row(account: dict[str, Any]) -> str:
    seconds = {
        column: sum(part["seconds"] for part in account["parts"] if part["activity"] in activities)
        for column, activities in COLUMNS.items()
    }
    total = sum(part["seconds"] for part in account["parts"])
    rest = 1 - total / account["seconds"]
    cells = [account["name"], *(f"{1e3 * account[key]:.1f}" for key in ("wall", "seconds"))]
    cells += [f"{1e3 * value:.1f}" if value else "" for value in seconds.values()]
    mark = "" if abs(rest) <= MAX_UNACCOUNTED else " (fails)"
    return f"| {' | '.join([*cells, f'{1e3 * total:.1f}', f'{100 * rest:.1f} %{mark}'])} |"


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1])))
    else:
        lines = table()
        print("\n".join(lines))
        replace_table(lines)
