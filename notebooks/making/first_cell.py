"""The first code cell of each notebook, which installs xlascope where it is missing."""

from __future__ import annotations

from typing import Any

from .address import repository

TAG = "install"
#: What else a notebook imports, and what it needs on Colab: jax is there, and has to follow the newer jaxlib.
EXTRAS, COLAB_EXTRAS = "notebooks", "notebooks,jax"


def source() -> str:
    """The cell's code.

    >>> "pip install" in source()
    True
    """
    return f"""\
# Installs xlascope where it is missing, as on Colab.
import importlib.util
import sys

if importlib.util.find_spec("xlascope") is None:
    extras = "{COLAB_EXTRAS}" if "google.colab" in sys.modules else "{EXTRAS}"
    %pip install --quiet "xlascope[{{extras}}] @ git+{repository()}" """.rstrip()


def write(notebook: Any) -> None:
    """Give the notebook its first cell: the one with the tag, which has to be its first code cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not cells or TAG not in cells[0].metadata.get("tags", []):
        raise ValueError(f"the first code cell has to have the tag {TAG!r}: its source is written here")
    cells[0].source = source()
