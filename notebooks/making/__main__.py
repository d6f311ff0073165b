"""`python -m notebooks.making [NOTEBOOK …]`: run notebooks and keep what they show; `--check` only looks."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient.exceptions import CellExecutionError

from . import address, first_cell, table
from .belonging import KEY, MOST_BYTES, code_hash, complaint, is_made
from .running import run
from .same import keep_what_is_same
from .standing import standing

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python"}
#: What of a cell's metadata is kept, and what of a notebook's: Colab reads there which runtime is wanted.
OF_CELLS, OF_NOTEBOOKS = ("tags", "jupyter", "cellView"), ("accelerator", "colab")
#: Bytes of one picture, and whether loops have pictures: the first with which the notebook is small enough.
PICTURES = (
    *((100_000, True), (80_000, True), (65_000, True), (50_000, True), (35_000, True)),
    *((65_000, False), (35_000, False)),
)


def main() -> int:
    """Make the notebooks that are named, or all; the pages that list them."""
    arguments = argparse.ArgumentParser(prog="python -m notebooks.making", description=__doc__)
    arguments.add_argument("notebooks", nargs="*", type=Path)
    arguments.add_argument("--check", action="store_true", help="only say where code and outputs are not of each other")
    arguments.add_argument("--pages", action="store_true", help="only write the pages that list them")
    arguments.add_argument("--afresh", action="store_true", help="keep no output, even where it says the same")
    chosen = arguments.parse_args()
    paths = [path.resolve() for path in chosen.notebooks] or address.notebook_files()
    if chosen.check:
        found = [told for path in paths if (told := complaint(path, nbformat.read(path, as_version=4)))]
        print("\n".join(found) or "code and outputs belong together")
        return len(found) > 0
    failed = [path for path in paths if not chosen.pages and not is_made_now(path, afresh=chosen.afresh)]
    write_pages()
    return len(failed) > 0


def is_made_now(path: Path, *, afresh: bool) -> bool:
    """Make one notebook, and tell whether it ran to its end; where it did not, its file stays as it was."""
    try:
        make(path, afresh=afresh)
    except CellExecutionError as error:
        print(f"{path.relative_to(address.ROOT)}: {error}", file=sys.stderr)
        return False
    return True


def make(path: Path, *, afresh: bool = False) -> None:
    """Run one notebook, and write it with what it shows."""
    old = nbformat.read(path, as_version=4)
    new = nbformat.read(path, as_version=4)
    first_cell.write(new)
    _normalize(new)
    print(f"{path.relative_to(address.ROOT)}: running", flush=True)
    began = time.monotonic()
    run(new, path.parent)
    seconds = time.monotonic() - began
    is_known = is_made(old) and old.metadata.get(KEY, {}).get("code") == code_hash(new)
    text = _written(new, old if is_known and not afresh else None, seconds)
    path.write_text(text, encoding="utf-8")
    said = f"{seconds:.0f} s, {len(text.encode()):,} bytes"
    print(f"{path.relative_to(address.ROOT)}: {said}", flush=True)
    if len(text.encode()) > MOST_BYTES:
        print(f"  more than {MOST_BYTES:,} bytes: show less in it", file=sys.stderr)


def write_pages() -> None:
    """The list of notebooks, and the README's badges."""
    table.README.write_text(table.page(), encoding="utf-8")
    readme = address.ROOT / "README.md"
    with_badges = address.with_badges(readme.read_text(encoding="utf-8"), address.notebook_files()[0])
    readme.write_text(with_badges, encoding="utf-8")


def _written(ran: Any, old: Any, seconds: float) -> str:
    """The notebook as text, with pictures as sharp as its size allows."""
    before = old.metadata.get(KEY, {}).get("seconds", 0) if old is not None else 0
    ran.metadata.language_info = nbformat.from_dict(LANGUAGE)
    ran.metadata[KEY] = {"code": code_hash(ran), "seconds": _about(seconds, before)}
    for most, loops in PICTURES:
        notebook = nbformat.from_dict(ran)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.metadata.pop("execution", None)
                cell.outputs = standing(cell.outputs, cell.metadata.get("tags", []), most, loops=loops)
        if old is not None:
            keep_what_is_same(notebook, old)
        nbformat.validate(notebook)
        text = nbformat.writes(notebook) + "\n"
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _about(seconds: float, before: int) -> int:
    """Seconds in steps that nobody's load changes: the number of before while it is not far off."""
    return before if before and 0.5 < seconds / before < 2 else max(1, round(seconds))


def _normalize(notebook: Any) -> None:
    """Leave nothing in the metadata that belongs to one machine or one front end."""
    kept = {key: notebook.metadata[key] for key in OF_NOTEBOOKS if key in notebook.metadata}
    notebook.metadata = nbformat.from_dict({**kept, "kernelspec": KERNEL, "language_info": LANGUAGE})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in OF_CELLS if key in cell.metadata})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None


if __name__ == "__main__":
    sys.exit(main())
