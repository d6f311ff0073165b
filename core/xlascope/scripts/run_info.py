"""Information about a run: the script, its command, its process within a job, and package versions."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata

from ..records.script import ScriptRun
from .recorder import ScriptRecorder

#: Packages whose versions are recorded if the script has imported them.
_PACKAGES = ("xlascope", "jax", "jaxlib", "flax", "equinox", "optax", "numpyro", "diffrax", "haiku", "numpy")
_DISTRIBUTIONS = {"haiku": "dm-haiku"}

#: Environment variables in which job launchers give the process's rank and the number of processes.
_RANK_VARIABLES = (
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
)


def find_rank(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the rank of this process in its job and the number of processes; None if it runs alone.

    >>> find_rank({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"})
    (3, 8)
    >>> find_rank({"SLURM_PROCID": "0"})
    """
    for rank, size in _RANK_VARIABLES:
        values = environment.get(rank, ""), environment.get(size, "")
        if all(text.isdigit() for text in values) and int(values[1]) > 1:
            return int(values[0]), int(values[1])
    return None


@dataclass
class RunInfo:
    """Information about a run that is known before it ends.

    ``began`` is in seconds since the epoch, ``clock`` of ``time.perf_counter``. ``rank`` is the number of this
    process in its job and their number, None if it runs alone; ``notes`` are remarks for the user.
    """

    script: str
    command: tuple[str, ...]
    began: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.perf_counter)
    folder: str = field(default_factory=os.getcwd)
    rank: tuple[int, int] | None = field(default_factory=lambda: find_rank(os.environ))
    notes: dict[str, None] = field(default_factory=dict)
    #: The folder of the script's own files.
    script_folder: str = field(default_factory=os.getcwd)

    #: The end time, on the same clock as ``clock``.
    ended_at: float | None = None

    @property
    def seconds(self) -> float:
        """Return how long the run has taken so far."""
        return (time.perf_counter() if self.ended_at is None else self.ended_at) - self.clock

    def end(self) -> None:
        """Note the end of the run, unless it is noted already."""
        if self.ended_at is None:
            self.ended_at = time.perf_counter()

    def build_record(self, recorder: ScriptRecorder, end_reason: str) -> tuple[ScriptRun, list[str]]:
        """Return the record of the run so far, and the JSON texts of the programs' records to write with it.

        ``end_reason`` says how the run ended, ``""`` while it goes on.
        """
        shares, texts = recorder.snapshot()
        run = ScriptRun(
            program=None,
            function=self.script,
            time=self.began,
            seconds=self.seconds,
            command=self.command,
            folder=self.folder,
            ended=end_reason,
            making=recorder.build_seconds,
            shares=shares,
            host=f"{platform.node()} ({platform.system()} {platform.machine()}, {os.cpu_count()} cores)",
            process="" if self.rank is None else f"{self.rank[0]} of {self.rank[1]}",
            versions=_list_versions(),
            devices=recorder.devices,
            notes=tuple(self.notes),
        )
        return run, texts


def _list_versions() -> tuple[str, ...]:
    versions = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        if name in sys.modules:
            try:
                versions.append(f"{name} {metadata.version(_DISTRIBUTIONS.get(name, name))}")
            except metadata.PackageNotFoundError:
                versions.append(name)
    return tuple(versions)
