"""Running a program of jax twice, alone and watched, and what each run left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
#: Seconds until a program has to be done.
_PATIENCE = 300
#: XLA writes down every program that it compiles, without the names that watching adds.
_DUMPS = "--xla_dump_to={folder} --xla_dump_hlo_as_text=true --xla_dump_disable_metadata=true"
_MODULE = re.compile(r"module_(\d+)\.(.*)\.cpu_after_optimizations\.txt")


@dataclass(frozen=True)
class Ran:
    """What a run printed, the optimized HLO of what it compiled, and what it reported.

    Not the machine code: of some programs that is another one already where the same file is run from another folder.
    """

    printed: str
    compiled: list[tuple[str, str]]
    report: dict[str, Any]


def run(program: Path, how: str, folder: Path, *words: str, check: bool = True) -> Ran:
    """Run a program ``alone`` or ``watched``; what it leaves goes into a folder."""
    dumps, report = folder / f"{how}_dumps", folder / f"{how}.json"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {_DUMPS.format(folder=dumps)}"
    done = subprocess.run(
        [sys.executable, str(HERE / "one_run.py"), how, str(report), str(program), *words],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(report.read_text(encoding="utf-8"))
    assert not check or "error" not in told, done.stderr[-3000:]
    return Ran(done.stdout, _compiled(dumps), told)


def _compiled(dumps: Path) -> list[tuple[str, str]]:
    """The optimized HLO of every program, in the order in which they were compiled."""
    found = [(int(made[1]), made[2], path) for path in dumps.glob("*.txt") if (made := _MODULE.fullmatch(path.name))]
    return [(name, path.read_text(encoding="utf-8")) for _, name, path in sorted(found)]
