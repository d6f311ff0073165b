"""What xlascope itself does for a short cell: processor time by thread and by place (``python -m bench.own_work``).

The difference between watched and unwatched cells (:mod:`.watched`) is smaller than the spread of a program's own time.
Here each piece of xlascope's work is timed by its thread's processor clock, in a real kernel; the table goes into
REPORTS.md.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from .results import replace_table
from .watched import _LOOP, _MODES, CELL_SECONDS, _kernel, _processor_seconds, _read_run, _run

#: Cells that are measured in each mode, after three that are not.
CELLS = 12
#: What is timed: columns with the module, the class and the method. Cells begin and end, and calls are noted, on the
#: thread of the program.
PLACES = {
    "begin of the cell": ("xlascope_ipython.cell", "WatchedCell", "start"),
    "end of the cell": ("xlascope_ipython.cell", "WatchedCell", "finish"),
    "noting calls": ("xlascope.inspect.running.profile_sampler", "Sampler", "_on_call"),
    "series of calls": ("xlascope.inspect.time_account.call_intervals", "CallIntervals", "_note"),
    "looks": ("xlascope.inspect.time_account.thread_looks", "ThreadLooks", "_look_until_stopped"),
    "counts and profiles": ("xlascope.inspect.running.profile_sampler", "Sampler", "_sample_loop"),
    "completions": ("xlascope.inspect.running.completion_tracker", "CompletionTracker", "_wait_for_results"),
    "messages": ("xlascope_widgets.update_scheduler", "UpdateScheduler", "_run"),
}
_TIMING = """
import collections, importlib, json, time
_spent = collections.Counter()
def _time(column, module, kind, method):
    owner = getattr(importlib.import_module(module), kind)
    inner = getattr(owner, method)
    def timed(*args, **kwargs):
        began = time.thread_time()
        try:
            return inner(*args, **kwargs)
        finally:
            _spent[column] += time.thread_time() - began
    setattr(owner, method, timed)
for _column, _place in {places!r}.items():
    _time(_column, *_place)
"""


def measure(mode: str) -> dict[str, float]:
    """Return the processor seconds of each place in a cell, those of the kernel, and the seconds of the loop."""
    with _kernel() as client:
        _run(client, _MODES["off"])
        _run(client, _TIMING.format(places=PLACES))
        _run(client, _LOOP.format(steps=200))
        took = statistics.median(_read_run(_run(client, _LOOP.format(steps=200)))[0] for _ in range(3))
        cell = _LOOP.format(steps=max(10, int(200 * CELL_SECONDS / took)))
        _run(client, _MODES[mode])
        for _ in range(3):
            _run_and_settle(client, cell, mode)
        _run(client, _MODES["off"])
        _run(client, "_spent.clear()")
        _run(client, _MODES[mode])
        processor = _processor_seconds(client)
        loops = [_run_and_settle(client, cell, mode) for _ in range(CELLS)]
        processor = _processor_seconds(client) - processor
        _run(client, _MODES["off"])
        spent: dict[str, Any] = json.loads(_run(client, "print(json.dumps(_spent))")[-1])
    places = {column: spent.get(column, 0.0) / CELLS for column in PLACES}
    return places | {"processor": processor / CELLS, "loop": statistics.mean(loops)}


def _run_and_settle(client: Any, code: str, cell: str) -> float:
    seconds = _read_run(_run(client, code, cell))[0]
    time.sleep(0.3)
    return seconds


def table() -> list[str]:
    """Return the lines of the table: milliseconds of a cell by place, their sum, and its share."""
    rows = [
        f"| own work for a cell of {CELL_SECONDS:g} s, ms | {' | '.join(PLACES)} | sum | of the processor time "
        "| of the wall clock | goal (processor time) |",
        "|---" * (len(PLACES) + 5) + "|",
    ]
    for mode, (name, goal) in {"strip": ("the strip", "< 1 %"), "panel": ("the panel open", "< 2 %")}.items():
        found = measure(mode)
        total = sum(found[column] for column in PLACES)
        cells = [name, *(f"{1e3 * found[column]:.2f}" for column in PLACES), f"{1e3 * total:.2f}"]
        cells += [f"**{100 * total / found[key]:.2f} %**" for key in ("processor", "loop")]
        rows.append(f"| {' | '.join([*cells, goal])} |")
    return rows


if __name__ == "__main__":
    lines = table()
    print("\n".join(lines))
    replace_table(lines)
