"""``python -m bench.jury``: run the jury and print its table.

``--where`` chooses places, ``--only`` programs, ``--load`` keeps two other processes busy meanwhile; ``--rounds`` runs
each program several times and shows the round of the median ratio.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from ..results import replace_table
from .places import PLACES, busy
from .programs import PROGRAMS
from .verdicts import LEGEND, SUMMARY_HEAD, Judged, compare, failing, middle_round, summary_row, table

#: Processes that keep the processors busy under load.
BUSY_PROCESSES = 2


def available(names: Sequence[str] | None = None) -> list[str]:
    """Return the programs, or those of ``names``, whose packages are installed."""
    chosen = [PROGRAMS[name] for name in names or PROGRAMS]
    return [
        program.name
        for program in chosen
        if all(importlib.util.find_spec(package) for package in (program.engine, *program.needs))
    ]


def judge(place: str, names: Sequence[str], *, load: bool = False, rounds: int = 1, log: str = "") -> Place:
    """Return what programs show in a place; what each run showed is appended to the file ``log``."""
    found = Place([], [])
    for name in names:
        runs = []
        for _ in range(rounds):
            load_average = _load_average()
            with busy(BUSY_PROCESSES if load else 0):
                try:
                    seen = PLACES[place](PROGRAMS[name])
                except Exception as error:
                    print(f"{name}: {error}", file=sys.stderr, flush=True)
                    continue
            runs.append(compare(name, seen))
            if log:
                with open(log, "a", encoding="utf-8") as file:
                    about = {"name": name, "place": place, "load": load, "load_average": load_average}
                    file.write(json.dumps(about | seen) + "\n")
            found.load_averages.append(load_average)
        if runs:
            judged = middle_round(runs)
            print("\n".join(table(judged)[2:]), file=sys.stderr, flush=True)
            found.judged.extend(judged)
    return found


def _load_average() -> float:
    """Return how many processes compete for processors, on the mean of a minute; nan where it is not known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


class Place(NamedTuple):
    """What programs showed in a place, and the load averages of the machine before each ran."""

    judged: list[Judged]
    load_averages: list[float]


Found = dict[str, Place]
"""What programs showed, by the title of the table."""


def run(places: Sequence[str], names: Sequence[str], loads: Sequence[bool], rounds: int, log: str) -> Found:
    """Run programs in places, quiet and under load."""
    found: Found = {}
    for place in places:
        for load in loads:
            began = time.perf_counter()
            found[_title(place, load)] = judge(place, names, load=load, rounds=rounds, log=log)
            judged = found[_title(place, load)].judged
            print(f"{place}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
            print("not right:", *failing(judged), file=sys.stderr, flush=True)
    return found


def read(log: str) -> Found:
    """Return what a file that ``--log`` made has of programs."""
    runs: dict[str, dict[str, list[list[Judged]]]] = {}
    load_averages: dict[str, list[float]] = {}
    with open(log, encoding="utf-8") as file:
        for seen in map(json.loads, file):
            title = _title(seen["place"], seen["load"])
            runs.setdefault(title, {}).setdefault(seen["name"], []).append(compare(seen["name"], seen))
            load_averages.setdefault(title, []).append(seen.get("load_average", math.nan))
    return {
        title: Place([rows for rounds in by_name.values() for rows in middle_round(rounds)], load_averages[title])
        for title, by_name in runs.items()
    }


def _title(place: str, load: bool) -> str:
    return f"{place}, beside two busy processes" if load else place


def tables(found: Found) -> list[list[str]]:
    """Return the table of each place, and one that sums them up."""
    blocks, sums = [], list(SUMMARY_HEAD)
    for title, place in found.items():
        head, *rest = table(place.judged)
        blocks.append([head.replace("| jury |", f"| the jury in {title} |"), *rest])
        sums.append(summary_row(title, place.judged, statistics.median(place.load_averages)))
    return [*blocks, sums]


def every_table() -> list[str]:
    """Return the tables of `make bench`: all programs in all places, quiet and under load."""
    blocks = tables(run(tuple(PLACES), available(), (False, True), rounds=1, log=""))
    return [line for block in blocks for line in (*block, "")] + [LEGEND]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.jury", description=__doc__)
    parser.add_argument("--where", nargs="+", choices=tuple(PLACES), default=["ipython"])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs to run", choices=tuple(PROGRAMS))
    parser.add_argument("--load", action="store_true", help="keep two processes busy beside each program")
    parser.add_argument("--rounds", type=int, default=1, help="how often each program runs (default 1)")
    parser.add_argument("--log", default="", help="a file to which all that was shown is appended, as JSON")
    parser.add_argument("--read", default="", metavar="LOG", help="make the tables of such a file; run nothing")
    parser.add_argument("--write", action="store_true", help="put the tables into REPORTS.md")
    options = parser.parse_args()
    if options.read:
        found = read(options.read)
    else:
        found = run(options.where, available(options.only), [options.load], options.rounds, options.log)
    blocks = tables(found)
    print("\n\n".join("\n".join(block) for block in blocks), LEGEND, sep="\n\n")
    if options.write:
        for block in blocks:
            replace_table(block)


if __name__ == "__main__":
    main()
