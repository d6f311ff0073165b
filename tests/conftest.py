"""What every test may use: the repository's root, and an interpreter that has imported nothing yet."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples in every run, and no deadline: a first call compiles.
hypothesis.settings.register_profile("xlascope", deadline=None, derandomize=True)
hypothesis.settings.load_profile("xlascope")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def fresh_python(tmp_path: Path) -> Callable[[str], str]:
    """Run a program in an interpreter of its own and return what it printed; fail with its traceback."""

    def run(program: str, timeout: float = 120) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
