"""Facts that processes of one job tell each other when they meet: versions, machine, and what they were asked for."""

from __future__ import annotations

import json
import os
import platform
import socket
from pathlib import Path
from typing import NamedTuple

from jaxlib import version, xla_client


class ProcessFacts(NamedTuple):
    """Versions of a process (jaxlib, of its interface, Python), its machine, its pid and the job's size as it knows it.

    ``pid_space`` is equal for processes of one machine that see each other's pids, "" where that is unknown.
    """

    jaxlib: str
    interface: int
    python: str
    processor: str
    host: str
    pid: int
    pid_space: str
    num_processes: int

    def to_text(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_text(cls, text: str) -> ProcessFacts:
        """Return the facts that a text from :meth:`to_text` holds."""
        return cls(**json.loads(text))


def collect_facts(num_processes: int) -> ProcessFacts:
    """Return the facts of this process; ``num_processes`` is the size of the job that it was given."""
    return ProcessFacts(
        version.__version__,
        int(xla_client._version),
        platform.python_version(),
        platform.machine(),
        socket.gethostname(),
        os.getpid(),
        _read_pid_space(),
        num_processes,
    )


def _read_pid_space() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def has_ended(facts: ProcessFacts, mine: ProcessFacts) -> bool:
    """Return whether a process of this machine has ended; False for one of which that cannot be known from here."""
    if not mine.pid_space or facts.pid_space != mine.pid_space:
        return False
    try:
        state = Path(f"/proc/{facts.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    except (OSError, IndexError):
        return False
    return state in ("Z", "X")
