"""Plugin of pytest, `-p tests.outcomes --outcomes FILE`, that writes a line when a test ends: how it went.

A test that failed in its setup, its body or its teardown, or whose worker died, is `failed`; a file that could not be
read has its own line, without `::`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", metavar="FILE", help="write how each test went to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--outcomes")
    if path and not hasattr(config, "workerinput"):  # under xdist its controller receives the reports of all workers
        config.pluginmanager.register(Writer(Path(path)), "outcomes-writer")


class Writer:
    """Writer of a line per outcome."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report)

    def _write(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.outcome]) + "\n")


def arguments(path: Path) -> list[str]:
    """Return the arguments that let pytest write to a file how each test went."""
    return ["-p", "tests.outcomes", "--outcomes", str(path)]


def read_outcomes(path: Path) -> dict[str, str]:
    """Return how each test went: passed, failed or skipped; failed where any of its phases failed."""
    outcomes: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        test, outcome = json.loads(line)
        if outcomes.get(test) != "failed":
            outcomes[test] = outcome
    return outcomes
