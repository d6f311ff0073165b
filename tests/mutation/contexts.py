"""Coverage by test: which tests run a line, as a plugin of pytest and a reader of what it recorded.

`record` runs tests with coverage.py, which notes for each line the tests that ran it, also in processes that a test
starts (those begin coverage through a file in site-packages, and have the name of the test in their environment).
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import coverage
import pytest
from coverage.numbits import numbits_to_nums

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutation"
#: What was recorded, once `record` has combined it.
DATA = Path(os.environ.get("XLASCOPE_TESTS_COVERAGE", FOLDER / "coverage"))
#: The name of the test that runs, for processes that it starts.
VARIABLE = "XLASCOPE_TESTS_CONTEXT"
#: The context of what no test runs: imports at the beginning of a process.
NO_TEST = "none"

_STARTER = Path(sysconfig.get_path("purelib")) / "xlascope_tests_coverage.pth"
_SETTINGS = """[run]
source = {sources}
parallel = true
context = ${{{variable}-{none}}}
data_file = {data}
disable_warnings = no-data-collected,module-not-measured,module-not-imported,already-imported,dynamic-conflict
"""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let what runs from now on count for this test."""
    os.environ[VARIABLE] = item.nodeid
    if running := coverage.Coverage.current():
        if sys.gettrace() is None and sys.version_info < (3, 12):  # a test has taken the place of coverage's tracer
            running.stop()
            running.start()
        running.switch_context(item.nodeid)


def record(sources: Iterable[Path], pytest_arguments: Sequence[str]) -> int:
    """Run tests with coverage, add what they ran to what was recorded before, and return pytest's exit code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    settings = FOLDER / "coverage.ini"
    text = _SETTINGS.format(sources=",".join(map(str, sources)), variable=VARIABLE, none=NO_TEST, data=DATA)
    settings.write_text(text, encoding="utf-8")
    _STARTER.write_text(
        "import os; 'COVERAGE_PROCESS_START' in os.environ and __import__('coverage').process_startup()\n"
    )
    try:
        command = [sys.executable, "-m", "pytest", "-p", "tests.mutation.contexts", *pytest_arguments]
        code = subprocess.run(command, cwd=ROOT, env={**os.environ, "COVERAGE_PROCESS_START": str(settings)}).returncode
    finally:
        _STARTER.unlink()
    subprocess.run(
        [sys.executable, "-m", "coverage", "combine", "--append", f"--rcfile={settings}"], cwd=ROOT, check=True
    )
    return code


class Contexts:
    """Reader of recorded coverage."""

    def __init__(self, data: Path = DATA) -> None:
        self._data = sqlite3.connect(data)

    def tests_of(self, file: str, lines: Iterable[int]) -> set[str]:
        """Return the tests that run one of some lines of a file, by its path from the repository's root."""
        wanted = set(lines)
        return {
            test
            for test, ran in self._rows("where file.path like ?", [f"%/{file}"])
            if wanted.intersection(numbits_to_nums(ran))
        }

    def lines_of(self, file: str) -> Iterator[tuple[str, list[int]]]:
        """Yield for each test the lines of a file that it runs, by the file's path from the repository's root."""
        return ((test, numbits_to_nums(ran)) for test, ran in self._rows("where file.path = ?", [str(ROOT / file)]))

    def lines_by_test(self) -> Iterator[tuple[str, str, list[int]]]:
        """Yield for each test and each file that it runs the lines of these."""
        query = "select context.context, file.path, numbits from line_bits"
        query += " join file on file.id = file_id join context on context.id = context_id"
        for context, path, ran in self._data.execute(query):
            yield _test_of(context), path, numbits_to_nums(ran)

    def tests(self) -> set[str]:
        """Return the tests of which coverage is recorded."""
        return {_test_of(context) for (context,) in self._data.execute("select context from context")}

    def sizes(self) -> dict[str, int]:
        """Return how many bytes of lines each test runs: tests of much are farther from each line."""
        query = "select context.context, sum(length(numbits)) from line_bits"
        query += " join context on context.id = context_id group by context.context"
        sizes: dict[str, int] = {}
        for context, size in self._data.execute(query):
            sizes[_test_of(context)] = sizes.get(_test_of(context), 0) + size
        return sizes

    def _rows(self, where: str, parameters: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        query = "select context.context, numbits from line_bits"
        query += f" join file on file.id = file_id join context on context.id = context_id {where}"
        for context, ran in self._data.execute(query, parameters):
            if (test := _test_of(context)) != NO_TEST:
                yield test, ran


def _test_of(context: str) -> str:
    """Return the test of a context: coverage joins that of the process and that of the moment.

    >>> _test_of("none|tests/a.py::f[x|y]"), _test_of("tests/a.py::f"), _test_of("none")
    ('tests/a.py::f[x|y]', 'tests/a.py::f', 'none')
    """
    return context.removeprefix(f"{NO_TEST}|")
