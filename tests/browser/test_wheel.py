"""What pip installs: made as `make wheel` makes it, looked into, and used in an environment of its own.

Pip asks an index for hatchling, and for what xlascope stands on; where there is none the tests say so and are skipped.
"""

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import Lab, LabServer
from tests.core.test_layering import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
CELLS = (
    "%load_ext xlascope\nimport xlascope as xs\nimport xlascope.numpy as jnp",
    "xs.jit(xs.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T))))(jnp.ones((64, 64)))",
)

pytestmark = [pytest.mark.slow, pytest.mark.live, pytest.mark.timeout(1500)]


def pip(*arguments: str, python: Path = Path(sys.executable)) -> None:
    """Run pip, in the folders of nobody; skip where it reaches no index."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode and any(word in done.stderr for word in ("No matching distribution", "Connection", "resolve")):
        pytest.skip("pip reaches no index: nothing can be built or installed")
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), ".")
    (found,) = folder.glob("xlascope-*.whl")
    return found


def test_it_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *map(str, PACKAGES.values())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert names == {name.split("/", 1)[1] for name in tracked}
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
    assert {"xlascope/numpy/__init__.pyi", "xlascope_widgets/static/widget.js"} <= names
    assert not any(name.endswith(".ipynb") or "/tests/" in name for name in names)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A JupyterLab of an environment into which the wheel was installed, with what it asks for."""
    home = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", str(home / "venv")], check=True)
    python = home / "venv/bin/python"
    began = time.monotonic()
    pip("install", f"{wheel}[lab]", python=python)
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
    said = "".join(each["text"] for each in notebook.outputs(2))
    assert "site-packages/xlascope/" in said and str(ROOT) not in said
    lab.close()
