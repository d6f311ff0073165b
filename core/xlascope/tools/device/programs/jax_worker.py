"""The process of the part ``jax``: it runs the programs on jax and saves what jax's profiler writes."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence

from .engine import load_engine
from .journal import Item, Journal, Skipped
from .measure import measure, save_profile
from .table import PROGRAMS


def main(words: Sequence[str]) -> None:
    """Measure the programs on jax and write the outcomes to a journal.

    ``words`` are the supervisor's arguments: journal, platform, size, seconds, items to skip, folder.
    """
    path, platform, size, seconds, skip, folder = words
    journal = Journal(path, float(seconds), json.loads(skip))
    if importlib.util.find_spec("jax") is None:
        journal.run([Item("jax", _skip_missing_jax)])
        return
    engine = load_engine("jax")
    device = engine.xs.devices(platform or None)[0]
    items = [Item(name, lambda name=name: measure(engine, device, name, size)) for name in PROGRAMS]  # type: ignore[misc]
    profile = Item("profile of mlp", lambda: save_profile(engine, device, "mlp", size, folder))
    journal.run([*items, Item("no xlascope here", _check_modules), profile])  # the profiler may crash the process


def _skip_missing_jax() -> str:
    raise Skipped("jax is not installed")


def _check_modules() -> str:
    assert "xlascope" not in sys.modules, "xlascope was imported in the process of jax"
    return "the process of jax has no module of xlascope"
