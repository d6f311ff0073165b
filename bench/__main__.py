"""``python -m bench`` (``make bench``): every case of every table in one run, into RESULTS.md and results.json.

Both sides are asked in turn, so that what disturbs the machine meets both; a row has the median of the ratios, its
quartiles and its 95 % interval. The first table compares xlascope with itself: what it shows is the machine's own
spread. Names of tables, of cases or of reports print these alone and write nothing. Reports are tables of other forms,
which take longer; they run where they are named, and REPORTS.md has them with their dates. ``--since REV`` compares
xlascope as it is with a revision of it, instead of with jax.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import datetime
import functools
import importlib.metadata
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import growth_plot, results
from .groups import FRESH, GROUPS, OWN_SPREAD, Group
from .paired import OURS_AND_JAX, Compared, Process, Unmeasured, compare
from .reasons import reason_of
from .reports import REPORTS

_ROOT = pathlib.Path(__file__).parents[1]
_PACKAGES = ("core", "kernel_ext", "widgets")
_FRESH_ROUNDS = 5
#: The highest ratio of a case to itself in another revision.
_SINCE_GOAL = 1.05
_FRESH_TITLE = "In a fresh process"
_PLOT = "growth.svg"

Sides = tuple[Process, Process]


def main() -> None:
    """Run what the command line asks for, and print which cases fail their goals."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="tables, cases or reports to run; nothing is written then")
    parser.add_argument("--only", nargs="*", default=[], help="the same")
    parser.add_argument("--since", metavar="REV", help="compare with this revision of xlascope instead of with jax")
    parser.add_argument("--rounds", type=int, help="how often each case is measured, instead of each table's number")
    chosen = parser.parse_args()
    names = [*chosen.names, *chosen.only]
    with _sides(chosen.since) as sides:
        run = _Run(sides, names, chosen.rounds)
        run.measure_all()
    print(run.summary())
    if not names:
        results.write_results(run.lines(chosen.since), run.data(chosen.since))
        growth_plot.plot_growth(run.find_cases("lowering", "growth"), run.titles, results.PATH.with_name(_PLOT))
    if run.unmeasured:
        sys.exit(1)


@contextlib.contextmanager
def _sides(revision: str | None) -> Iterator[Sides]:
    """The two sides: xlascope and jax, or xlascope as it is and in a revision, which a folder has for so long."""
    if revision is None:
        yield OURS_AND_JAX
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], check=True, cwd=_ROOT)
        try:
            yield Process("xlascope", _environment(_ROOT)), Process("xlascope", _environment(tree))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True, cwd=_ROOT)


def _environment(tree: pathlib.Path) -> dict[str, str]:
    """What makes Python import xlascope from a working tree, and the cases from this one."""
    return {"PYTHONPATH": os.pathsep.join([*(str(tree / package) for package in _PACKAGES), str(_ROOT)])}


