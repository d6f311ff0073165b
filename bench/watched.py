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
_began = time.perf_counter()
for _ in range({steps}):
    _state = _update(_state, _images, _labels)
xs.block_until_ready(_state)
print("seconds", time.perf_counter() - _began)
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


def watched(steps: int = 3_000, rounds: int = 5) -> dict[str, list[float]]:
    """Seconds for the loop in each mode, the modes in turn, ``rounds`` times."""
    manager, client = start_new_kernel()
    modes = {"off": "%scope off", "strip": "%scope on", "panel": "%scope open"}
    seconds: dict[str, list[float]] = {mode: [] for mode in modes}
    try:
        _run(client, _SETUP)
        _run(client, _LOOP.format(steps=200))
        for _ in range(rounds):
            for mode, magic in modes.items():
                _run(client, magic)
                lines = _run(client, _LOOP.format(steps=steps))
                seconds[mode].append(float(next(line for line in lines if line.startswith("seconds")).split()[1]))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return seconds


def costs(seconds: dict[str, list[float]]) -> dict[str, float]:
    """The cost of each mode over the scope being off: the median of the ratios within a round, less one."""
    return {
        mode: statistics.median(a / b for a, b in zip(values, seconds["off"], strict=True)) - 1
        for mode, values in seconds.items()
        if mode != "off"
    }
