"""The user's folder for what can be made again, and small facts that are kept in it.

Nothing is executed that is read here; who loads native code looks at its owner first (`xla/system/own_files.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def cache_folder() -> Path | None:
    """Return the folder of xlascope in the user's cache, which need not exist; None where the user has no home."""
    base = "~/Library/Caches" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    found = os.path.expanduser(base)
    return None if found.startswith("~") else Path(os.path.abspath(found), "xlascope")


def read_fact(kind: str, name: str) -> Any:
    """Return what was kept under a name, None where nothing was or nothing can be read."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        return json.loads((folder / kind / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None


def keep_fact(kind: str, name: str, fact: Any) -> None:
    """Keep what JSON can hold under a name; do nothing where the folder cannot be written."""
    folder = cache_folder()
    if folder is None:
        return
    part = folder / kind / f".{name}.{os.getpid()}.part"
    with contextlib.suppress(OSError):
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_text(json.dumps(fact))
        part.replace(folder / kind / f"{name}.json")
