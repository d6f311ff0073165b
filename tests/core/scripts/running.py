"""Scripts in processes of their own, alone and watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from xlascope import records
from xlascope.records import Record, ScriptRun, Share

#: A script with one program that is called often.
PROGRAM = """
import sys
import xlascope as xs, xlascope.numpy as jnp

@xs.jit
def step(x):
    return jnp.tanh(x @ x) * 0.5

x = jnp.full((40, 40), 0.1)
for _ in range(200):
    x = step(x)
print("result", float(x.sum()), flush=True)
"""


class Outcome(NamedTuple):
    """What a process left: ``errors`` are without our last line, which is ``said``."""

    status: int
    output: str
    errors: str
    said: str


class Place:
    """A folder with scripts in it, in which they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, text: str, name: str = "train.py") -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def start(self, words: Sequence[str], **options: object) -> subprocess.Popen[str]:
        """A process in which Ctrl-C is what it is in a terminal."""
        given: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "RANK")}
        environment["JAX_PLATFORMS"] = "cpu"  # jax says much of plugins that are installed and have no device
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            [sys.executable, *words],
            cwd=self.folder,
            env=environment,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            **given,
        )

    def run(self, *words: str) -> Outcome:
        return ended(self.start(words))

    def watch(self, *words: str) -> Outcome:
        return self.run("-m", "xlascope", "watch", *words)

    def records(self, name: str = "train.xlascope.json") -> tuple[Record, ...]:
        return records.load(self.folder / name)

    def script(self, name: str = "train.xlascope.json") -> ScriptRun:
        first = self.records(name)[0]
        assert isinstance(first, ScriptRun)
        return first


def share_of_step(run: ScriptRun) -> Share:
    """What PROGRAM's step came to, which need not have taken most of the time."""
    return max((each for each in run.shares if each.function == "step"), key=lambda each: each.calls)


def ended(process: subprocess.Popen[str]) -> Outcome:
    output, errors = process.communicate(timeout=120)
    lines = errors.splitlines(keepends=True)
    said = [line for line in lines if line.startswith("xlascope")]
    return Outcome(process.returncode, output, "".join(line for line in lines if line not in said), "".join(said))


def when_it_says(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"it ended before it said {word}: {process.stderr and process.stderr.read()}")
