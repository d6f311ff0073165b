"""JupyterLab in a real Chromium: `lab` opens notebooks, and a `LabNotebook` is used as a person uses one.

    def test_something(lab):
        notebook = lab.new("print(6 * 7)")
        notebook.run_all()
        notebook.wait_idle()
        assert "42" in notebook.cell_output(0).inner_text()

Pictures go to build/screenshots/. Without Chromium the tests are skipped; with XLASCOPE_REQUIRE_BROWSER=1 they fail.
The server, the kernels and the browser see folders of their own and the loopback address only.
"""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

HERE = Path(__file__).resolve().parent
SCREENSHOTS = HERE.parents[1] / "build/screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
NO_BROWSER = f"no browser: none of {', '.join(BROWSERS)} is on the path"
TOKEN = "xlascope-tests"

# Without it JupyterLab asks which kernel to start.
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

SETTINGS = {
    # The news pop-up would cover the lower right of every picture.
    "@jupyterlab/apputils-extension:notification": {
        "checkForUpdates": False,
        "doNotDisturbMode": True,
        "fetchNews": "false",
    },
    # Saved when a test says so, so that no dialog about a newer file on disk appears.
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}

# Each page that is opened would have the server ask Node whether JupyterLab has to be built anew.
PAGE = {"buildAvailable": False, "buildCheck": False}

OPENED = """() => {
    const main = [...(window.jupyterapp?.shell?.widgets('main') ?? [])];
    const panel = main.find(widget => widget.context && widget.content?.widgets);
    if (panel) window.xlascopeLab = {app: window.jupyterapp, panel, pending: 0};
    return panel !== undefined;
}"""

READY = """() => {
    const {app, panel} = window.xlascopeLab;
    const ready = async () => {
        await app.restored;
        await panel.context.ready;
        await panel.sessionContext.ready;
        await panel.revealed;
        await panel.sessionContext.session.kernel.info;
    };
    const late = new Promise((_, fail) => setTimeout(() => fail(new Error('the kernel did not come up')), 60_000));
    return Promise.race([ready(), late]);
}"""

EXECUTE = """([command, args]) => {
    const lab = window.xlascopeLab;
    lab.pending += 1;
    lab.app.commands.execute(command, args).finally(() => { lab.pending -= 1; });
}"""

FINISHED = """() => {
    const {panel, pending} = window.xlascopeLab;
    const busy = cell => cell.model.type === 'code' && cell.model.executionState === 'running';
    return pending === 0 && !panel.content.widgets.some(busy);
}"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser skip the tests of this folder, and say so once for each file."""
    if CHROMIUM is None and os.environ.get("XLASCOPE_REQUIRE_BROWSER") != "1":
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(pytest.mark.skip(NO_BROWSER))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def use_tool(within: Page | Locator, command: str) -> None:
    """Click a tool of a panel, in the menu where it is in there."""
    tool = within.locator(f"[data-command={command}]")
    if not tool.is_visible():
        within.locator("[data-command=more]").click()
    tool.click()


def group_by(within: Page | Locator, kind: str) -> None:
    """Choose how the equations of a panel are grouped, in the menu of tools where that is in there."""
    grouping = within.locator(".xs-grouping")
    try:
        if not grouping.is_visible():
            within.locator("[data-command=more]").click()
        grouping.select_option(kind, timeout=5000)
    except PlaywrightTimeoutError:  # the tools were fitted to the panel's width after the look at them
        if not grouping.is_visible():
            within.locator("[data-command=more]").click()
        grouping.select_option(kind)


