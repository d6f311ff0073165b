"""The reports of ``make bench``: functions that return the lines of tables of other forms than two sides in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import accounts, first_result, own_work, value_costs, watched_jax
from .explorer import explorer
from .functions import functions
from .jury import __main__ as jury
from .newton import table as newton_table
from .steps import table as steps_table
from .watched import costs, short_cells_table, watched


def _watching() -> list[str]:
    """The cost of watching, measured in a real kernel, the modes in turn, against ``%scope off``."""
    found = costs(watched())
    goals = {"strip": ("the strip", "< 1 %"), "panel": ("the panel open", "< 2 %")}
    rows = [
        f"| {name} | {found[mode][1] * 100:.2f} % | {found[mode][0] * 100:+.2f} % | {goal} |"
        for mode, (name, goal) in goals.items()
    ]
    head = "| watching the training loop | threads that watch | loop's time (noise: some %) | goal |"
    return [head, "|---|---|---|---|", *rows, "", *short_cells_table()]


def _explorer() -> list[str]:
    drawn = [f"| {what} | {number} | {goal} |" for what, number, goal in explorer()]
    return ["| the graph explorer, in headless Chromium | | goal |", "|---|---|---|", *drawn]


REPORTS: Mapping[str, Callable[[], list[str]]] = {
    "accounts": accounts.table,
    "first_result": first_result.table,
    "own_work": own_work.table,
    "watched": _watching,
    "watched_jax": watched_jax.table,
    "jury": jury.every_table,
    "shown_times": steps_table,
    "functions": functions,
    "newton": newton_table,
    "explorer": _explorer,
    "value_costs": value_costs.table,
}
