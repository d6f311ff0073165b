"""Runner of pytest that runs what failed again, alone: `python -m tests.rerun PYTEST_ARGUMENT…`.

Each failed test is run once more in a process of its own. If it fails again, or there are more than `MAX_RERUNS` of
them, the run has failed. A test that passes the second time is unsteady: the last lines say so, and `tests/unsteady.py`
keeps count.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests import outcomes, unsteady

ROOT = Path(__file__).resolve().parents[1]
#: More failures than that have one cause, and it is not the machine.
MAX_RERUNS = 10
#: What is not rerun within this time stays a failure.
MAX_RERUN_SECONDS = 900.0
#: After an interrupt pytest may take so long to say what it has run.
MAX_CLOSING_SECONDS = 60.0
#: pytest's exit codes, and our own for a run that was stopped.
_PASSED, _FAILED, _TIME_IS_UP = 0, 1, -1


def run(arguments: Sequence[str], until: float = math.inf) -> tuple[int, dict[str, str]]:
    """Run pytest, and again what failed; return the exit code and how each test went.

    At the time `until` (of `time.monotonic`) the run is interrupted, and the exit code is that of what ran.
    """
    code, ran = _run_pytest(sys.executable, arguments, until)
    if "failed" not in ran.values():
        return (_PASSED if code == _TIME_IS_UP else code), ran
    failed, unsteady_tests = run_again(ran)
    return (_FAILED if failed else _PASSED), ran | dict.fromkeys(unsteady_tests, "passed")


def run_again(ran: Mapping[str, str], python: str = sys.executable) -> tuple[list[str], list[str]]:
    """Run the failed tests of a run again; return the failures that remain, and the tests that passed this time.

    Both have a test that passed and was unsteady in too many runs.
    """
    failed = [test for test, outcome in ran.items() if outcome == "failed"]
    if len(failed) > MAX_RERUNS or not all("::" in test for test in failed):
        print(f"rerun: none of {len(failed)} failures is run again: they are too many, or a file cannot be read")
        return failed, []
    passed = list(_rerun(failed, python))
    found, recorded = unsteady.add(passed), unsteady.read(unsteady.RECORD)
    worn_out = set(unsteady.list_worn_out(unsteady.merge(recorded, found))).intersection(passed)
    remaining = [test for test in failed if test not in passed]
    lines = unsteady.describe(recorded, found)
    lines += [f"rerun: unsteady in {unsteady.MAX_RUNS} runs, to be repaired: {test}" for test in sorted(worn_out)]
    lines += [f"rerun: failed again: {test}" for test in remaining]
    print("", *lines, sep="\n", flush=True)
    return [*remaining, *sorted(worn_out)], passed


def _rerun(failed: Iterable[str], python: str) -> Iterator[str]:
    """Run tests alone, each in a process of its own; yield those that pass."""
    until = time.monotonic() + MAX_RERUN_SECONDS
    for test in failed:
        print(f"\nrerun: {test}", flush=True)
        if time.monotonic() > until:
            print("rerun: there is no time left for it")
            continue
        code, ran = _run_pytest(python, ["-m", "", "-p", "no:cacheprovider", test], until)
        if code == _PASSED and ran.get(test) == "passed":
            yield test


def _run_pytest(python: str, arguments: Sequence[str], until: float) -> tuple[int, dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "outcomes.jsonl")
        process = subprocess.Popen([python, "-m", "pytest", *outcomes.arguments(path), *arguments])
        try:
            code = process.wait(None if until == math.inf else max(until - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            code = _interrupt(process)
        except KeyboardInterrupt:  # pytest has it too
            process.wait(MAX_CLOSING_SECONDS)
            raise
        return code, outcomes.read_outcomes(path)


def _interrupt(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(MAX_CLOSING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return _TIME_IS_UP


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:])[0])
