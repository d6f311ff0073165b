"""Thirty programs out of docstrings run under ``xlascope watch`` as they run alone, and leave their records."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xlascope import records

from .docstrings import OF_JAX, OF_LIBRARIES
from .libraries import need_libraries

pytestmark = pytest.mark.slow

#: Seconds until a program has to be done.
_PATIENCE = 300
#: Those that compile nothing: they define what is to be called.
NOTHING = {"equinox:filter_custom_vjp"}
#: What a program ends with that is no success, of its own.
ENDS_WITH = {"jax.experimental.checkify:checkify": 1}


@pytest.mark.parametrize("program", OF_JAX)
def test_example_of_jax(program: str, tmp_path: Path) -> None:
    check(program, tmp_path)


@pytest.mark.parametrize("program", OF_LIBRARIES)
def test_example_of_a_library(program: str, tmp_path: Path) -> None:
    need_libraries()
    check(program, tmp_path)


def check(program: str, folder: Path) -> None:
    text = python(folder, "-c", f"from tests.jax.docstrings import script_of; print(script_of({program!r}))").stdout
    (folder / "example.py").write_text(text, encoding="utf-8")
    alone = python(folder, "example.py")
    watched = python(folder, "-m", "xlascope", "watch", "--progress", "off", "example.py")
    assert alone.returncode == ENDS_WITH.get(program, 0), alone.stderr
    assert (watched.returncode, watched.stdout) == (alone.returncode, alone.stdout), watched.stderr
    assert "failed" not in watched.stderr and ("Traceback" in watched.stderr) == ("Traceback" in alone.stderr)
    found = records.load(folder / "example.xlascope.json")
    assert (folder / "example.xlascope.html").exists()
    assert any(isinstance(each, records.Compiled) for each in found) == (program not in NOTHING)


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
