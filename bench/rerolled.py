"""What it does to unrolled programs that repeats become loops: jax, ours with ``reroll`` "off", "auto" and "always".

``python -m bench.rerolled`` makes the table anew, in REPORTS.md too, where it leaves the others alone;
``python -m bench.rerolled lstm_64`` prints one row. All four live at once, a process each, and are asked in turn. What
they give is compared with the same program in numbers of twice the width.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from typing import Any

from .kept import measure as measured
from .kept import ratio, serve, started
from .results import replace_table
from .unrolled import UNROLLED

COMPARED = ("jax", "off", "auto", "always")
SIDES: dict[str, dict[str, str]] = {
    "jax": {},
    **{name: {"XLASCOPE_REROLL": name} for name in COMPARED[1:]},
    "wide": {"XLASCOPE_REROLL": "off", "XLASCOPE_ENABLE_X64": "1"},
}
HEAD = [
    "| unrolled program | compile: jax | off | auto | always | auto / jax | always / jax | always / off "
    "| run: jax | off | auto | always | auto / off | always / off | temporaries and results, always / off "
    "| instructions: jax, off, auto, always | error: jax, off, auto, always |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
]


def row(name: str, found: dict[str, Any]) -> str:
    """A program's row."""
    sides = [found[each] for each in COMPARED]
    jax, off, auto, always = sides
    compiles = " | ".join(f"{each['seconds']:.2f} s" for each in sides)
    runs = " | ".join(f"{statistics.median(each['run']) * 1e3:.3g} ms" for each in sides)
    shorter = (auto["seconds"] / jax["seconds"], always["seconds"] / jax["seconds"], always["seconds"] / off["seconds"])
    instructions = ", ".join(f"{each['instructions']:,}" for each in sides)
    errors = ", ".join(f"{each['error']:.0e}" for each in sides)
    return (
        f"| {name} | {compiles} | {shorter[0]:.2f} | **{shorter[1]:.2f}** | {shorter[2]:.2f} | {runs} "
        f"| **{ratio(auto, off):.3f}** | {ratio(always, off):.3f} | {always['bytes'] / max(off['bytes'], 1):.2f} "
        f"| {instructions} | {errors} |"
    )


def main(names: Sequence[str]) -> None:
    """Print the rows of some programs; of all, and into REPORTS.md, when none is named."""
    lines = [*HEAD]
    print("\n".join(lines), flush=True)
    with started("bench.rerolled", SIDES) as sides:
        for name in names or UNROLLED:
            lines.append(row(name, measured(sides, name, COMPARED)))
            print(lines[-1], flush=True)
    if not names:
        replace_table(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], UNROLLED)
    else:
        main(sys.argv[1:])
