"""What watching costs: the training loop in a real Jupyter kernel, with the strip, with the panel open, and with the
scope off.
"""

from __future__ import annotations

import statistics
from typing import Any

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
_LOOP = """
import os, threading, time
def _watching():
    seconds = 0.0
    for thread in threading.enumerate():
        if thread.name.startswith("xlascope"):
            with open(f"/proc/self/task/{{thread.native_id}}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds
_began = time.perf_counter()
for _ in range({steps}):
    _state = _update(_state, _images, _labels)
xs.block_until_ready(_state)
print("seconds", time.perf_counter() - _began, _watching() if os.path.exists("/proc/self/task") else float("nan"))
"""


def _run(client: Any, code: str) -> list[str]:
    lines: list[str] = []

    def hook(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            lines.extend(message["content"]["text"].splitlines())
        elif message["msg_type"] == "error":
            raise RuntimeError("\n".join(message["content"]["traceback"]))

    client.execute_interactive(code, output_hook=hook, timeout=120)
    return lines


Run = tuple[float, float]
"""Seconds that a loop took, and the processor time of the threads that watched it."""


def watched(steps: int = 3_000, rounds: int = 5) -> dict[str, list[Run]]:
    """The loop in each mode, the modes in turn, ``rounds`` times."""
    manager, client = start_new_kernel()
    modes = {"off": "%scope off", "strip": "%scope on", "panel": "%scope open"}
    runs: dict[str, list[Run]] = {mode: [] for mode in modes}
    try:
        _run(client, _SETUP)
        _run(client, _LOOP.format(steps=200))
        for _ in range(rounds):
            for mode, magic in modes.items():
                _run(client, magic)
                lines = _run(client, _LOOP.format(steps=steps))
                took, watching = next(line for line in lines if line.startswith("seconds")).split()[1:]
                runs[mode].append((float(took), float(watching)))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return runs


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
