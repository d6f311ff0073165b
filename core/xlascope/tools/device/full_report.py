"""``doctor --device --out FILE``: run all parts in turn, leaving a valid archive after each one."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .archive import FORMAT, VERSION, write_archive
from .parts import PARTS, Part, seconds_for
from .programs.journal import FAILS
from .summary import items_of, summarize
from .supervisor import GRACE_SECONDS, PartSettings, latest_outcomes, read_journal, run_part, skip_part

#: The interval between archives while a part runs, and the minimum time for which a part is started.
WRITE_INTERVAL_SECONDS, MIN_PART_SECONDS = 15.0, 3.0


class ReportRun:
    """Run of a device report: the results so far of its parts, in a folder and in the archive ``target``.

    ``budget`` are the seconds for all parts, ``platform`` selects the device (None: the default one), and ``size`` is
    that of benchmark programs (None: as suits the device).
    """

    def __init__(self, target: Path, budget: float, platform: str | None, size: str | None) -> None:
        self.target, self.budget, self.platform, self.size = target, budget, platform, size
        self.folder = Path(tempfile.mkdtemp(prefix="xlascope_device_"))
        self.parts: list[dict[str, Any]] = []
        self._began = self._last_written = time.monotonic()
        self._started_at = time.strftime("%Y-%m-%d %H:%M:%S %z")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def run(self, part: Part, later: Sequence[Part]) -> dict[str, Any]:
        """Run a part, or note that there was no time for it; return its entry in the results.

        ``later`` are the parts that follow, for which time is reserved.
        """
        began, remaining = time.monotonic(), self.budget - self.seconds
        entry: dict[str, Any] = {"name": part.name, "items": [], "seconds": 0.0}
        self.parts.append(entry)
        if remaining < MIN_PART_SECONDS:
            entry["items"] = skip_part(part, "the time was over")
            return entry
        seconds = max(seconds_for(part, later, remaining) - GRACE_SECONDS, 1.0)
        settings = PartSettings(self.folder, self.platform, self._size())
        journal = self.folder / "journals" / f"{part.name}.jsonl"

        def save_progress() -> None:
            if time.monotonic() - self._last_written > WRITE_INTERVAL_SECONDS:
                entry["items"] = latest_outcomes(read_journal(journal))
                entry["seconds"] = time.monotonic() - began
                self.write()

        try:
            entry["items"] = run_part(part, settings, seconds, save_progress)
        finally:
            entry["items"] = entry["items"] or latest_outcomes(read_journal(journal))
            entry["seconds"] = round(time.monotonic() - began, 2)
            self.write()
        return entry

    def _size(self) -> str:
        """Return the size of programs: the requested one, or one that suits the device."""
        platform = items_of(self.parts, "environment").get("device", {}).get("platform")
        return self.size or ("small" if platform in (None, "cpu") else "large")

    def results(self) -> dict[str, Any]:
        """Return all results so far as JSON data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "made": self._started_at,
            "seconds": round(self.seconds, 2),
            "budget": self.budget,
            "platform": self.platform,
            "size": self._size(),
            "parts": self.parts,
        }

    def write(self) -> str:
        """Write the archive, and return its summary."""
        results = self.results()
        summary = summarize(results)
        write_archive(self.target, self.folder, results, summary)
        self._last_written = time.monotonic()
        return summary

    def close(self) -> None:
        """Remove the temporary folder with the files of the report."""
        shutil.rmtree(self.folder, ignore_errors=True)


def report(target: Path, budget: float, platform: str | None, only: Sequence[str], size: str | None) -> int:
    """Run the parts, print the summary and return the exit status: 0 if nothing that was tried fails.

    When interrupted (SIGINT, SIGTERM), stop the running part and write the results so far. ``only`` are names of
    parts (empty: all); the other arguments are those of :class:`ReportRun`.
    """
    chosen = [part for part in PARTS if not only or part.name in only or part.name == "environment"]
    run = ReportRun(target, budget, platform, size)
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    stopped = False
    try:
        for number, part in enumerate(chosen):
            entry = run.run(part, chosen[number + 1 :])
            print(f"{part.name}: {entry['seconds']:.1f} s", flush=True)
    except KeyboardInterrupt:
        stopped = True
    finally:
        signal.signal(signal.SIGTERM, previous)
        summary = run.write()
        run.close()
    print(summary, flush=True)
    print(f"{'stopped; ' if stopped else ''}written to {target}: {target.stat().st_size / 1e6:.2f} MB")
    failed = any(item["result"] == FAILS for part in run.parts for item in part["items"])
    return 130 if stopped else int(failed)
