"""Eight virtual devices: programs run in a process of their own, since this one has a device already."""

import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import compiling

_RUN = """
import importlib.util, pickle, sys
import xlascope
spec = importlib.util.spec_from_file_location("programs", sys.argv[1])
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
found = getattr(programs, sys.argv[2])(xlascope)
with open(sys.argv[3], "wb") as file:
    pickle.dump(found, file)
"""
DEVICES = 8


@pytest.fixture(scope="session")
def on_eight(tmp_path_factory: pytest.TempPathFactory):
    """What a function of a file of programs gives on eight devices: ``on_eight(path, "function")``."""

    @functools.cache
    def run(path: Path, function: str) -> Any:
        into = tmp_path_factory.mktemp("eight") / "found"
        environment = os.environ | compiling.quickly() | {"XLASCOPE_NUM_CPU_DEVICES": str(DEVICES)}
        done = subprocess.run(
            [sys.executable, "-P", "-c", _RUN, str(path), function, str(into)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return pickle.loads(into.read_bytes())  # written a moment ago by the process above

    return run
