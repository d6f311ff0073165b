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
from importlib import metadata
from typing import Any, Literal, NamedTuple

from ...xla.backend import devices
from ...xla.platforms.hardware import nvidia_driver, tpu_chips
from .checks import CHECKS
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
        return _answer(chosen.check, chosen.platform)
    facts = asked("facts", chosen.platform, chosen.limit)
    told = json.loads(facts.words) if facts.result == "works" else {"device": f"none: {facts.words}"}
    told = {**_versions(), **told}
    if not chosen.json:
        print("\n".join(f"{name:10} {value}" for name, value in told.items()), flush=True)
    outcomes = []
    for check in (chosen.only or names()) if facts.result == "works" else ():
        outcomes.append(asked(check, chosen.platform, chosen.limit))
        if not chosen.json:
            print(line(outcomes[-1]), flush=True)
    failed = facts.result != "works" or any(each.result == "fails" for each in outcomes)
    if chosen.json:
        print(json.dumps({**told, "checks": [each._asdict() for each in outcomes]}, indent=1))
    else:
        works = sum(each.result == "works" for each in outcomes)
        print(f"{works} of {sum(each.result != 'skipped' for each in outcomes)} work")
    return int(failed)


def names() -> list[str]:
    """The checks, in their order."""
    return list(CHECKS)


def line(outcome: Outcome) -> str:
    """One line of the report.

    >>> line(Outcome("loops", "fails", "off by 3", 1.5))
    'FAILS   loops            1.5 s  off by 3'
    """
    mark = {"works": "works", "fails": "FAILS", "skipped": "-"}[outcome.result]
    return f"{mark:7} {outcome.check:15} {outcome.seconds:4.1f} s  {outcome.words}".rstrip()


def asked(check: str, on: str | None, limit: float) -> Outcome:
    """How a check goes in a process of its own."""
    more = ["--platform", on] if on else []
    return outcome_of(check, [sys.executable, "-m", "xlascope", "doctor", "--device", "--check", check, *more], limit)


def outcome_of(check: str, command: Sequence[str], limit: float) -> Outcome:
    """How a process went that answers for a check, with a line of JSON at the end of its standard output."""
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
    """The child finds xlascope where this process did."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _answer(check: str, on: str | None) -> int:
    """In the child: run one check, and print how it went."""
    try:
        device = devices(on)[0]
        words = json.dumps(_facts(device)) if check == "facts" else CHECKS[check](device) or ""
        answer = ("works", words)
    except Skipped as reason:
        answer = ("skipped", str(reason))
    except Exception as error:
        first = (str(error).strip() or "nothing is said").splitlines()[0]
        answer = ("fails", f"{type(error).__name__}: {first}")
    print(json.dumps(answer), flush=True)
    return 0


def _facts(device: Any) -> dict[str, str]:
    stats = device.memory_stats() if hasattr(device, "memory_stats") else None
    limit = (stats or {}).get("bytes_limit")
    return {
        "device": f"{device.platform}: {device.device_kind}, {len(device.client.devices())} of them",
        "plugin": " ".join(str(device.client.platform_version).split()),
        "memory": f"{limit / 1e9:.1f} GB" if limit else "not told",
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in ("xlascope", "jaxlib", "numpy", "libtpu", "jax-cuda13-plugin", "jax-cuda12-plugin"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    driver = nvidia_driver()
    hardware = [f"{tpu_chips()} TPU chips"] if tpu_chips() else []
    hardware += [f"NVIDIA driver {driver.splitlines()[0] if driver else 'here'}"] if driver is not None else []
    return {
        "versions": ", ".join(f"{name} {version}" for name, version in found.items()),
        "machine": f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}",
        "hardware": ", ".join(hardware) or "no GPU, no TPU",
    }
