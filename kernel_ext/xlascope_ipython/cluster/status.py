"""Status of a cluster: its processes, where they run, and which of them have ended."""

from __future__ import annotations

from typing import NamedTuple


class EngineProcess(NamedTuple):
    """Process of a cluster's job: its number among them, ipyparallel's engine, and where it runs.

    ``devices`` are its own; ``state`` is ``"idle"``, ``"running"`` (a cell) or ``"ended"``.
    """

    process: int
    engine: int
    host: str
    pid: int
    devices: tuple[str, ...] = ()
    state: str = "idle"

    def to_row(self) -> tuple[str, ...]:
        """Return the texts of a table's row."""
        return str(self.process), str(self.engine), self.host, str(self.pid), " ".join(self.devices), self.state


class ClusterStatus(NamedTuple):
    """Status of a cluster: its processes, and what they are, or why there are none.

    >>> print(ClusterStatus((EngineProcess(0, 0, "node1", 71, ("cpu:0",)),), "1 process on 1 machine"))
    1 process on 1 machine
    process  engine  host   pid  devices  state
    0        0       node1  71   cpu:0    idle
    """

    processes: tuple[EngineProcess, ...]
    summary: str

    @property
    def is_healthy(self) -> bool:
        """Return whether there are processes, and none of them has ended."""
        return bool(self.processes) and all(item.state != "ended" for item in self.processes)

    def __str__(self) -> str:
        rows = [EngineProcess._fields, *(item.to_row() for item in self.processes)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.summary, *(lines if self.processes else [])])

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        printer.text(str(self))  # type: ignore[attr-defined]