class _Run:
    """One run: what it found, by table. ``names`` choose tables and cases; () is all of them."""

    def __init__(self, sides: Sides, names: Sequence[str], rounds: int | None) -> None:
        self.sides, self.names, self.rounds = sides, names, rounds
        self.titles = ("xlascope", "jax") if sides is OURS_AND_JAX else ("now", "before")
        self.tables: dict[str, tuple[str, dict[str, tuple[Compared, float | None, int]]]] = {}
        self.reports: dict[str, list[str]] = {}
        self.unmeasured: list[str] = []
        self.began, self.load = time.time(), [os.getloadavg()[0]]

    def measure_all(self) -> None:
        """Measure what was chosen: the machine's own spread first."""
        self._measure_group(OWN_SPREAD, (self.sides[0], self.sides[0]))
        for group in GROUPS:
            self._measure_group(group, self.sides)
        self._measure_fresh()
        if self.sides is OURS_AND_JAX:
            for name, report in REPORTS.items():
                if name in self.names:
                    self._add_report(name, report)
        self.load.append(os.getloadavg()[0])

    def _chosen(self, table: str, cases: Sequence[str]) -> list[str]:
        is_whole = not self.names or table in self.names
        return [case for case in cases if is_whole or not {case, case.replace(" ", "_")}.isdisjoint(self.names)]

    def _measure_group(self, group: Group, sides: Sides) -> None:
        cases = self._chosen(group.name, group.cases)
        if group is OWN_SPREAD and self.names and group.name not in self.names:
            return
        found = compare(group.module, cases, group.environment, self.rounds or group.rounds, sides) if cases else ()
        titles = ("A", "A again") if group is OWN_SPREAD else self.titles
        self._add(
            group.name, group.title, titles, ((x, group.goals.get(x.case, group.goal)) for x in found), group.calls
        )

    def _measure_fresh(self) -> None:
        cases = self._chosen("fresh", list(FRESH))
        found = ((_compare_fresh(case, self.sides, self.rounds or _FRESH_ROUNDS), FRESH[case]) for case in cases)
        self._add("fresh", _FRESH_TITLE, self.titles, found)

    def _add_report(self, name: str, report: Callable[[], list[str]]) -> None:
        """Print and keep the lines of a report; one that raises is told as not measured, and the others go on."""
        try:
            self.reports[name] = report()
        except Exception as error:
            traceback.print_exc()
            self._miss(name, f"{type(error).__name__}: {error}")
        else:
            print("\n".join(["", *self.reports[name]]), flush=True)

    def _miss(self, what: str, reason: str) -> None:
        self.unmeasured.append(f"not measured: {what}: {reason}")
        print(self.unmeasured[-1], flush=True)

    def _add(self, name: str, title: str, titles: Sequence[str], found: Any, calls: int = 1) -> None:
        """Print and keep the rows of a table as they come."""
        for result, jax_goal in found:
            if isinstance(result, Unmeasured):
                self._miss(f"{name}: {result.case}", result.reason)
                continue
            goal = jax_goal if self.sides is OURS_AND_JAX or jax_goal is None else _SINCE_GOAL
            if name not in self.tables:
                self.tables[name] = title, {}
                print("\n".join(["", *results.heading(title, titles)]))
            self.tables[name][1][result.case] = result, goal, calls
            print(results.row(result, goal, calls), flush=True)

    @property
    def failures(self) -> list[str]:
        """The cases that fail their goals."""
        return [
            f"{table}: {case} {found.ratio:.3f}, at most {goal:.3g}{self._reason(table, case)}"
            for table, (_, rows) in self.tables.items()
            for case, (found, goal, _) in rows.items()
            if results.fails(found, goal)
        ]

    def _reason(self, table: str, case: str) -> str:
        reason = reason_of(table, case) if self.sides is OURS_AND_JAX else ""
        return f": {reason}" if reason else ""

    def summary(self) -> str:
        """Return the geometric mean of each table's ratios, and which cases fail."""
        lines = ["", "| table | cases | geometric mean | largest | fail |", "|---|---|---|---|---|"]
        for title, rows in self.tables.values():
            ratios = [found.ratio for found, _, _ in rows.values()]
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            failed = sum(results.fails(found, goal) for found, goal, _ in rows.values())
            lines.append(f"| {title} | {len(ratios)} | **{mean:.3f}** | {max(ratios):.3f} | {failed} |")
        failed = [f"fails: {failure}" for failure in self.failures]
        return "\n".join([*lines, "", *failed, *self.unmeasured])

    def lines(self, since: str | None) -> list[str]:
        """Return RESULTS.md."""
        against = "with jax" if since is None else f"with revision {since}"
        lines = [
            "# Results",
            "",
            f"Written whole by `make bench`: xlascope {against}, all cases in one run, both sides in turn.",
            "A ratio is the median of the ratios of the rounds (below 1: the first side is faster). A case fails its",
            "goal when the lower end of its 95 % interval exceeds it. `results.json` has the ratios of all rounds.",
            "",
            _machine(),
            f"The load average was {self.load[0]:.1f} at the begin and {self.load[-1]:.1f} at the end of a run of "
            f"{self._minutes():.0f} minutes.",
            self.summary(),
        ]
        for name, (title, rows) in self.tables.items():
            titles = ("A", "A again") if name == OWN_SPREAD.name else self.titles
            lines += ["", f"## {title}", "", *results.heading(name, titles)]
            lines += [results.row(found, goal, calls) for found, goal, calls in rows.values()]
            if name == "growth":
                lines += ["", f"![Processor time of lowering by the number of equations]({_PLOT})"]
        return lines

    def find_cases(self, *tables: str) -> dict[str, Compared]:
        """Return what was found in some tables, by case."""
        return {case: row[0] for table in tables if table in self.tables for case, row in self.tables[table][1].items()}

    def data(self, since: str | None) -> dict[str, Any]:
        """Return results.json."""
        return {
            "date": datetime.date.today().isoformat(),
            "since": since,
            "machine": _machine(),
            "load": self.load,
            "minutes": round(self._minutes(), 1),
            "tables": {
                name: {
                    "title": title,
                    "cases": {case: results.as_data(found, goal, calls) for case, (found, goal, calls) in rows.items()},
                }
                for name, (title, rows) in self.tables.items()
            },
        }

    def _minutes(self) -> float:
        return (time.time() - self.began) / 60


def _compare_fresh(case: str, sides: Sides, rounds: int) -> Compared:
    """Compare a case of which each measurement has a process of its own."""
    pairs = []
    for number in range(rounds):
        order = sides if number % 2 == 0 else sides[::-1]
        seconds = [_measure(side, case) for side in order]
        pairs.append(seconds if number % 2 == 0 else seconds[::-1])
    first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Compared(case, (first, second), tuple(sorted(a / b for a, b in pairs)))


def _measure(side: Process, case: str) -> float:
    """Seconds of one case on one side, in a fresh process."""
    run = _fresh_command(side.name, tuple(side.environment.items()), case)
    if case != "import":
        return float(run().splitlines()[-1].split()[0])
    return _seconds(run) - _bare()


@functools.cache
def _fresh_command(name: str, environment: tuple[tuple[str, str], ...], case: str) -> Callable[[], str]:
    """What runs a case in a fresh process and returns its output; it has run once.

    As for users, the modules of both sides have been compiled to bytecode then. Where Python is told to write none,
    only what pip installed would have it, which is one side.
    """
    # Names are found on first use: what a program asks for first is part of the import.
    names = f"import {name} as xs, {name}.numpy as jnp; xs.grad, xs.jit, jnp.sin, jnp.mean, jnp.dot"
    arguments = ["-c", names] if case == "import" else ["-m", "bench.one", name, case]
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_bytecode())}
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", **dict(environment), **bytecode}

    def run() -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(command, check=True, env=variables, stdout=subprocess.PIPE, text=True).stdout

    run()
    return run


def _bare() -> float:
    """Seconds for a Python that imports NumPy and nothing else, which both sides need."""
    return _seconds(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True))


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@functools.cache
def _bytecode() -> pathlib.Path:
    """A folder for bytecode, which lives as long as this process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return pathlib.Path(folder.name)


def _machine() -> str:
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("xlascope", "jaxlib", "jax", "numpy")
    )
    return (
        f"{datetime.date.today().isoformat()} · Python {platform.python_version()} · {versions} · "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores."
    )


if __name__ == "__main__":
    main()
