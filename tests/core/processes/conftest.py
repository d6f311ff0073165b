"""Jobs of real processes on this machine: each runs a file of programs, and hands back what it found."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests import compiling

HERE = Path(__file__).parent
#: A job that has not ended by then is a failure of the test.
MAX_JOB_SECONDS = 150

_RUN = """
import importlib, importlib.util, pickle, sys
library, path, function, into, address, count, number = sys.argv[1:]
lib = importlib.import_module(library)
spec = importlib.util.spec_from_file_location("programs", path)
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
lib.distributed.initialize(address, int(count), int(number))
found = getattr(programs, function)(lib)
with open(into, "wb") as file:
    pickle.dump(found, file)
"""


class Ended(NamedTuple):
    """How a process of a job ended: its status, what it printed, when (seconds since the job began)."""

    status: int
    out: str
    error: str
    seconds: float


def free_address() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def run_job(commands: list[list[str]], environment: dict[str, str], seconds: float = MAX_JOB_SECONDS) -> list[Ended]:
    """Start a process for each command at the same time, and wait until all but the stopped ones have ended."""
    began, processes = time.monotonic(), []
    files = []
    for command in commands:
        out, error = subprocess.PIPE, subprocess.PIPE
        process = subprocess.Popen(command, stdout=out, stderr=error, text=True, env=os.environ | environment)
        processes.append(process)
    try:
        for process in processes:
            files.append(_wait(process, processes, began, seconds))
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
    return files


def _wait(process, processes, began, seconds) -> Ended:
    """Wait for one process; one that has been stopped (SIGSTOP) is killed when all others have ended."""
    while True:
        try:
            out, error = process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            others = [other for other in processes if other is not process]
            if is_stopped(process.pid) and all(other.poll() is not None or other.stdout.closed for other in others):
                process.kill()
            elif time.monotonic() - began > seconds:
                process.kill()
                out, error = process.communicate()
                pytest.fail(f"a process of the job has not ended in {seconds} s\n{out[-2000:]}\n{error[-4000:]}")
        else:
            return Ended(process.returncode, out, error, time.monotonic() - began)


def is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


@pytest.fixture(scope="session")
def in_processes(tmp_path_factory: pytest.TempPathFactory):
    """What a function of a file of programs gives in each process of a job: ``in_processes(path, "function", 2, 1)``.

    The numbers are those of processes and of the devices of each; ``library`` may be jax.
    """

    def run(path: Path, function: str, processes: int, devices: int, library: str = "xlascope", **environment: str):
        folder, address = tmp_path_factory.mktemp("job"), free_address()
        found = [folder / str(number) for number in range(processes)]
        commands = [
            [
                *(sys.executable, "-P", "-c", _RUN, library, str(path), function),
                *(str(found[number]), address, str(processes), str(number)),
            ]
            for number in range(processes)
        ]
        variables = compiling.quickly() | {
            **{"XLASCOPE_NUM_CPU_DEVICES": str(devices), "JAX_NUM_CPU_DEVICES": str(devices), "JAX_PLATFORMS": "cpu"},
            **environment,
        }
        for ended in run_job(commands, variables):
            assert ended.status == 0, ended.error[-4000:]
        return [pickle.loads(file.read_bytes()) for file in found]  # written a moment ago by the processes above

    return run


def values_differ(mine: Any, other: Any, path: str = "", tolerance: float = 2e-5) -> list[str]:
    """Where two results of programs differ; arrays by their elements, slices by what they select."""
    if isinstance(mine, list | tuple) and isinstance(other, list | tuple) and len(mine) == len(other):
        pairs = enumerate(zip(mine, other, strict=True))
        return [line for i, (a, b) in pairs for line in values_differ(a, b, f"{path}[{i}]", tolerance)]
    if isinstance(mine, dict) and isinstance(other, dict) and mine.keys() == other.keys():
        return [line for key in mine for line in values_differ(mine[key], other[key], f"{path}.{key}", tolerance)]
    if isinstance(mine, np.ndarray | float) or isinstance(other, np.ndarray):
        a, b = np.asarray(mine), np.asarray(other)
        same = (a.shape, a.dtype) == (b.shape, b.dtype) and np.allclose(a, b, tolerance, tolerance)
        return [] if same else [f"{path}: {a!r} and {b!r}"]
    if isinstance(mine, slice) and isinstance(other, slice):
        same = (mine.start or 0, mine.stop) == (other.start or 0, other.stop)
        return [] if same else [f"{path}: {mine} and {other}"]
    return [] if mine == other else [f"{path}: {mine!r} and {other!r}"]
