"""What watching costs: the training loop in a real Jupyter kernel, with the strip, with the panel open, and with the
scope off; as one long cell, and as short ones of a second (``python -m bench.watched``).
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jupyter_client.manager import start_new_kernel

_SETUP = """
import time
import xlascope as xs
from bench.mlp import digits_like, init, make_update
from bench.sides import side
_side = side("xlascope")
_images, _labels = digits_like()
_update = make_update(_side)
_state = init(_side)
%load_ext xlascope
"""
_WATCHING = """
import threading, time
def _watching():
    watching = [thread.ident for thread in threading.enumerate() if thread.name.startswith("xlascope")]
    started = [ident for ident in watching if ident is not None]
    return sum(time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in started)
"""
_LOOP = """
_began, _begun = time.perf_counter(), _watching()
for _ in range({steps}):
    _state = _update(_state, _images, _labels)
xs.block_until_ready(_state)
print("seconds", time.perf_counter() - _began, _watching() - _begun)
"""
_MODES = {"off": "%scope off", "strip": "%scope on", "panel": "%scope open"}
#: Seconds of a short cell, and how long to wait after it for what is still done for it.
CELL_SECONDS, _SETTLING_SECONDS = 1.0, 0.3


def _run(client: Any, code: str, cell: str = "") -> list[str]:
    """Return the lines that a cell prints; ``cell`` names it, as JupyterLab does where a cell runs again."""
    lines: list[str] = []
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True}
    request = client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else None)
    client.shell_channel.send(request)
    number = request["header"]["msg_id"]
    while True:
        message = client.get_iopub_msg(timeout=120)
        kind, told = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != number:
            continue
        if kind == "stream":
            lines.extend(told["text"].splitlines())
        elif kind == "error":
            raise RuntimeError("\n".join(told["traceback"]))
        elif kind == "status" and told["execution_state"] == "idle":
            break
    while client.get_shell_msg(timeout=120)["parent_header"].get("msg_id") != number:
        pass
    return lines


Run = tuple[float, float]
"""Seconds that a loop took, and the processor time of the threads that watched it."""


def watched(steps: int = 3_000, rounds: int = 5) -> dict[str, list[Run]]:
    """The loop in each mode, the modes in turn, ``rounds`` times."""
    runs: dict[str, list[Run]] = {mode: [] for mode in _MODES}
    with _kernel() as client:
        _run(client, _LOOP.format(steps=200))
        for _ in range(rounds):
            for mode, magic in _MODES.items():
                _run(client, magic)
                runs[mode].append(_read_run(_run(client, _LOOP.format(steps=steps))))
    return runs


@contextlib.contextmanager
def _kernel() -> Iterator[Any]:
    """A kernel with the training loop in it, for the duration of a block."""
    manager, client = start_new_kernel()
    try:
        _run(client, _SETUP + _WATCHING)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _read_run(lines: list[str]) -> Run:
    took, watching = next(line for line in lines if line.startswith("seconds")).split()[1:]
    return float(took), float(watching)


def costs(runs: dict[str, list[Run]]) -> dict[str, tuple[float, float]]:
    """What each mode costs: the median of the ratios within a round to the scope being off, less one; and the share of
    the loop's time that the watching threads took of a processor, which the machine's noise does not touch.
    """
    off = [seconds for seconds, _ in runs["off"]]
    return {
        mode: (
            statistics.median(a / b for (a, _), b in zip(values, off, strict=True)) - 1,
            statistics.median(watching / seconds for seconds, watching in values),
        )
        for mode, values in runs.items()
        if mode != "off"
    }


# Short cells ---------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """Seconds of a cell, from sending it until the kernel is idle; of its loop; and of processors, by the whole kernel
    until it has settled, and by the threads that watch.
    """

    wall: float
    loop: float
    processor: float
    watching: float


class Interval(NamedTuple):
    """Median with the 95 % interval around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return the median of values, between the two of them that enclose it in 95 of 100 samples.

        That needs no assumption about the values: those below the median are counted by the binomial distribution.
        """
        ordered, number = sorted(values), len(values)
        tail, rank = 0.0, 0
        while rank < number // 2 and (tail := tail + math.comb(number, rank) / 2**number) <= 0.025:
            rank += 1
        first = max(rank - 1, 0)
        return cls(ordered[first], statistics.median(ordered), ordered[number - 1 - first])


def short_cells(rounds: int = 30, seconds: float = CELL_SECONDS) -> dict[str, list[Cell]]:
    """Short cells of the training loop in each mode; each round begins with another mode.

    Each mode runs the same cell again and again. The picture for the saved notebook, which is drawn when no cell has
    run for a second, is no part of it.
    """
    cells: dict[str, list[Cell]] = {mode: [] for mode in _MODES}
    modes = list(_MODES)
    with _kernel() as client:
        _run(client, _MODES["off"])
        _run(client, _LOOP.format(steps=200))
        took = statistics.median(_read_run(_run(client, _LOOP.format(steps=200)))[0] for _ in range(3))
        steps = max(10, int(200 * seconds / took))
        for turn in range(rounds + 1):
            for mode in modes[turn % 3 :] + modes[: turn % 3]:
                _run(client, _MODES[mode])
                cell = _measure_cell(client, _LOOP.format(steps=steps), mode)
                cells[mode] += [cell] * (turn > 0)  # in the first round each mode does what it does once
    return cells


def _measure_cell(client: Any, code: str, name: str) -> Cell:
    before, began = _processor_seconds(client), time.perf_counter()
    loop, watching = _read_run(_run(client, code, name))
    wall = time.perf_counter() - began
    time.sleep(_SETTLING_SECONDS)
    return Cell(wall, loop, _processor_seconds(client) - before, watching)


def _processor_seconds(client: Any) -> float:
    """Return the kernel's processor time so far; asking is no cell, so nothing is watched."""
    asked = client.execute("", silent=True, user_expressions={"seconds": "time.process_time()"})
    while (reply := client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != asked:
        pass
    return float(reply["content"]["user_expressions"]["seconds"]["data"]["text/plain"])


def short_cells_table(cells: dict[str, list[Cell]] | None = None) -> list[str]:
    """The table of what watching short cells costs: medians over the rounds with their 95 % intervals."""
    cells = short_cells() if cells is None else cells
    rows = [
        f"| watching cells of {CELL_SECONDS:g} s, {len(cells['off'])} rounds | threads that watch | "
        "processor time of the kernel | the same, seconds a cell | wall clock of the loop | wall clock of the cell "
        "| goal (processor time) |",
        "|---|---|---|---|---|---|---|",
    ]
    for mode, (name, goal) in {"strip": ("the strip", "< 1 %"), "panel": ("the panel open", "< 2 %")}.items():
        pairs = list(zip(cells[mode], cells["off"], strict=True))
        columns = [Interval.of([cell.watching / cell.loop for cell, _ in pairs])]
        for clock in ("processor", "loop", "wall"):
            columns.append(Interval.of([getattr(a, clock) / getattr(b, clock) - 1 for a, b in pairs]))
        threads, processor, loop, wall = map(_percents, columns)
        low, median, high = (f"{value:+.3f}" for value in Interval.of([a.processor - b.processor for a, b in pairs]))
        cells_of_row = [name, threads, processor, f"{median} ({low} to {high})", loop, wall, goal]
        rows.append(f"| {' | '.join(cells_of_row)} |")
    return rows


def _percents(interval: Interval) -> str:
    low, median, high = (f"{value * 100:+.2f}" for value in interval)
    return f"**{median} %** ({low} to {high})"


if __name__ == "__main__":
    print("\n".join(short_cells_table()))
