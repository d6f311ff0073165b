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
from collections.abc import Sequence
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
    code, ran = _run_pytest(arguments, until)
    failed = [test for test, outcome in ran.items() if outcome == "failed"]
    if not failed:
        return (_PASSED if code == _TIME_IS_UP else code), ran
    if len(failed) > MAX_RERUNS or not all("::" in test for test in failed):
        print(f"rerun: none of {len(failed)} failures is run again: they are too many, or a file cannot be read")
        return _FAILED, ran
    passed = _rerun(failed)
    return (_FAILED if _report(failed, passed) else _PASSED), ran | dict.fromkeys(passed, "passed")


def _report(failed: Sequence[str], passed: Sequence[str]) -> list[str]:
    """Print and record which of the failed tests are unsteady; return the failures."""
    found = unsteady.add(passed)
    recorded = unsteady.read(unsteady.RECORD)
    worn_out = unsteady.list_worn_out(unsteady.merge(recorded, found))
    twice = [test for test in failed if test not in passed]
    again = [test for test in passed if test in worn_out]
    print()
    for line in unsteady.describe(recorded, found):
        print(line)
    for test in again:
        print(f"rerun: unsteady in {unsteady.MAX_RUNS} runs, to be repaired: {test}")
    for test in twice:
        print(f"rerun: failed again: {test}")
    return twice + again


def _rerun(failed: Sequence[str]) -> list[str]:
    """Run tests alone, each in a process of its own; return those that passed."""
    until, passed = time.monotonic() + MAX_RERUN_SECONDS, []
    for test in failed:
        print(f"\nrerun: {test}", flush=True)
        if time.monotonic() > until:
            print("rerun: there is no time left for it")
            continue
        code, ran = _run_pytest(["-m", "", "-p", "no:cacheprovider", test], until)
        if code == _PASSED and ran.get(test) == "passed":
            passed.append(test)
    return passed


def _run_pytest(arguments: Sequence[str], until: float) -> tuple[int, dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "outcomes.jsonl")
        command = [sys.executable, "-m", "pytest", "-p", "tests.outcomes", "--outcomes", str(path), *arguments]
        process = subprocess.Popen(command)
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
