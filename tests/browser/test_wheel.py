"""What pip installs, in JupyterLab: the wheel in an environment of its own. See tests/ci/test_wheel.py, too."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests import wheels
from tests.browser.conftest import Lab, LabServer

ROOT = Path(__file__).resolve().parents[2]
CELLS = (
    "%load_ext xlascope\nimport xlascope as xs\nimport xlascope.numpy as jnp",
    "xs.jit(xs.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T))))(jnp.ones((64, 64)))",
)

pytestmark = [pytest.mark.slow, pytest.mark.live, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheels.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A JupyterLab of an environment into which the wheel was installed, with what it asks for."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", str(home / "venv")], check=True)
    python = home / "venv/bin/python"
    began = time.monotonic()
    wheels.pip("install", f"{wheel}[lab]", python=python)
    print(f"pip install took {time.monotonic() - began:.0f} s")
    (home / "server").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        server = LabServer(home / "server", python)
    try:
        server.wait_until_up()
        print(f"JupyterLab answered after {time.monotonic() - began:.0f} s")
        yield server
    finally:
        server.stop()


def test_installed_from_it_a_notebook_opens_a_panel(installed: LabServer, chromium: Browser) -> None:
    lab = Lab(installed, chromium)
    notebook = lab.new(*CELLS, "import xlascope; print(xlascope.__file__)")
    notebook.run_all()
    notebook.wait_idle()
    output = notebook.cell_output(1)
    output.locator(".xs-open").click()
    output.locator(".xs-node").first.wait_for()
    notebook.screenshot("wheel_panel")
    output.locator("[data-pin=pin]").click()
    notebook.page.locator(".xlascope-dock .xs-node").first.wait_for()
    said = "".join(each["text"] for each in notebook.outputs(2))
    assert "site-packages/xlascope/" in said and str(ROOT) not in said
    lab.close()
