"""Cache folder of the user, and small facts that are stored in it.

Nothing that is read here is executed; code that loads native libraries checks their owner first
(`xla/system/private_files.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def cache_folder() -> Path | None:
    """Return the folder of xlascope in the user's cache, which need not exist; None without a home folder."""
    base = "~/Library/Caches" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = os.path.expanduser(base)
    return None if path.startswith("~") else Path(os.path.abspath(path), "xlascope")


def read_fact(kind: str, name: str) -> Any:
    """Return the JSON value that :func:`write_fact` stored; None if there is none or it cannot be read.

    ``kind`` is the name of a subfolder of the cache folder, ``name`` that of the file in it.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        return json.loads((folder / kind / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None


def write_fact(kind: str, name: str, fact: Any) -> None:
    """Store a JSON value in the user's cache folder; do nothing if the folder cannot be written.

    ``kind`` is the name of a subfolder, ``name`` that of the file in it, without extension.
    """
    folder = cache_folder()
    if folder is None:
        return
    part = folder / kind / f".{name}.{os.getpid()}.part"
    with contextlib.suppress(OSError):
        part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_text(json.dumps(fact))
        part.replace(folder / kind / f"{name}.json")
