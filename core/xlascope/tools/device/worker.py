"""The process of a part: ``python -m xlascope.tools.device.worker PART JOURNAL …``, started by the supervisor."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import (
    environment,
    more_checks,
    operations,
    profiles,
    questions,
    settings,
    transfers,
    watched_scripts,
    whole_programs,
)
from .context import Context
from .programs.journal import Item, Journal

ITEMS: dict[str, Callable[[Context], Iterable[Item]]] = {
    "environment": environment.items,
    "checks": more_checks.items,
    "programs": whole_programs.items,
    "profiles": profiles.items,
    "memory": transfers.items,
    "operations": operations.items,
    "questions": questions.items,
    "settings": settings.items,
    "watch": watched_scripts.items,
}


def main(words: Sequence[str]) -> None:
    """Run the items of a part that no earlier process has begun."""
    part, journal_path, platform, size, seconds, skip, folder, crashed = words
    journal = Journal(journal_path, float(seconds), json.loads(skip))
    context = Context(Path(folder), platform or None, size, frozenset(json.loads(crashed)), journal.remaining)
    journal.run(ITEMS[part](context))
    journal.run([Item(f"no jax in {part}", _check_modules)])


def _check_modules() -> str:
    loaded = [name for name in ("jax", "IPython", "anywidget") if name in sys.modules]
    assert not loaded, f"{', '.join(loaded)} was imported"
    return "no module of jax, IPython or anywidget was imported"


if __name__ == "__main__":
    main(sys.argv[1:])
