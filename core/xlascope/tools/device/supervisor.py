"""Execution of one part in processes with limits: a crash or hang costs only the item that was running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .parts import Part
from .programs.journal import FAILS, NOT_REACHED, SKIPPED

#: The interval of polling a process, and the grace period after its time limit.
POLL_SECONDS, GRACE_SECONDS = 0.1, 3.0
#: The time limit for starting the first item, which includes probing and initializing a plugin.
START_TIMEOUT_SECONDS = 90.0
#: The maximum number of processes per part, and of characters reported from the log of a crashed one.
MAX_PROCESSES, MAX_LOG_TAIL_CHARS = 8, 600
_OUT_OF_TIME = "it did not end in the time that was left"
_PROGRAMS_PARENT = Path(__file__).parent
_WORKER = "xlascope.tools.device.worker"


class PartSettings(NamedTuple):
    """Settings shared by all parts: the folder of their files, the platform (None: default), the program size."""

    folder: Path
    platform: str | None = None
    size: str = "small"


def run_part(
    part: Part, settings: PartSettings, seconds: float, poll: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """Run a part of the report in processes with time limits, and return the outcomes of its checks.

    If a check crashes or hangs, another process goes on after it. ``seconds`` limits the part; ``poll`` is called
    repeatedly while it runs.
    """
    journal = settings.folder / "journals" / f"{part.name}.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    for number in range(MAX_PROCESSES):
        lines = read_journal(journal)
        seconds_left = deadline - time.monotonic()
        if number and seconds_left <= 0:
            break
        log = settings.folder / "logs" / f"{part.name}_{number}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        failure = _run_process(
            _build_command(part, settings, journal, lines, seconds_left), log, journal, part, seconds_left, poll
        )
        if failure is None or not _note_crash(journal, len(lines), failure, log):
            break
    return latest_outcomes(read_journal(journal))


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a journal, which a crashed process may have left incomplete."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("name"), str):
            lines.append(line)
    return lines


def latest_outcomes(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last outcome of each check in a journal; a check without one did not end and fails.

    >>> latest_outcomes([{"name": "a", "result": "begun"}, {"name": "a", "result": "works"}])
    [{'name': 'a', 'result': 'works'}]
    """
    latest = {line["name"]: line for line in lines}
    unended = {"result": FAILS, "words": "it did not end"}
    return [line if line.get("result") != "begun" else {**line, **unended} for line in latest.values()]


def _build_command(
    part: Part, settings: PartSettings, journal: Path, lines: Sequence[dict[str, Any]], seconds: float
) -> list[str]:
    """Return the command line of a part's next process; ``lines`` are those of its journal so far."""
    started_names = sorted({line["name"] for line in lines if line.get("result") != NOT_REACHED})
    words = [str(journal), settings.platform or "", settings.size, str(seconds), json.dumps(started_names)]
    if part.engine == "jax":
        code = f"import sys; sys.path.insert(0, {str(_PROGRAMS_PARENT)!r})\n"
        code += "from programs.jax_worker import main; main(sys.argv[1:])"
        return [sys.executable, "-c", code, *words, str(settings.folder)]
    crashed = sorted({line["name"] for line in lines if line.get("crashed")})
    return [sys.executable, "-m", _WORKER, part.name, *words, str(settings.folder), json.dumps(crashed)]


def _run_process(
    command: Sequence[str], log: Path, journal: Path, part: Part, seconds: float, poll: Callable[[], None]
) -> str | None:
    """Run a process of a part until it ends or exceeds a limit; return None on success, else how it ended.

    Its output goes to ``log``. It may take ``seconds`` in all, and each check as long as the part allows.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=child_environment(),
            start_new_session=True,
        )
    try:
        return _wait(process, journal, part, seconds, poll)
    finally:
        if process.poll() is None:
            _kill(process)


def _wait(
    process: subprocess.Popen[bytes], journal: Path, part: Part, seconds: float, poll: Callable[[], None]
) -> str | None:
    """Wait for a process; return None on success, else how it ended or which limit it exceeded.

    A check is taken to hang if ``journal`` does not grow for too long.
    """
    began = changed = time.monotonic()
    size = _size(journal)
    first = True
    while True:
        try:
            status = process.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        else:
            if status == 0:
                return None
            return f"its process ended with {f'signal {-status}' if status < 0 else f'exit status {status}'}"
        poll()
        now = time.monotonic()
        if _size(journal) != size:
            size, changed, first = _size(journal), now, False
        limit = max(part.item_limit, START_TIMEOUT_SECONDS) if first else part.item_limit
        if now - changed > limit:
            return f"it did not end within {limit:g} s"
        if now - began > seconds + GRACE_SECONDS:
            return _OUT_OF_TIME


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):
        process.kill()
    process.wait()


def _note_crash(journal: Path, line_count: int, reason: str, log: Path) -> bool:
    """Add the outcome of the check that crashed its process to the journal; return whether the part can go on.

    ``line_count`` is the number of lines before that process, ``reason`` says how it ended.
    """
    lines = read_journal(journal)
    log_tail = " ".join(log.read_text(errors="replace").split())[-MAX_LOG_TAIL_CHARS:]
    words = f"{reason}{f': {log_tail}' if log_tail else ''}"
    last = lines[-1] if lines else {}
    if reason == _OUT_OF_TIME:
        if last.get("result") == "begun":
            _append(journal, {"name": last["name"], "result": NOT_REACHED, "words": reason})
        return False
    if last.get("result") == "begun":
        _append(journal, {"name": last["name"], "result": FAILS, "words": words, "crashed": True})
        return True
    if len(lines) > line_count:  # it crashed between two items, or at its end
        return True
    _append(journal, {"name": "process", "result": FAILS, "words": words})
    return False


def _append(journal: Path, line: dict[str, Any]) -> None:
    with journal.open("ab") as file:
        file.write(b"\n" + json.dumps(line).encode() + b"\n")


def child_environment() -> dict[str, str]:
    """Return the environment in which a child process finds the same xlascope."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def skip_part(part: Part, reason: str) -> list[dict[str, Any]]:
    """Return the outcome of a part that is not run, as a list of one entry."""
    return [{"name": part.name, "result": SKIPPED, "words": reason}]
