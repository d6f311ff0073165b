"""Command that cosmic-ray runs for each mutant: whether `make test`, or the whole suite, notices it.

It runs in a copy of the repository in which one file is mutated. Tests that run the mutated lines are run, the nearest
first: those that run least besides. `make test` runs those of the fast part, and those recorded as nearest to the
mutated file, since it has changed. Its answer is a line of JSON in the file that XLASCOPE_TESTS_MUTANTS names; its
exit code is 0 where nothing has noticed the mutant.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import nearest, outcomes, thorough
from tests.mutation.contexts import Contexts

#: Seconds of processor time for the nearest tests, and for all tests that run a mutant's lines when these have noticed
#: nothing. On a busy machine they may take MAX_SLOWDOWN times as long by the clock.
FIRST_SECONDS = 60.0
ALL_SECONDS = 600.0
MAX_SLOWDOWN = 2.5
#: A test that takes longer has noticed something: it hangs.
MAX_TEST_SECONDS = 100
#: Seconds between two looks at the processor time of pytest.
LOOK_SECONDS = 0.5
#: Seconds in which pytest ends after an interrupt.
CLOSING_SECONDS = 30.0
#: What every mutant has to pass to count: it is found at once by whoever starts the program.
IMPORTS = "import xlascope, xlascope.numpy, xlascope.lax, xlascope_ipython, xlascope_widgets"
SMOKE = Path(__file__).with_name("smoke.json")
#: How many failures of a mutant's tests are tried again alone, where they do not fail.
MAX_FALSE_ALARMS = 3
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


def main() -> int:
    file, lines, diff = find_mutation()
    began = time.monotonic()
    verdict = check(file, lines) | {"file": file, "lines": lines, "diff": diff}
    verdict["seconds"] = round(time.monotonic() - began, 1)
    with open(os.environ["XLASCOPE_TESTS_MUTANTS"], "a", encoding="utf-8") as record:
        record.write(json.dumps(verdict) + "\n")
    return int(verdict["outcome"] != "survived")


def find_mutation() -> tuple[str, list[int], str]:
    """Return the mutated file, the lines that are not as they were, and the difference."""
    command = ["git", "diff", "-U0", "--", "core", "kernel_ext", "widgets"]
    diff = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    file = next(line.removeprefix("+++ b/") for line in diff.splitlines() if line.startswith("+++ b/"))
    lines = [
        line for start, count in _HUNK.findall(diff) for line in range(int(start), int(start) + max(1, int(count or 1)))
    ]
    return file, lines, diff


def check(file: str, lines: list[int]) -> dict[str, Any]:
    """Return how a mutant of some lines of a file fares."""
    if subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, timeout=300).returncode:
        return {"outcome": "import"}
    if run(json.loads(SMOKE.read_text(encoding="utf-8")), FIRST_SECONDS).noticed_by:
        return {"outcome": "smoke"}
    contexts = Contexts()
    sizes = contexts.sizes()
    near = sorted(contexts.tests_of(file, lines), key=lambda test: (sizes[test], test))
    nearest_units = set(nearest.read_record().get(file, ()))
    fast = [test for test in near if not thorough.is_thorough(test) or thorough.unit_of(test) in nearest_units]
    found: dict[str, Any] = {"tests": len(near), "fast_tests": len(fast)}
    first = run(near, FIRST_SECONDS)
    noticed_by = first.noticed_by
    fast_by = noticed_by if noticed_by in fast else None
    if fast_by is None:
        rest = [test for test in fast if test not in first.passed]
        second = run(rest, ALL_SECONDS)
        fast_by, passed = second.noticed_by, first.passed | second.passed
        noticed_by = noticed_by or fast_by
        if noticed_by is None:
            last = run([test for test in near if test not in passed], ALL_SECONDS)
            noticed_by, passed = last.noticed_by, passed | last.passed
        found["unreached"] = len(set(near) - passed) if noticed_by is None else 0
    outcome = "survived" if noticed_by is None else "noticed"
    return found | {"outcome": outcome, "noticed_by": noticed_by, "fast": fast_by is not None, "fast_by": fast_by}


class Run:
    """What a run of tests gave: the test that noticed the mutant, and those that passed."""

    def __init__(self, noticed_by: str | None, passed: set[str]) -> None:
        self.noticed_by = noticed_by
        self.passed = passed


def run(tests: Sequence[str], seconds: float) -> Run:
    """Run tests in their order until one fails, twice, or the time is up."""
    began, passed, rest = _processor_seconds("self"), set[str](), list(tests)
    for _ in range(MAX_FALSE_ALARMS):
        failed, ran, died = _pytest(rest, seconds - (_processor_seconds("self") - began))
        passed |= {test for test, outcome in ran.items() if outcome != "failed"}
        rest = [test for test in rest if test not in ran]
        if died:  # the process of the tests, or it hung: the test that it was in is the next
            return Run(rest[0] if rest else None, passed)
        if failed is None:
            break
        again, _, died = _pytest([failed], 120.0)
        if again or died:
            return Run(failed, passed)
        passed.add(failed)
    return Run(None, passed)


def _pytest(tests: Sequence[str], seconds: float) -> tuple[str | None, dict[str, str], bool]:
    """Run tests one after the other; return the first that failed, how each went, and whether the process died."""
    if not tests or seconds <= 0:
        return None, {}, False
    with tempfile.TemporaryDirectory() as folder:
        chosen, ran_file = Path(folder, "chosen.json"), Path(folder, "outcomes.jsonl")
        chosen.write_text(json.dumps(list(tests)), encoding="utf-8")
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        arguments = ["-q", "-x", "-m", "", "-p", "no:cacheprovider", "--timeout", str(MAX_TEST_SECONDS)]
        arguments += ["-p", "tests.selection", "--select-from", str(chosen), *outcomes.arguments(ran_file), *files]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        stopped = not _ends_within(process, seconds)
        if stopped:
            process.terminate()
            try:
                process.wait(CLOSING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        ran = outcomes.read_outcomes(ran_file)
    failed = next((test for test, outcome in ran.items() if outcome == "failed"), None)
    hung = stopped and not ran  # while files are read, or in a test that nothing interrupts
    return failed, ran, hung or (not stopped and failed is None and process.returncode not in (0, 1, 5))


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Return whether a process ends before it has had some seconds of processor time."""
    until = time.monotonic() + seconds * MAX_SLOWDOWN
    while time.monotonic() < until and _processor_seconds(str(process.pid)) < seconds:
        try:
            process.wait(LOOK_SECONDS)
            return True
        except subprocess.TimeoutExpired:
            continue
    return process.poll() is not None


def _processor_seconds(process: str) -> float:
    """Return the processor time of a process and its ended children in seconds; 0.0 where the system tells nothing."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
