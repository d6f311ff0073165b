"""Runs one part in processes with limits: what crashes or hangs costs the item it was in, and the rest goes on."""

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

#: Seconds between two looks at a process, and those after its time in which it may end by itself.
LOOK_SECONDS, GRACE_SECONDS = 0.1, 3.0
#: Seconds in which a process has to begin its first item: a plugin is tried, started and may be slow.
START_SECONDS = 90.0
#: Processes for one part, and characters of what one that crashed has written.
MAX_PROCESSES, TAIL = 8, 600
_OVER = "it did not end in the time that was left"
_PROGRAMS = Path(__file__).parent
_WORKER = "xlascope.tools.device.worker"


class Settings(NamedTuple):
    """What holds for all parts."""

    folder: Path
    platform: str | None = None
    size: str = "small"


def run_part(
    part: Part, settings: Settings, seconds: float, look: Callable[[], None] = lambda: None
) -> list[dict[str, Any]]:
    """Run a part and return its items. ``look`` is called now and then while it runs."""
    journal = settings.folder / "journals" / f"{part.name}.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    for number in range(MAX_PROCESSES):
        lines = read_journal(journal)
        left = deadline - time.monotonic()
        if number and left <= 0:
            break
        log = settings.folder / "logs" / f"{part.name}_{number}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        ended = _run_process(_command(part, settings, journal, lines, left), log, journal, part, left, look)
        if ended is None or not _note_crash(journal, len(lines), ended, log):
            break
    return outcomes(read_journal(journal))


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal that are whole."""
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


def outcomes(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each item once, with its last result; an item that was begun and has none did not end.

    >>> outcomes([{"name": "a", "result": "begun"}, {"name": "a", "result": "works"}])
    [{'name': 'a', 'result': 'works'}]
    """
    latest = {line["name"]: line for line in lines}
    unended = {"result": FAILS, "words": "it did not end"}
    return [line if line.get("result") != "begun" else {**line, **unended} for line in latest.values()]


def _command(
    part: Part, settings: Settings, journal: Path, lines: Sequence[dict[str, Any]], seconds: float
) -> list[str]:
    begun = sorted({line["name"] for line in lines if line.get("result") != NOT_REACHED})
    words = [str(journal), settings.platform or "", settings.size, str(seconds), json.dumps(begun)]
    if part.engine == "jax":
        code = f"import sys; sys.path.insert(0, {str(_PROGRAMS)!r})\n"
        code += "from programs.jax_worker import main; main(sys.argv[1:])"
        return [sys.executable, "-c", code, *words, str(settings.folder)]
    crashed = sorted({line["name"] for line in lines if line.get("crashed")})
    return [sys.executable, "-m", _WORKER, part.name, *words, str(settings.folder), json.dumps(crashed)]


def _run_process(
    command: Sequence[str], log: Path, journal: Path, part: Part, seconds: float, look: Callable[[], None]
) -> str | None:
    """Run a process; None if it ended well, else how it ended."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
    try:
        return _wait(process, journal, part, seconds, look)
    finally:
        if process.poll() is None:
            _kill(process)


def _wait(
    process: subprocess.Popen[bytes], journal: Path, part: Part, seconds: float, look: Callable[[], None]
) -> str | None:
    began = changed = time.monotonic()
    size = _size(journal)
    first = True
    while True:
        try:
            status = process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        else:
            if status == 0:
                return None
            return f"its process ended with {f'signal {-status}' if status < 0 else f'exit status {status}'}"
        look()
        now = time.monotonic()
        if _size(journal) != size:
            size, changed, first = _size(journal), now, False
        limit = max(part.item_limit, START_SECONDS) if first else part.item_limit
        if now - changed > limit:
            return f"it did not end within {limit:g} s"
        if now - began > seconds + GRACE_SECONDS:
            return _OVER


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):
        process.kill()
    process.wait()


def _note_crash(journal: Path, known: int, how: str, log: Path) -> bool:
    """Write down which item took the process down; False if there is nothing to go on with."""
    lines = read_journal(journal)
    said = " ".join(log.read_text(errors="replace").split())[-TAIL:]
    words = f"{how}{f': {said}' if said else ''}"
    last = lines[-1] if lines else {}
    if how == _OVER:
        if last.get("result") == "begun":
            _append(journal, {"name": last["name"], "result": NOT_REACHED, "words": how})
        return False
    if last.get("result") == "begun":
        _append(journal, {"name": last["name"], "result": FAILS, "words": words, "crashed": True})
        return True
    if len(lines) > known:  # it went down between two items, or at its end
        return True
    _append(journal, {"name": "process", "result": FAILS, "words": words})
    return False


def _append(journal: Path, line: dict[str, Any]) -> None:
    with journal.open("ab") as file:
        file.write(b"\n" + json.dumps(line).encode() + b"\n")


def environment() -> dict[str, str]:
    """Return the variables with which a child finds xlascope where this process did."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def skip_part(part: Part, reason: str) -> list[dict[str, Any]]:
    """Return the items of a part that is not run."""
    return [{"name": part.name, "result": SKIPPED, "words": reason}]
