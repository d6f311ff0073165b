"""What a notebook holds after it was executed and saved: picture and text, for readers without kernel or widgets."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

SETUP = """%load_ext xlascope
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp

@xs.jit
def step(w, x):
    return w - 0.1 * xs.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)

w, x = np.ones((8, 4), np.float32), np.ones((16, 8), np.float32)
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that was executed, and saved."""
    cells = [SETUP, "print('before')\nfor _ in range(50): w = step(w, x)\nprint('after')", "%timings step(w, x)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    file = tmp_path_factory.mktemp("saved") / "saved.ipynb"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(file.parent)}}).execute()
    nbformat.write(notebook, file)
    return file


@pytest.fixture(scope="module")
def outputs(executed: Path) -> list[list[Any]]:
    """The outputs of its cells, as they lie in the file."""
    return [cell.outputs for cell in nbformat.read(executed, as_version=4).cells]


def test_the_strip_stands_between_what_the_cell_prints(outputs: list[list[Any]]) -> None:
    (loaded,) = outputs[0]
    assert loaded.output_type == "stream" and "%unload_ext xlascope" in loaded.text
    assert [each.output_type for each in outputs[1]] == ["stream", "display_data", "stream"]


def test_it_is_picture_and_text(outputs: list[list[Any]]) -> None:
    data = outputs[1][1].data
    assert "ran 50 times" in data["text/plain"]
    assert re.search(r'<img [^>]*src="data:image/svg\+xml;base64,', data["text/html"])


def test_a_question_is_answered_by_picture_and_table(outputs: list[list[Any]]) -> None:
    (answer,) = outputs[2]
    assert "source line" in answer.data["text/plain"] and "<img" in answer.data["text/html"]


def test_a_picture_is_small(outputs: list[list[Any]], tmp_path: Path) -> None:
    assert all(len(each.data["text/html"]) < 200_000 for cell in outputs for each in cell if "data" in each)


def test_a_page_of_it_is_picture_and_text_and_needs_no_widget(executed: Path) -> None:
    """What `jupyter nbconvert --to html --execute` writes: its kernel never had a page, and readers may be offline."""
    notebook = nbformat.read(executed, as_version=4)
    assert "widget" not in json.dumps([cell.outputs for cell in notebook.cells])
    assert len(json.dumps(notebook)) < 500_000
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    pictures = re.findall(r'<img [^>]*src="data:image/svg\+xml;base64,([^"]*)"', page)
    assert len(pictures) == 2
    assert all(b"<text" in base64.b64decode(picture) for picture in pictures)
    assert "ran 50 times" in page and "widget-view" not in page
