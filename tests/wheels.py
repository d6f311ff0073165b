"""The wheel, made as `make wheel` makes it, and pip in environments of its own.

Pip asks an index for hatchling, and for what xlascope stands on; where there is none tests say so and are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def surroundings() -> dict[str, str]:
    """The environment of a process that knows nothing of the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "XLASCOPE_"))}


def pip(*arguments: str, python: Path = Path(sys.executable)) -> None:
    """Run pip, in the folders of nobody; skip where it reaches no index."""
    command = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=surroundings(), capture_output=True, text=True, check=False)
    if done.returncode and any(word in done.stderr for word in ("No matching distribution", "Connection", "resolve")):
        pytest.skip("pip reaches no index: nothing can be built or installed")
    assert done.returncode == 0, done.stderr[-3000:]


def build(folder: Path) -> Path:
    """Make the wheel in a folder."""
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), ".")
    (found,) = folder.glob("xlascope-*.whl")
    return found
