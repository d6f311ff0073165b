"""The pages laid out for Sphinx, as they lie in the repository, so that links between them hold."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import nbformat
from notebooks.making import address, first_cell

from .contents import FRONT, LIST, PICTURES, pages, table_below, tables_of_contents
from .panels import shown

_LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
#: What the front page and the list of pages are called there.
INDEX = "index.md"


def lay_out(folder: Path) -> None:
    """Write every page into a folder."""
    for pictures in PICTURES:
        shutil.copytree(address.ROOT / pictures, folder / pictures)
    for path in pages():
        there = folder / path.relative_to(address.ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(_notebook(path) if path.suffix == ".ipynb" else _page(path), encoding="utf-8")
    (folder / INDEX).write_text(f"{_page(address.ROOT / FRONT)}\n{tables_of_contents()}", encoding="utf-8")


def _page(path: Path) -> str:
    text = shown(_linked(path.read_text(encoding="utf-8"), path), _up(path))
    return f"{text}\n{table_below(path)}"


def _notebook(path: Path) -> str:
    """With its links, and without the cell that installs what it needs."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if first_cell.TAG not in cell.metadata.get("tags", [])]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _linked(cell.source, path)
    where = f"[Open in Colab]({address.colab(path)}) · [Open in Binder]({address.binder(path)})"
    title, _, rest = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{title}\n\n{where}\n{rest}"
    return str(nbformat.writes(notebook))


def _linked(text: str, path: Path) -> str:
    """Links to files that are no pages lead to the repository."""
    known = {*pages(), address.ROOT / FRONT, address.ROOT / LIST}

    def found(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if re.match(r"\w+:", target):
            return link[0]
        there = Path(os.path.normpath(path.parent / target))
        if there in (address.ROOT / FRONT, address.ROOT / LIST):
            return f"{_up(path)}{INDEX}{anchor}"
        if there in known or any(there.is_relative_to(address.ROOT / each) for each in PICTURES):
            return link[0]
        kind = "tree" if there.is_dir() else "blob"
        place = there.relative_to(address.ROOT).as_posix()
        return f"{address.repository()}/{kind}/{address.BRANCH}/{place}{anchor}"

    return _LINK.sub(found, text)


def _up(path: Path) -> str:
    """From a page's folder to the site's root."""
    return "../" * (len(path.relative_to(address.ROOT).parts) - 1)
