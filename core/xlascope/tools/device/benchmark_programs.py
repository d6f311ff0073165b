"""The part ``programs``: the ten programs on xlascope's engine, in this process."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from .context import Context
from .programs.engine import EngineModules, load_engine
from .programs.journal import Item
from .programs.measure import measure, save_profile
from .programs.table import PROGRAMS


def items(context: Context) -> Iterator[Item]:
    """Yield the checks of this part: each program measured, and a profile of one by ``profiler.start_trace``."""
    engine = load_engine("xlascope")
    for name in PROGRAMS:
        yield Item(name, functools.partial(_measure_program, engine, context, name))
    yield Item("profile of mlp", functools.partial(_save_profile, engine, context))


def _measure_program(engine: EngineModules, context: Context, name: str) -> dict[str, Any]:
    return measure(engine, context.device, name, context.size)


def _save_profile(engine: EngineModules, context: Context) -> str:
    return save_profile(engine, context.device, "mlp", context.size, str(context.folder))
