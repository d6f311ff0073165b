"""The oracle: jax 0.10.2 in an interpreter of its own, running the same programs as we do."""

import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_RUN = """
import importlib.util, pickle, sys
import jax
import jax.numpy, jax.random, jax.nn, jax.ad_checkpoint, jax.custom_batching, jax.custom_derivatives
spec = importlib.util.spec_from_file_location("programs", sys.argv[1])
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
result = getattr(programs, sys.argv[2])(jax)
sys.stdout.buffer.write(pickle.dumps(result))
"""


def load(path: Path) -> ModuleType:
    """A file of programs that either library can run: functions of the library."""
    spec = importlib.util.spec_from_file_location(f"programs_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def programs() -> Callable[[Path], ModuleType]:
    return load


@pytest.fixture(scope="session")
def jax_says(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """What a program gives with jax as the library: ``jax_says(path, "function", enable_x64="1")``."""
    folder = tmp_path_factory.mktemp("oracle")

    def run(path: Path, function: str, **settings: str) -> Any:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", **{f"JAX_{k.upper()}": v for k, v in settings.items()}}
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(path), function],
            cwd=folder,
            capture_output=True,
            env=environment,
            timeout=560,
        )
        assert done.returncode == 0, done.stderr.decode()
        return pickle.loads(done.stdout)

    return run
