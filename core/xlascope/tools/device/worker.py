"""The process of a part: ``python -m xlascope.tools.device.worker PART JOURNAL …``, started by the supervisor."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import (
    benchmark_programs,
    environment,
    jit_options,
    more_checks,
    operations,
    profiles,
    questions,
    transfers,
    watched_scripts,
)
from .context import Context
from .programs.journal import Item, Journal

ITEMS: dict[str, Callable[[Context], Iterable[Item]]] = {
    "environment": environment.items,
    "checks": more_checks.items,
    "programs": benchmark_programs.items,
    "profiles": profiles.items,
    "memory": transfers.items,
    "operations": operations.items,
    "questions": questions.items,
    "settings": jit_options.items,
    "watch": watched_scripts.items,
}


def main(words: Sequence[str]) -> None:
    """Run the checks of a part that no earlier process has begun, and write their outcomes to the journal.

    ``words`` are the supervisor's arguments, part, journal, platform, size, seconds, items to skip, folder, items
    that crashed.
    """
    part, journal_path, platform, size, seconds, skip, folder, crashed = words
    journal = Journal(journal_path, float(seconds), json.loads(skip))
    context = Context(Path(folder), platform or None, size, frozenset(json.loads(crashed)), journal.seconds_left)
    journal.run(ITEMS[part](context))
    journal.run([Item(f"no jax in {part}", _check_modules)])


def _check_modules() -> str:
    loaded = [name for name in ("jax", "IPython", "anywidget") if name in sys.modules]
    assert not loaded, f"{', '.join(loaded)} was imported"
    return "no module of jax, IPython or anywidget was imported"


if __name__ == "__main__":
    main(sys.argv[1:])
