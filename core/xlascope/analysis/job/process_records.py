"""Records of one process of a job, checked: they come from files and from other machines."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ...records.events import Compiled, Executed, Failure, Record, Traced
from ...records.job import JobProcess, SharedCalls
from ...records.script import ScriptRun
from ...records.store import parse_document

#: Limits for what comes from elsewhere: processes of a job, and shared programs and timed calls of one process.
MAX_PROCESSES, MAX_SHARED_PROGRAMS, MAX_TIMED_CALLS = 4096, 256, 20_000
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_PROCESS_TEXT = re.compile(r"(\d{1,9}) of (\d{1,9})")


@dataclass(frozen=True)
class ProcessRecords:
    """Records of process ``process.number`` of a job, by kind; ``run`` is None for a process without a script.

    ``compiled`` are by the number of the program, the last one for local devices.
    """

    process: JobProcess
    run: ScriptRun | None
    shared: tuple[SharedCalls, ...]
    traced: dict[int, Traced] = field(default_factory=dict)
    compiled: dict[int, Compiled] = field(default_factory=dict)
    executed: dict[int, Executed] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()

    @classmethod
    def of(cls, records: Iterable[Record]) -> ProcessRecords:
        """Return the records of one process; raise ValueError, saying what is wrong, for those of none.

        The number of a process that has not joined a job is that of its script's run (``3 of 8``).
        """
        listed = list(records)
        run = next((record for record in listed if isinstance(record, ScriptRun)), None)
        process = next((record for record in listed if isinstance(record, JobProcess)), None) or _process_of_run(run)
        _check_process(process)
        shared = [record for record in listed if isinstance(record, SharedCalls)]
        if len(shared) > MAX_SHARED_PROGRAMS:
            raise ValueError(f"{len(shared)} shared programs in one process; there are at most {MAX_SHARED_PROGRAMS}")
        return cls(
            process,
            run,
            tuple(map(_check_calls, shared)),
            {record.program: record for record in listed if isinstance(record, Traced)},
            {record.program: record for record in listed if isinstance(record, Compiled) and not record.target},
            {record.program: record for record in listed if isinstance(record, Executed)},
            tuple(record for record in listed if isinstance(record, Failure)),
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> ProcessRecords:
        """Return the records of one process from the content of a file of records; raise ValueError for other data."""
        return cls.of(parse_document(data))

    @property
    def number(self) -> int:
        """Return the number of the process in its job."""
        return self.process.number


def _process_of_run(run: ScriptRun | None) -> JobProcess:
    match = None if run is None else _PROCESS_TEXT.fullmatch(run.process)
    if run is None or match is None:
        raise ValueError("these are no records of a process of a job: they do not say its number")
    return JobProcess(None, run.function, run.time, int(match[1]), int(match[2]), run.host.split(" ")[0])


def _check_process(process: JobProcess) -> None:
    if not 0 < process.count <= MAX_PROCESSES or not 0 <= process.number < process.count:
        raise ValueError(
            f"JobProcess: there is no process {process.number} of {process.count}; a job has up to {MAX_PROCESSES}, "
            "numbered from 0"
        )


def _check_calls(calls: SharedCalls) -> SharedCalls:
    """Return the record without calls whose times are not finite; raise ValueError for one that contradicts itself."""
    numbers = calls.numbers
    label = f"SharedCalls of {calls.function[:60]!r}"
    if not len(numbers) == len(calls.began) == len(calls.ended) <= MAX_TIMED_CALLS:
        raise ValueError(f"{label}: numbers, began and ended have to be equally long, and at most {MAX_TIMED_CALLS}")
    if any(first >= second for first, second in itertools.pairwise(numbers)) or min(numbers, default=0) < 0:
        raise ValueError(f"{label}: numbers have to increase, from 0 on")
    rows = [
        row
        for row in zip(numbers, calls.began, calls.ended, strict=True)
        if math.isfinite(row[1]) and math.isfinite(row[2]) and row[1] <= row[2]
    ]
    if len(rows) == len(numbers):
        return calls
    columns = tuple(zip(*rows, strict=True)) or ((), (), ())
    return replace(calls, numbers=columns[0], began=columns[1], ended=columns[2])


def make_digest(function: str, text: str) -> str:
    """Return a digest of a program by its function and the text of its jaxpr; equal in all processes.

    Addresses of Python objects, which differ between processes, do not count.

    >>> make_digest("f", "{ custom[f=<object at 0x7f01>] }") == make_digest("f", "{ custom[f=<object at 0x55aa>] }")
    True
    """
    return hashlib.sha256(f"{function}\n{_ADDRESS.sub('0x', text)}".encode(errors="replace")).hexdigest()[:16]