class LabServer:
    """A JupyterLab server of our own, whose kernel is its Python: the one that runs the tests, or another."""

    def __init__(self, home: Path, python: Path = Path(sys.executable)) -> None:
        self.root = home / "root"
        self.root.mkdir()
        config = home / "config"
        (config / "labconfig").mkdir(parents=True)
        (config / "labconfig/default_setting_overrides.json").write_text(json.dumps(SETTINGS))
        (config / "labconfig/page_config.json").write_text(json.dumps(PAGE))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = home / "server.log"
        environment = os.environ | {
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_CONFIG_DIR": str(config),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "user-settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        }
        if python == Path(sys.executable):  # another has what was installed there
            environment["JUPYTER_PATH"] = str(HERE.parents[1] / "widgets/jupyter")
        command = [str(python), "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1"]
        command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"]
        command += [f"--ServerApp.root_dir={self.root}", "--LabApp.expose_app_in_browser=True"]
        # Notebook 7, where it is installed, is a page of the same server.
        command.append("--JupyterNotebookApp.expose_app_in_browser=True")
        if os.geteuid() == 0:
            command.append("--ServerApp.allow_root=True")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def request(self, method: str, path: str) -> Any:
        """Ask the server's API; an empty answer is None."""
        request = urllib.request.Request(self.url + path, method=method, headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")

    def wait_until_up(self, seconds: float = 60) -> None:
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                self.request("GET", "/api/status")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not come up:\n{self.log.read_text()}")

    def end_sessions(self) -> None:
        """End every kernel; one that is left over would be silently reused for a notebook of the same name."""
        for session in self.request("GET", "/api/sessions"):
            self.request("DELETE", f"/api/sessions/{session['id']}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()


class LabNotebook:
    """One notebook, open in JupyterLab. Cells are counted from 0, text cells included."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.path = path
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def wait_ready(self) -> None:
        """Wait until the notebook is drawn and its kernel has answered."""
        self.page.wait_for_function(OPENED, timeout=60_000)
        self.page.evaluate(READY)
        self.wait_for_splash()

    def wait_for_splash(self) -> None:
        """Wait until the curtain is up that JupyterLab drops while it loads itself or a theme."""
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def execute(self, command: str, **args: Any) -> None:
        """Start one of JupyterLab's commands, without waiting for its end."""
        self.page.evaluate(EXECUTE, [command, args])

    def run_all(self) -> None:
        """Start every cell, as Run → Run All Cells does; see `wait_idle`."""
        self.execute("notebook:run-all-cells")

    def run_cell(self, index: int) -> None:
        """Select one cell and start it; see `wait_idle`."""
        self.select(index)
        self.execute("notebook:run-cell")

    def select(self, index: int) -> None:
        """Make a cell the active one and bring it into view: cells out of view are not in the page."""
        self.page.evaluate(
            """async index => {
                const notebook = window.xlascopeLab.panel.content;
                notebook.activeCellIndex = index;
                await notebook.scrollToItem(index);
            }""",
            index,
        )

    def wait_idle(self, seconds: float = 120) -> None:
        """Wait until every started command has ended and no cell runs, by the model rather than by prompts."""
        self.page.wait_for_function(FINISHED, timeout=seconds * 1000)

    def is_running(self, index: int) -> bool:
        """Tell whether a cell is being run right now."""
        return bool(
            self.page.evaluate(
                "index => window.xlascopeLab.panel.content.widgets[index].model.executionState === 'running'", index
            )
        )

    def cell(self, index: int) -> Locator:
        """Bring a cell into view and return it."""
        self.select(index)
        return self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) [data-windowed-list-index='{index}']")

    def cell_output(self, index: int) -> Locator:
        """Everything drawn below a cell."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Return a cell's outputs as they would be saved."""
        script = "index => window.xlascopeLab.panel.content.widgets[index].model.outputs.toJSON()"
        return list(self.page.evaluate(script, index))

    def interrupt(self) -> None:
        """Interrupt the kernel, as the stop button does."""
        self.execute("notebook:interrupt-kernel")

    def restart(self) -> None:
        """Give the notebook a fresh kernel, without asking, and keep the outputs."""
        self.page.evaluate("() => window.xlascopeLab.panel.sessionContext.restartKernel()")

    def save(self) -> None:
        """Save; the file is written when this returns."""
        self.page.evaluate("() => window.xlascopeLab.panel.context.save()")

    def theme(self, name: str) -> None:
        """Switch to the "light" or the "dark" theme, and wait until it is on."""
        self.execute("apputils:change-theme", theme=f"JupyterLab {name.title()}")
        light = "true" if name == "light" else "false"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.wait_for_splash()

    def screenshot(self, name: str, of: Locator | None = None) -> Path:
        """Write a picture of the page, or of a part of it, to build/screenshots/NAME.png."""
        path = SCREENSHOTS / f"{name}.png"
        (of or self.page).screenshot(path=path)
        return path

    def close(self) -> None:
        """Leave the page."""
        self.page.close()


class Lab:
    """JupyterLab in one browser: the notebooks of one test."""

    #: Where a notebook is opened: JupyterLab's page for one document.
    place = "doc/tree"

    def __init__(self, server: LabServer, browser: Browser) -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.opened: list[LabNotebook] = []

    def new(self, *sources: str, name: str = "test.ipynb") -> LabNotebook:
        """Open a new notebook with one code cell for each source."""
        path = self.server.root / name
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), path)
        return self.open(path)

    def copy(self, path: Path) -> LabNotebook:
        """Open a copy of a notebook of the repository."""
        return self.open(Path(shutil.copy(path, self.server.root / path.name)))

    def open(self, path: Path) -> LabNotebook:
        """Open a notebook that lies in the server's folder, in a page of its own."""
        notebook = LabNotebook(self.context.new_page(), path)
        self.opened.append(notebook)
        address = f"{self.server.url}/{self.place}/{path.relative_to(self.server.root)}?reset&token={TOKEN}"
        notebook.page.goto(address, wait_until="domcontentloaded")
        notebook.wait_ready()
        return notebook

    def reopen(self, notebook: LabNotebook, *, keep_kernel: bool = False) -> LabNotebook:
        """Close a notebook and open it again as its author: its outputs are trusted."""
        notebook.close()
        self.opened.remove(notebook)
        if not keep_kernel:
            self.server.end_sessions()
        return self.open(notebook.path)

    def reopen_untrusted(self, notebook: LabNotebook) -> LabNotebook:
        """Close a notebook and open what was saved as a stranger gets it: no kernel of before, no trust in its outputs.

        Trust is a signature of the content, so a copy that differs in its metadata has none.
        """
        notebook.close()
        self.opened.remove(notebook)
        self.server.end_sessions()
        content = nbformat.read(notebook.path, as_version=4)
        content.metadata["copy_of"] = notebook.path.name
        stranger = notebook.path.with_name(f"untrusted_{notebook.path.name}")
        nbformat.write(content, stranger)
        return self.open(stranger)

    def close(self) -> None:
        """Close every page, end every kernel, and go back to the light theme, which JupyterLab remembers."""
        for notebook in self.opened:
            if not notebook.page.is_closed() and notebook.page.locator("body[data-jp-theme-light='false']").count():
                notebook.theme("light")
        self.context.close()
        self.server.end_sessions()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One server for all browser tests."""
    server = LabServer(tmp_path_factory.mktemp("jupyter"))
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for each file: Playwright keeps an event loop in this thread while it is open."""
    options = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    if CHROMIUM is None:
        pytest.fail(NO_BROWSER, pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def windows(chromium: Browser) -> Callable[..., BrowserContext]:
    """One window of each kind for each file: a page in it takes a third of the time of one with a window of its own."""

    @functools.cache
    def window(**kind: Any) -> BrowserContext:
        found = chromium.new_context(**kind)
        found.new_page()  # stays, and with it the process that draws the pages
        return found

    return window


@pytest.fixture
def new_page(windows: Callable[..., BrowserContext]) -> Callable[[int, int], Page]:
    """Opens a page as large as that: ``new_page(1280, 900)``."""

    def opened(width: int, height: int) -> Page:
        page = windows().new_page()
        page.set_viewport_size({"width": width, "height": height})
        return page

    return opened


@pytest.fixture
def lab(chromium: Browser, lab_server: LabServer) -> Iterator[Lab]:
    """JupyterLab, ready to open notebooks."""
    lab = Lab(lab_server, chromium)
    yield lab
    lab.close()


class Notebook7(Lab):
    """The same in Notebook 7."""

    place = "notebooks"


@pytest.fixture(params=[Lab, pytest.param(Notebook7, marks=pytest.mark.slow)], ids=["lab", "notebook7"])
def front_end(request: pytest.FixtureRequest, chromium: Browser, lab_server: LabServer) -> Iterator[Lab]:
    """Each front end in turn: JupyterLab, Notebook 7."""
    front_end = request.param(lab_server, chromium)
    yield front_end
    front_end.close()
