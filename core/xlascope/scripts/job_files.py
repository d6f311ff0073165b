"""Files of a job's processes, joined to a report: those in a folder, or several by their names."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ..analysis.job.join import join_processes
from ..analysis.job.process_records import ProcessRecords
from ..records.job import JobReport
from ..records.store import load

#: Every file of records begins so; others in the folder are ignored.
_FILE_START = b'{"xlascope_records"'


def load_job(paths: Sequence[str | os.PathLike[str]]) -> JobReport:
    """Return the report of a job from a folder with the files of its processes, or from these files.

    Raises OSError for a file that cannot be read, and ValueError, naming it, for one that holds other data, for files
    of several jobs, and where there are none.
    """
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return _load_folder(Path(paths[0]))
    return join_processes([_load_process(Path(path)) for path in paths])


def _load_process(path: Path) -> ProcessRecords:
    try:
        return ProcessRecords.of(load(path))
    except ValueError as error:
        raise error if str(error).startswith(str(path)) else ValueError(f"{path}: {error}") from None


def _load_folder(folder: Path) -> JobReport:
    jobs: dict[tuple[str, int], list[ProcessRecords]] = defaultdict(list)
    paths = [path for path in sorted(folder.glob("*.json")) if _is_of_records(path)]
    for path in paths:
        records = load(path)
        if any(isinstance(record, JobReport) for record in records):
            continue  # an earlier answer
        try:
            process = ProcessRecords.of(records)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        jobs[process.process.function, process.process.count].append(process)
    if not jobs:
        raise ValueError(f"{folder} has no records of processes; `python -m xlascope watch -o {folder}/ …` writes them")
    if len(jobs) > 1:
        listed = ", ".join(
            f"{len(processes)} files of {name} ({count} processes)" for (name, count), processes in jobs.items()
        )
        raise ValueError(f"{folder} has records of several jobs: {listed}; name the files of one of them")
    return join_processes(next(iter(jobs.values())))


def _is_of_records(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_FILE_START)) == _FILE_START
