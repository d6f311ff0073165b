"""Whether the outputs in a notebook are those of its code, by a hash of the code that was written beside them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from .address import NOTEBOOKS, ROOT

#: Where a notebook's metadata say what was made.
KEY = "xlascope"
#: Bytes that a notebook with its outputs may take.
MOST_BYTES = 500_000


def code_hash(notebook: Any) -> str:
    """Of all code, in order."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


def is_made(notebook: Any) -> bool:
    """Whether there are outputs in it."""
    return any(cell.get("outputs") for cell in notebook.cells)


def complaint(path: Path, notebook: Any) -> str:
    """What is wrong with a notebook that has outputs, and the way out; nothing where all is well.

    A notebook without any was not made yet, which is how its author leaves it.
    """
    if not is_made(notebook):
        return ""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(NOTEBOOKS) else path.name
    way_out = f"make notebooks BOOK={name}"
    made = notebook.metadata.get(KEY, {})
    if "code" not in made:
        return f"{name} has outputs that `{way_out}` did not make; run it"
    if made["code"] != code_hash(notebook):
        return f"{name}: the code has changed since its outputs were made; run `{way_out}`"
    if path.stat().st_size > MOST_BYTES:
        size = f"{path.stat().st_size:,} bytes, more than {MOST_BYTES:,}"
        return f"{name} takes {size}; show less in it, and run `{way_out}`"
    return ""
