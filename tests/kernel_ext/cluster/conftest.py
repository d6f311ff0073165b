"""A notebook's kernel with a cluster of two processes, and what it leaves behind."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests import compiling
from tests.kernel_ext.conftest import Kernel, Output

pytest.importorskip("ipyparallel")

#: A cell that takes longer is a failure of the test.
MAX_CELL_SECONDS = 180
SETUP = """%%px
import os, time
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp

mesh = xs.make_mesh((xs.device_count(),), ("x",))
x = xs.device_put(np.arange(8, dtype=np.float32), xs.NamedSharding(mesh, xs.P("x")))
calls = 0

@xs.jit
def summed(x):
    return jnp.sin(x).sum()
"""


class ClusterKernel(Kernel):
    """A kernel in which ``xs`` is imported, the extension is loaded, and a cluster can be started."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in compiling.quickly().items():
            monkeypatch.setenv(name, value)
        super().__init__(folder)
        self.run("%load_ext xlascope\nimport os, signal\nimport xlascope as xs")

    def cell(self, code: str, **options) -> Output:
        return self.run(code, timeout=MAX_CELL_SECONDS, **options)

    def ok(self, code: str, **options) -> Output:
        output = self.cell(code, **options)
        assert not output.of("error"), output.of("error")
        return output

    def start(self, **options) -> None:
        arguments = "".join(f", {name}={value!r}" for name, value in {"timeout": MAX_CELL_SECONDS, **options}.items())
        assert "2 processes on 1 machine" in self.ok(f"cluster = xs.cluster.start(2{arguments})").text
        self.ok(SETUP)

    def error(self, code: str, **options) -> tuple[str, str]:
        """Return the name and the text of the error that a cell ends with."""
        (error,) = self.cell(code, **options).of("error")[-1:]
        return error["ename"], error["evalue"]

    def processes(self) -> list[psutil.Process]:
        """Return all processes that this kernel has started, however deep."""
        return psutil.Process(self.manager.provisioner.process.pid).children(recursive=True)

    def kill(self) -> None:
        psutil.Process(self.manager.provisioner.process.pid).kill()


def text_of(output: Output) -> str:
    """What a cell shows as text: streams, and the last state of each display."""
    shown = [item["data"].get("text/plain", "") for item in output.of("display_data", "update_display_data")]
    return "\n".join([output.text, *shown])


def wait_until_gone(processes: list[psutil.Process], seconds: float = 30) -> list[psutil.Process]:
    """Wait until processes have ended, and return those that have not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        left = [process for process in processes if process.is_running() and process.status() != "zombie"]
        if not left:
            return []
        time.sleep(0.1)
    return left


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterKernel]:
    """One kernel with a cluster of two processes for a file of tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = ClusterKernel(tmp_path_factory.mktemp("cluster"), monkeypatch)
        found.start()
        yield found
        processes = found.processes()
        found.stop()
        assert not wait_until_gone(processes)
