"""Every notebook in a kernel of Colab's shape, its outputs in frames of their own: see tests/notebooks/colab.py."""

import sys
import types
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from notebooks.making import address, first_cell
from playwright.sync_api import Browser
from tests.browser.conftest import SCREENSHOTS
from tests.notebooks import colab

FILES = address.notebook_files()
SMALL = """%load_ext xlascope
import xlascope as xs, xlascope.numpy as jnp
def f(x): return jnp.tanh(x) * 2
xs.jit(f)(1.0)"""


def shown(notebook: Any, states: dict[str, Any], browser: Browser, name: str) -> list[str]:
    """The words of each panel, every one in its frame; no script may fail."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    panels = [output for output in outputs if colab.WIDGET in output.get("data", {})]
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.set_content(colab.page_of(panels, states))
        words = []
        for number, panel in enumerate(panels):
            metadata = panel.metadata[colab.WIDGET]["colab"]["custom_widget_manager"]
            assert metadata["url"].startswith("https://ssl.gstatic.com/")
            frame = page.frame_locator("iframe").nth(number)
            frame.locator(".xs-strip").wait_for(timeout=60_000)
            words.append(" ".join(frame.locator(".xs-strip").inner_text().split()))
        assert errors == []
        return words
    finally:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"colab_{name}.png")
        page.close()


def test_a_panel_is_drawn_in_a_frame_of_its_own(chromium: Browser) -> None:
    cells = [SMALL.split("\n", 2)[0], SMALL.split("\n", 1)[1], "%explore f(2.0)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    strip, panel = shown(notebook, colab.run(notebook, Path.cwd()), chromium, "small")
    assert "traced f" in strip and "f" in panel


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_notebook_on_colab(path: Path, chromium: Browser) -> None:
    notebook = nbformat.read(path, as_version=4)
    first_cell.write(notebook)
    words = shown(notebook, colab.run(notebook, path.parent), chromium, path.stem)
    assert any("traced" in each for each in words)


@pytest.mark.parametrize("on_colab", [False, True])
def test_the_first_cell_installs_where_it_is_missing(on_colab: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    shell = InteractiveShell()
    shell.register_magic_function(asked.append, "line", "pip")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    if on_colab:
        monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert shell.run_cell(first_cell.source()).success
    extras = first_cell.COLAB_EXTRAS if on_colab else first_cell.EXTRAS
    assert asked == [f'install --quiet "xlascope[{extras}] @ git+{address.repository()}"']
