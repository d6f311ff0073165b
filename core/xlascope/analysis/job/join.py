"""Joining of the records of a job's processes to one report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...records.events import Record
from ...records.job import JobClock, JobMember, JobReport
from .clocks import AlignedClocks, align_clocks
from .differences import find_differences
from .process_records import MAX_PROCESSES, ProcessRecords
from .shared_programs import join_programs

MAX_LISTED_PROCESSES = 16


def join_records(records_by_process: Iterable[Iterable[Record]]) -> JobReport:
    """Return the report of a job from the records of its processes; raise ValueError where they are of no one job."""
    return join_processes([ProcessRecords.of(records) for records in records_by_process])


def join_processes(processes: Sequence[ProcessRecords]) -> JobReport:
    """Return the report of a job from the checked records of its processes.

    Raises ValueError without any, and for two processes with one number or of jobs of different sizes.
    """
    ordered = sorted(processes, key=lambda process: process.number)
    if not ordered:
        raise ValueError("there are no records of processes to join")
    if len(ordered) > MAX_PROCESSES:
        raise ValueError(f"{len(ordered)} processes; at most {MAX_PROCESSES} are joined")
    number, times = Counter(process.number for process in ordered).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{times} times the records of process {number}: they are not of one run of a job")
    counts = sorted({process.process.count for process in ordered})
    if len(counts) > 1:
        raise ValueError(f"records of jobs of {' and '.join(map(str, counts))} processes: they are not of one job")
    aligned = align_clocks(ordered)
    first = ordered[0].process
    return JobReport(
        None,
        first.function,
        min(aligned.clocks[process.number].to_reference(process.process.time) for process in ordered),
        counts[0],
        tuple(_make_member(process, aligned) for process in ordered),
        join_programs(ordered, aligned),
        find_differences(ordered),
        tuple(_notes(ordered, counts[0], aligned)),
    )


def _make_member(process: ProcessRecords, aligned: AlignedClocks) -> JobMember:
    run, identity = process.run, process.process
    return JobMember(
        identity.number,
        identity.host,
        identity.pid,
        identity.devices,
        "" if run is None else run.ended,
        0.0 if run is None else run.seconds,
        0.0 if run is None else run.making,
        0.0 if run is None else run.running,
        aligned.reference,
        aligned.clocks.get(process.number, JobClock()),
    )


def _notes(processes: Sequence[ProcessRecords], count: int, aligned: AlignedClocks) -> Iterable[str]:
    present = {process.number for process in processes}
    missing = [number for number in range(count) if number not in present]
    if missing:
        yield f"no records of {_list_processes(missing)}"
    unaligned = [number for number, clock in aligned.clocks.items() if clock.offset is None]
    if unaligned:
        yield (
            f"the clock of {_list_processes(unaligned)} could not be aligned, for want of a common collective: its "
            "times are taken as they are"
        )
    for process in processes:
        for note in process.run.notes if process.run is not None else ():
            yield f"process {process.number}: {note}"


def _list_processes(numbers: Sequence[int]) -> str:
    """Return numbers of processes as text.

    >>> _list_processes([1]), _list_processes([0, 2])
    ('process 1', 'processes 0, 2')
    """
    listed = ", ".join(map(str, numbers[:MAX_LISTED_PROCESSES]))
    more = f" and {len(numbers) - MAX_LISTED_PROCESSES} more" if len(numbers) > MAX_LISTED_PROCESSES else ""
    return f"process{'es' if len(numbers) > 1 else ''} {listed}{more}"
