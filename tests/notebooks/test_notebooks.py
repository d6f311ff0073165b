"""Every notebook runs from top to bottom in a kernel of this Python."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from notebooks.making import address, first_cell
from notebooks.making.belonging import KEY
from notebooks.making.running import run

#: Seconds that notebooks may take in `make test`; the others are marked slow, and so are those not measured yet.
BUDGET = 60


def rows() -> list[Any]:
    """The notebooks in their order, slow from where their measured times add up to more than there is."""
    found, total = [], 0
    for path in address.notebook_files():
        seconds = nbformat.read(path, as_version=4).metadata.get(KEY, {}).get("seconds")
        total += seconds or 0
        slow = seconds is None or seconds > BUDGET / 3 or total > BUDGET
        found.append(pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if slow else []))
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", rows())
def test_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    first_cell.write(notebook)
    run(notebook, path.parent)
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip())
