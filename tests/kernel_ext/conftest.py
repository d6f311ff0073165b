"""Shells to test in: one in this process, as in a terminal, and a real kernel in a process of its own."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import start_new_kernel

SETUP = """
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp

def loss(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)

@xs.jit
def update(w, x):
    return w - 0.01 * xs.grad(loss)(w, x)

w, x = np.ones((8, 4), np.float32), np.ones((16, 8), np.float32)
"""

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="session")
def setup() -> str:
    """The source of a training step."""
    return SETUP


class Terminal:
    """An interactive shell in this process; what a cell prints and shows is returned."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.shell = InteractiveShell.instance()
        self.shell.colors = "nocolor"
        self._capsys = capsys

    def run(self, code: str, *, fails: bool = False) -> str:
        self._capsys.readouterr()
        result = self.shell.run_cell(code, store_history=True)
        out, err = self._capsys.readouterr()
        assert (not result.success) == fails, out + err
        return out + err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """A plain shell with a training step in it, and the extension loaded."""
    terminal = Terminal(capsys)
    terminal.run(SETUP)
    terminal.run("%load_ext xlascope")
    yield terminal
    with contextlib.suppress(Exception):
        terminal.run("%unload_ext xlascope")
    InteractiveShell.clear_instance()


@dataclass
class Output:
    """What one cell sent, in order: (seconds since its start, kind, content)."""

    messages: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [content for _, kind, content in self.messages if kind in kinds]

    @property
    def displayed(self) -> dict[str, Any]:
        """The one display of the cell."""
        (found,) = self.of("display_data")
        return found

    @property
    def final(self) -> dict[str, Any]:
        """What the display was updated to at the end."""
        (found,) = self.of("update_display_data")
        return found

    @property
    def text(self) -> str:
        return "".join(content["text"] for content in self.of("stream"))

    @property
    def live(self) -> list[dict[str, Any]]:
        """The states of the panel's moving numbers, in order."""
        states = (content["data"].get("state", {}) for content in self.of("comm_msg"))
        return [state["live"] for state in states if "live" in state]


class Kernel:
    """A kernel in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.manager, self.client = start_new_kernel(cwd=str(folder))

    def run(
        self,
        code: str,
        during: Callable[[float], None] = lambda seconds: None,
        timeout: float = 60,
        metadata: dict[str, str] | None = None,
        watch: Callable[[Output], None] = lambda output: None,
    ) -> Output:
        """Run a cell to its end; ``during`` is called after each message with the seconds since its start.

        So is ``watch``, with the output so far.
        ``metadata`` is what a page sends with the code, as in ``{"cellId": "a"}``.
        """
        began, output = time.monotonic(), Output()
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True}
        request = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(request)
        number = request["header"]["msg_id"]
        while True:
            message = self.client.get_iopub_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") != number:
                continue
            kind, content = message["msg_type"], message["content"]
            output.messages.append((time.monotonic() - began, kind, content))
            if kind == "status" and content["execution_state"] == "idle":
                break
            during(time.monotonic() - began)
            watch(output)
        # A kernel that was slow to start answers the questions of its start late: those replies are not ours.
        while self.client.get_shell_msg(timeout=timeout)["parent_header"]["msg_id"] != number:
            pass
        json.dumps([content for _, _, content in output.messages])  # a front end gets no more than JSON
        return output

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def new_kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel in which nothing has happened yet."""
    kernel = Kernel(tmp_path)
    yield kernel
    kernel.stop()


@pytest.fixture(scope="session")
def _kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path_factory.mktemp("kernel"))
    assert not kernel.run("%load_ext xlascope").of("error")
    yield kernel
    kernel.stop()


@pytest.fixture
def kernel(_kernel: Kernel) -> Kernel:
    """The real kernel with the extension loaded, and a training step that has not been traced."""
    assert not _kernel.run("%scope on\n" + SETUP).of("error")
    return _kernel
