"""What a run is: the script, its command, the process in its job, the versions of what it uses."""

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

#: Packages whose version matters, named where the script has loaded them.
_PACKAGES = ("xlascope", "jax", "jaxlib", "flax", "equinox", "optax", "numpyro", "diffrax", "haiku", "numpy")
_DISTRIBUTIONS = {"haiku": "dm-haiku"}

#: Where launchers of jobs say which process this is, and of how many.
_RANKS = (
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
)


def rank_of(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Which process of a job this is, and of how many; None for one that is alone.

    >>> rank_of({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8"})
    (3, 8)
    >>> rank_of({"SLURM_PROCID": "0"})
    """
    for rank, size in _RANKS:
        found = environment.get(rank, ""), environment.get(size, "")
        if all(each.isdigit() for each in found) and int(found[1]) > 1:
            return int(found[0]), int(found[1])
    return None


@dataclass
class About:
    """A run that has begun: what is known of it before it has ended."""

    script: str
    command: tuple[str, ...]
    began: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.perf_counter)
    folder: str = field(default_factory=os.getcwd)
    rank: tuple[int, int] | None = field(default_factory=lambda: rank_of(os.environ))
    notes: dict[str, None] = field(default_factory=dict)
    #: The folder in which the script's own files are.
    home: str = field(default_factory=os.getcwd)

    #: When it ended, by the clock that began with it.
    ended_at: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return (time.perf_counter() if self.ended_at is None else self.ended_at) - self.clock

    def end(self) -> None:
        """It has ended now, unless it had before."""
        if self.ended_at is None:
            self.ended_at = time.perf_counter()

    def record(self, seen: Seen, ended: str) -> tuple[ScriptRun, list[str]]:
        """The record of the run as it is now, and the texts of what else is kept of it."""
        shares, texts = seen.written()
        run = ScriptRun(
            program=None,
            function=self.script,
            time=self.began,
            seconds=self.seconds,
            command=self.command,
            folder=self.folder,
            ended=ended,
            making=seen.making,
            shares=shares,
            host=f"{platform.node()} ({platform.system()} {platform.machine()}, {os.cpu_count()} cores)",
            process="" if self.rank is None else f"{self.rank[0]} of {self.rank[1]}",
            versions=_versions(),
            devices=seen.devices,
            notes=tuple(self.notes),
        )
        return run, texts


def _versions() -> tuple[str, ...]:
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        if name in sys.modules:
            try:
                found.append(f"{name} {metadata.version(_DISTRIBUTIONS.get(name, name))}")
            except metadata.PackageNotFoundError:
                found.append(name)
    return tuple(found)
