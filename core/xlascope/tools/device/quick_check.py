"""``python -m xlascope doctor --device``: what works on a machine's device, as a short report to paste where one asks.

Each check runs in a process of its own with a time limit, so that one which crashes or hangs is a line of the report.
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
from ...xla.platforms.hardware import nvidia_driver, tpu_chips
from .checks import CHECKS
from .environment import device_facts, find_versions
from .programs.journal import Skipped

#: Seconds that a check may take: a TPU's first compilation is slow.
LIMIT = 180.0
_TAIL = 300


class Outcome(NamedTuple):
    """How one check went: ``words`` are about what works, or the first line of what went wrong."""

    check: str
    result: Literal["works", "fails", "skipped"]
    words: str
    seconds: float


def main(chosen: argparse.Namespace) -> int:
    """Print the report; exit status 0 if all that applies works."""
    if chosen.check is not None:
        return _answer_for(chosen.check, chosen.platform)
    facts = run_check("facts", chosen.platform, chosen.limit)
    device = json.loads(facts.words) if facts.result == "works" else {"device": f"none: {facts.words}"}
    described = {**_describe_machine(), **device}
    if not chosen.json:
        print("\n".join(f"{name:10} {value}" for name, value in described.items()), flush=True)
    outcomes = []
    for check in (chosen.only or check_names()) if facts.result == "works" else ():
        outcomes.append(run_check(check, chosen.platform, chosen.limit))
        if not chosen.json:
            print(format_line(outcomes[-1]), flush=True)
    failed = facts.result != "works" or any(each.result == "fails" for each in outcomes)
    if chosen.json:
        print(json.dumps({**described, "checks": [each._asdict() for each in outcomes]}, indent=1))
    else:
        works = sum(each.result == "works" for each in outcomes)
        print(f"{works} of {sum(each.result != 'skipped' for each in outcomes)} work")
    return int(failed)


def check_names() -> list[str]:
    """Return the names of the checks, in their order."""
    return list(CHECKS)


def format_line(outcome: Outcome) -> str:
    """Return one line of the report.

    >>> format_line(Outcome("loops", "fails", "off by 3", 1.5))
    'FAILS   loops            1.5 s  off by 3'
    """
    mark = {"works": "works", "fails": "FAILS", "skipped": "-"}[outcome.result]
    return f"{mark:7} {outcome.check:15} {outcome.seconds:4.1f} s  {outcome.words}".rstrip()


def run_check(check: str, on: str | None, limit: float) -> Outcome:
    """Run a check in a process of its own, and return how it went."""
    more = ["--platform", on] if on else []
    return run_process(check, [sys.executable, "-m", "xlascope", "doctor", "--device", "--check", check, *more], limit)


def run_process(check: str, command: Sequence[str], limit: float) -> Outcome:
    """Run a process that answers for a check with a line of JSON at the end of its standard output."""
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, env=_environment())
    except subprocess.TimeoutExpired:
        return Outcome(check, "fails", f"it did not end within {limit:g} s", time.monotonic() - began)
    seconds = time.monotonic() - began
    try:
        result, words = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
        said = " ".join(done.stderr.split())[-_TAIL:]
        return Outcome(check, "fails", f"its process ended with {how}{f': {said}' if said else ''}", seconds)
    return Outcome(check, result, words, seconds)


def _environment() -> dict[str, str]:
    """Return the variables with which a child finds xlascope where this process did."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _answer_for(check: str, on: str | None) -> int:
    """Run one check, in the child, and print how it went."""
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
    hardware = [f"{tpu_chips()} TPU chips"] if tpu_chips() else []
    hardware += [f"NVIDIA driver {driver.splitlines()[0] if driver else 'here'}"] if driver is not None else []
    return {
        "versions": ", ".join(f"{name} {version}" for name, version in find_versions().items()),
        "machine": f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}",
        "hardware": ", ".join(hardware) or "no GPU, no TPU",
    }
