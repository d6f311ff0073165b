"""``python -m xlascope doctor --device``: a short report of what works on the device, to paste into an issue.

Each check runs in a separate process with a time limit, so that one that crashes or hangs is a line of the
report.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ...xla.devices.backend import devices
from ...xla.platforms.hardware_detection import count_tpu_chips, nvidia_driver
from .checks import CHECKS
from .environment import device_facts, find_versions
from .programs.journal import Skipped

#: The time limit of a check; a TPU's first compilation is slow.
DEFAULT_LIMIT_SECONDS = 180.0
_MAX_TAIL_CHARS = 300


class Outcome(NamedTuple):
    """Outcome of one check; ``words`` is a remark on success, the reason if skipped, or the first line of the error."""

    check: str
    result: Literal["works", "fails", "skipped"]
    words: str
    seconds: float


def main(options: argparse.Namespace) -> int:
    """Print the report, and return the exit status: 0 if everything that applies works.

    ``options`` are those of the command line; with ``--check`` this process runs that one check.
    """
    if options.check is not None:
        return _run_in_child(options.check, options.platform)
    facts = run_check("facts", options.platform, options.limit)
    device = json.loads(facts.words) if facts.result == "works" else {"device": f"none: {facts.words}"}
    described = {**_describe_machine(), **device}
    if not options.json:
        print("\n".join(f"{name:10} {value}" for name, value in described.items()), flush=True)
    outcomes = []
    for check in (options.only or check_names()) if facts.result == "works" else ():
        outcomes.append(run_check(check, options.platform, options.limit))
        if not options.json:
            print(format_line(outcomes[-1]), flush=True)
    failed = facts.result != "works" or any(outcome.result == "fails" for outcome in outcomes)
    if options.json:
        print(json.dumps({**described, "checks": [outcome._asdict() for outcome in outcomes]}, indent=1))
    else:
        works = sum(outcome.result == "works" for outcome in outcomes)
        print(f"{works} of {sum(outcome.result != 'skipped' for outcome in outcomes)} work")
    return int(failed)


def check_names() -> list[str]:
    """Return the names of the checks, in their order."""
    return list(CHECKS)


def format_line(outcome: Outcome) -> str:
    """Return the line of the report about one check.

    >>> format_line(Outcome("loops", "fails", "off by 3", 1.5))
    'FAILS   loops            1.5 s  off by 3'
    """
    mark = {"works": "works", "fails": "FAILS", "skipped": "-"}[outcome.result]
    return f"{mark:7} {outcome.check:15} {outcome.seconds:4.1f} s  {outcome.words}".rstrip()


def run_check(check: str, on: str | None, limit: float) -> Outcome:
    """Run a check in a separate process and return its outcome; a crash or a timeout is a failure.

    ``check`` is its name in ``CHECKS``, or ``"facts"`` for the device's facts. ``on`` is the platform whose first
    device is checked (None: the default one), and ``limit`` the seconds after which the process is killed.
    """
    more = ["--platform", on] if on else []
    return run_process(check, [sys.executable, "-m", "xlascope", "doctor", "--device", "--check", check, *more], limit)


def run_process(check: str, command: Sequence[str], limit: float) -> Outcome:
    """Run a process that prints the outcome of a check as a line of JSON at the end of its output.

    ``command`` is its command line, ``limit`` the seconds after which it is killed.
    """
    began = time.monotonic()
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False, env=_child_environment()
        )
    except subprocess.TimeoutExpired:
        return Outcome(check, "fails", f"it did not end within {limit:g} s", time.monotonic() - began)
    seconds = time.monotonic() - began
    try:
        result, words = json.loads(process.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
        stderr_tail = " ".join(process.stderr.split())[-_MAX_TAIL_CHARS:]
        return Outcome(
            check, "fails", f"its process ended with {how}{f': {stderr_tail}' if stderr_tail else ''}", seconds
        )
    return Outcome(check, result, words, seconds)


def _child_environment() -> dict[str, str]:
    """Return the environment in which a child process finds the same xlascope."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _run_in_child(check: str, on: str | None) -> int:
    """Run one check in this process and print its outcome as JSON; ``on`` is the platform (None: the default one)."""
    try:
        device = devices(on)[0]
        words = _describe_device(device) if check == "facts" else CHECKS[check](device) or ""
        answer = ("works", words)
    except Skipped as reason:
        answer = ("skipped", str(reason))
    except Exception as error:
        first = (str(error).strip() or "nothing is said").splitlines()[0]
        answer = ("fails", f"{type(error).__name__}: {first}")
    print(json.dumps(answer), flush=True)
    return 0


def _describe_device(device: Any) -> str:
    facts = device_facts(device)
    return json.dumps({name: facts[name] for name in ("device", "plugin", "memory")})


def _describe_machine() -> dict[str, str]:
    driver = nvidia_driver()
    hardware = [f"{count_tpu_chips()} TPU chips"] if count_tpu_chips() else []
    hardware += [f"NVIDIA driver {driver.splitlines()[0] if driver else 'here'}"] if driver is not None else []
    return {
        "versions": ", ".join(f"{name} {version}" for name, version in find_versions().items()),
        "machine": f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}",
        "hardware": ", ".join(hardware) or "no GPU, no TPU",
    }
