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
from .seen import Seen

#: Packages whose versions are recorded if the script has imported them.
_PACKAGES = ("xlascope", "jax", "jaxlib", "flax", "equinox", "optax", "numpyro", "diffrax", "haiku", "numpy")
_DISTRIBUTIONS = {"haiku": "dm-haiku"}

#: Environment variables in which job launchers give the process's rank and the number of processes.
_RANKS = (
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
)


def rank_of(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the rank of this process in its job and the number of processes; None if it runs alone.

    >>> find_rank({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"})
    (3, 8)
    >>> find_rank({"SLURM_PROCID": "0"})
    """
    for rank, size in _RANKS:
        values = environment.get(rank, ""), environment.get(size, "")
        if all(text.isdigit() for text in values) and int(values[1]) > 1:
            return int(values[0]), int(values[1])
    return None


@dataclass
class About:
    """Information about a run that is known before it ends."""

    script: str
    command: tuple[str, ...]
    began: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.perf_counter)
    folder: str = field(default_factory=os.getcwd)
    rank: tuple[int, int] | None = field(default_factory=lambda: rank_of(os.environ))
    notes: dict[str, None] = field(default_factory=dict)
    #: The folder of the script's own files.
    home: str = field(default_factory=os.getcwd)

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

    def record(self, recorder: Seen, ended: str) -> tuple[ScriptRun, list[str]]:
        """Build the record of the run so far; return it with the JSON texts of the stored records."""
        shares, texts = recorder.written()
        run = ScriptRun(
            program=None,
            function=self.script,
            time=self.began,
            seconds=self.seconds,
            command=self.command,
            folder=self.folder,
            ended=ended,
            making=recorder.making,
            shares=shares,
            host=f"{platform.node()} ({platform.system()} {platform.machine()}, {os.cpu_count()} cores)",
            process="" if self.rank is None else f"{self.rank[0]} of {self.rank[1]}",
            versions=_versions(),
            devices=recorder.devices,
            notes=tuple(self.notes),
        )
        return run, texts


def _versions() -> tuple[str, ...]:
    versions = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        if name in sys.modules:
            try:
                versions.append(f"{name} {metadata.version(_DISTRIBUTIONS.get(name, name))}")
            except metadata.PackageNotFoundError:
                versions.append(name)
    return tuple(versions)
