"""Calibration of a CPU's ceilings in fresh processes: the best of several, kept on disk.

A process that has run for a while is a bad place to measure a peak: its threads, its heap and the programs that it
runs slow the measurement down. Processes for accelerators cannot be started beside the one that holds the device, so
these are measured in that process. This module imports nothing of the engine: processes of jax use it as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from .ceilings_store import DeviceCeilings, join_ceilings, load_per_cpu, read_ceilings, store_ceilings

#: Number of fresh processes, and the seconds after which one has failed.
PROCESSES, PROCESS_TIMEOUT_SECONDS = 3, 60.0
#: What a fresh process runs; it prints the rates as JSON.
_PROGRAM = "from xlascope.xla.profiling.measured_ceilings import print_benchmarks; print_benchmarks()"


def calibrate_cpu(device: Any) -> DeviceCeilings | None:
    """Return the ceilings of a CPU: the stored ones, or those of fresh processes, which are stored.

    Stored ceilings of a busy machine, or old ones, are measured again when the machine is idle, and the best of all
    counts. ``device`` is a CPU device of this process. Returns None if no process could be started.
    """
    stored = read_ceilings(device)
    if stored is not None and stored.is_current():
        return stored
    began, load = time.time(), load_per_cpu()
    runs = [rates for rates in (_measure_in_process() for _ in range(PROCESSES)) if rates is not None]
    if not runs:
        return stored
    flops, nbytes = max(run["flops"] for run in runs), max(run["bytes_per_second"] for run in runs)
    measured = DeviceCeilings(flops, nbytes, runs[0]["programs"], began, load, len(runs))
    ceilings = join_ceilings(stored, measured)
    store_ceilings(device, ceilings)
    return ceilings


def _measure_in_process() -> dict[str, Any] | None:
    """Return the rates that a fresh process measures and the programs that it ran; None if it failed."""
    if not sys.executable or getattr(sys, "frozen", False):  # the executable is not Python
        return None
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", _PROGRAM]
    try:
        process = subprocess.run(
            command,
            capture_output=True,
            timeout=PROCESS_TIMEOUT_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        rates = json.loads(process.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    return rates if isinstance(rates, dict) and rates.get("flops") and rates.get("bytes_per_second") else None
