"""The places in which a program of the jury runs, each in a process of its own: a shell, a script, and a kernel."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel

from xlascope import records

from .clock import parse
from .program import Program
from .recorded import measured_programs

#: Seconds until a program has to be done.
MAX_SECONDS = 180
_BUSY = "while True: pass"
_ROOT = Path(__file__).parents[2]

Seen = dict[str, Any]
"""``told`` has what the program told, ``shown`` a dictionary for each program measured, as its record or the strip."""


def environment(program: Program) -> dict[str, str]:
    """Return the environment variables of the process that runs a program."""
    path = os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, **program.environment, "PYTHONPATH": path}


def in_ipython(program: Program) -> Seen:
    """Run a program in an IPython shell without widgets, which prints a line of text."""
    command = [sys.executable, "-m", "bench.jury.terminal", program.name]
    seen: Seen = json.loads(_run(command, program, str(_ROOT), last_line="{").splitlines()[-1])
    return seen


def in_watch(program: Program) -> Seen:
    """Run a program as a script under ``xlascope watch``, and read the file of records that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(program.script, encoding="utf-8")
        command = [sys.executable, "-m", "xlascope", "watch", "--progress", "off", "-o", "run", "program.py"]
        told = parse(_run(command, program, folder, fails=bool(program.raises)))
        shown = measured_programs(records.load(Path(folder, "run.json")))
    return {"told": _join_runs(told) if program.again else told, "shown": shown}


def _join_runs(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a cell told that ran twice, as a script's records are of both runs: the times of the first, too."""
    first, second = told[: len(told) // 2], told[len(told) // 2 :]
    return [
        line | {f"first_{name}": value for name, value in earlier.items() if name.endswith("_ms")}
        for earlier, line in zip(first, second, strict=True)
    ]


def _run(command: list[str], program: Program, folder: str, *, fails: bool = False, last_line: str = "") -> str:
    """Return what a process prints; one that printed the last line may end as it likes."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(program),
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    if last_line and done.stdout.splitlines()[-1:] and done.stdout.splitlines()[-1].startswith(last_line):
        if done.returncode:
            print(f"{program.name}: exit status {done.returncode}: {done.stderr[-200:]}", file=sys.stderr)
    elif bool(done.returncode) != fails:
        raise RuntimeError(f"{program.name}: exit status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
    return done.stdout


def in_jupyter(program: Program) -> Seen:
    """Run a program in a real kernel with widgets, and read the last state of the strip."""
    with tempfile.TemporaryDirectory() as folder:
        manager, client = start_new_kernel(cwd=folder, env=environment(program), stderr=subprocess.DEVNULL)
        try:
            cells = ["%load_ext xlascope", program.imports, program.setup, *[program.cell] * program.again]
            for cell in cells:
                _run_cell(client, cell)
            printed, live = _run_cell(client, program.cell, program.raises)
            _run_cell(client, "%scope off")
            printed += _run_cell(client, program.after)[0]
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    shown = [
        {"program": item["number"], "function": item["function"], **item["executed"], "devices": ()}
        for item in live.get("programs", ())
        if "executed" in item
    ]
    return {"told": parse(printed), "shown": shown}


def _run_cell(client: Any, code: str, raises: str = "") -> tuple[str, dict[str, Any]]:
    """Run a cell; return what it printed, and the last state of its strip (``{}`` if there was none)."""
    printed: list[str] = []
    live: dict[str, Any] = {}
    errors: list[str] = []

    def receive(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            printed.append(content["text"])
        elif message["msg_type"] == "error":
            errors.append(content["ename"])
        elif message["msg_type"] in ("comm_open", "comm_msg"):
            live.update(content["data"].get("state", {}).get("live") or {})

    client.execute_interactive(code, output_hook=receive, timeout=MAX_SECONDS)
    if errors != [raises] * bool(raises):
        raise RuntimeError(f"{errors} in\n{code}\n{''.join(printed)}")
    return "".join(printed), live


PLACES = {"ipython": in_ipython, "watch": in_watch, "jupyter": in_jupyter}


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep processors busy with some processes for the duration of a block."""
    running = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(processes)]
    time.sleep(0.2 if running else 0.0)
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
