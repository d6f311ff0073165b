"""Tasks in processes that may die: the task that kills its process is named, and the others go on in a new process.

A process reads its tasks from standard input as JSON, and writes a line of JSON when a task begins (`begins`) and when
it has ended (`ended`, `outcome`); a task is a list whose name the process says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: The outcome of a task whose process died or hung.
DIED = "died"


def run_all(
    module: str, tasks: Mapping[str, Any], environment: Mapping[str, str], seconds: float = 500
) -> dict[str, dict[str, Any]]:
    """Return the outcome of each task by its name; ``module`` is what ``python -m`` runs in each process."""
    outcomes: dict[str, dict[str, Any]] = {}
    while left := [name for name in tasks if name not in outcomes]:
        ended, begun, said = _run(module, [tasks[name] for name in left], environment, seconds)
        outcomes |= ended
        if begun is None and not ended:
            raise RuntimeError(f"python -m {module} began no task: {said}")
        if begun is not None:
            outcomes[begun] = {"status": DIED, "text": said}
    return outcomes


def _run(
    module: str, tasks: Sequence[Any], environment: Mapping[str, str], seconds: float
) -> tuple[dict[str, Any], str | None, str]:
    """Run one process; return what ended, the task that was running when the process ended, and how it ended."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            text=True,
        )
        try:
            process.communicate(json.dumps(tasks), timeout=seconds)
            how = f"ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            how = f"did not end within {seconds} s"
        output.seek(0)
        errors.seek(0)
        said = f"the process {how}: {errors.read()[-1500:]}"
        lines = [json.loads(line) for line in output if line.endswith("\n") and line.startswith("{")]
    ended = {line["ended"]: line["outcome"] for line in lines if "ended" in line}
    begun = next((line["begins"] for line in lines if "begins" in line and line["begins"] not in ended), None)
    return ended, begun, said
