"""notebooks/README.md: what there is, where it opens, how long it takes and how large it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from .address import NOTEBOOKS, binder, colab, notebook_files
from .belonging import KEY, is_made

README = NOTEBOOKS / "README.md"

_HEAD = """\
# The notebooks

<!-- made by `make notebooks` from notebooks/making/table.py -->

Each is ten to fifteen minutes of reading, about one idea. They show their outputs here, as pictures; run them, and the
pictures become panels that answer clicks. `make lab NOTEBOOK=notebooks/…` opens one in JupyterLab.

| notebook | runs in | a run takes | in the file |
| --- | --- | --- | --- |
"""

_FOOT = """
*A run takes*: from the start of the kernel to the end of the last cell, by `make notebooks` on two cores of a server
without a GPU. `make notebooks` runs them all again; outputs that differ only in what was measured stay as they are.

## Where they run

| place | what was tried |
| --- | --- |
| JupyterLab 4 | every notebook, in Chromium, by the tests: no error, panels drawn |
| headless (`jupyter nbconvert --execute`) | every notebook, by the tests |
| GitHub, nbviewer | the rules that they are known to have: plain HTML and pixels only, no script, at most 500 kB |
| Binder | its steps, not Binder itself: `pip install .[lab]` into a fresh environment took 80 s on two cores, and \
JupyterLab answered 4 s later; Binder keeps what it has built until the repository changes |
| Colab | **not Colab itself.** The tests run every notebook in a kernel of Colab's shape (a \
stand-in for `google.colab`, its variables, no extension of JupyterLab), and open outputs in frames of their own |
| VS Code | not tried; it shows widgets made with anywidget, which panels are |

On Colab the first cell installs xlascope, and with it a newer jaxlib. Where Colab has loaded its own before that,
`import xlascope` says that the runtime has to be restarted; then run all cells again.
"""


def page() -> str:
    """The text of notebooks/README.md; notebooks that were not made yet are not in it."""
    rows = [_row(path, notebook) for path in notebook_files() if is_made(notebook := nbformat.read(path, as_version=4))]
    return _HEAD + "".join(rows) + _FOOT


def title(notebook: Any) -> str:
    """The heading that it begins with."""
    lines = (line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.splitlines())
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), "(no heading)")


def _row(path: Path, notebook: Any) -> str:
    name = f"[{title(notebook)}]({path.relative_to(NOTEBOOKS).as_posix()})"
    places = f"[Colab]({colab(path)}) · [Binder]({binder(path)})"
    seconds = notebook.metadata[KEY]["seconds"]
    return f"| {name} | {places} | {seconds} s | {size(path)} |\n"


def size(path: Path) -> str:
    """Roughly, so that no word that is changed changes it."""
    return f"< {(path.stat().st_size // 50_000 + 1) * 50} kB"
