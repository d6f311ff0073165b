"""Records and raw profiles of a report, drawn as pages of the panel."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ... import records
from ...inspect.renderers import NoRendererError, find_renderer
from ...inspect.running.accumulator import ProgramTally
from ...inspect.running.step_time import StepTime
from ...readers import FormatError
from ...readers.hlo.schedules import read_schedules
from ...readers.profiles import ModuleProfile, read_profile
from .archive import Report

_RECORDS_FOLDER, _PROFILES_FOLDER, _COMPILED_SUFFIX = "records/", "profiles/", "_compiled.json"


def write_pages(report: Report, folder: Path) -> Iterator[str]:
    """Write an HTML page into ``folder`` for each file of records and each raw profile; yield a message about each."""
    try:
        draw = find_renderer("html")
    except NoRendererError as error:
        yield f"no pages: {error}"
        yield "where it is installed, python -m xlascope show RECORDS.json -o PAGE.html draws a member of the file"
        return
    for name, content in _iter_drawable(report):
        if isinstance(content, str):
            yield f"{name}: {content}"
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.html"
        try:
            draw(content, path)
        except Exception as error:  # untrusted records can make drawing raise anything
            yield f"{name}: no page ({type(error).__name__}: {error})"
            continue
        yield f"written: {path}"


def _iter_drawable(report: Report) -> Iterator[tuple[str, tuple[Any, ...] | str]]:
    """Yield (name, records) for each page, or the name and the reason why there are no records."""
    for member in sorted(report.members):
        if member.startswith(_RECORDS_FOLDER) and member.endswith(".json") and not member.endswith(_COMPILED_SUFFIX):
            yield Path(member).stem, _load_records(report.members[member])
    for member in sorted(report.members):
        name = Path(member).name.partition(".")[0]
        compiled = report.members.get(f"{_RECORDS_FOLDER}{name}{_COMPILED_SUFFIX}")
        if member.startswith(_PROFILES_FOLDER) and compiled is not None:
            yield f"{name}_profile", _with_profile(_load_records(compiled), report.members[member])


def _load_records(data: bytes) -> tuple[Any, ...] | str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.json"
        path.write_bytes(data)
        try:
            return records.load(path)
        except ValueError as error:
            return str(error).replace(str(path), "damaged records")


def _with_profile(loaded: tuple[Any, ...] | str, data: bytes) -> tuple[Any, ...] | str:
    """Return the records of a program with a record of its raw profile, read by this version; a text if that fails."""
    if isinstance(loaded, str):
        return loaded
    compiled = next((record for record in reversed(loaded) if isinstance(record, records.Compiled)), None)
    if compiled is None:
        return "the records have no compiled program"
    try:
        profiles = profiles_of(compiled, data)
    except FormatError as error:
        return f"the profile cannot be read: {error}"
    tally = ProgramTally(compiled.program, compiled.function, compiled.time)
    tally.add_window(profiles)
    tally.add_calls(tally.observed, tally.profiled)
    if not profiles:
        return "the profile says nothing of its program"
    return (*loaded, tally.record(StepTime(tally.step, "profile"), tally.step))


def profiles_of(compiled: records.Compiled, data: bytes) -> list[ModuleProfile]:
    """Return the profiles of a program in the raw profile ``data``; raise FormatError if that cannot be read."""
    schedules = {compiled.module: read_schedules(compiled.hlo, {kernel.name for kernel in compiled.kernels})}
    return [profile for profile in read_profile(data, schedules=schedules) if profile.module == compiled.module]
