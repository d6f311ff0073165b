"""Heartbeats over the key-value store: each process writes a number every second, and reads those of the others.

jaxlib has heartbeats of its own, and aborts a process when another one stops sending them. Ours say which process is
gone and why, and let this one end by an exception.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence

from ...errors import PeerLostError
from ...runtime.errors import JaxRuntimeError
from .failure_state import failure, note_failure
from .key_value_store import KeyValueStore
from .process_facts import ProcessFacts, has_ended

#: How often a process writes its number and reads the others'.
INTERVAL_SECONDS = 1.0
_FOLDER = "alive"
#: Signs of life begin with a state: at work, waiting for the others to leave, gone, failed (the reason follows).
_WORKING, _LEAVING, _DEPARTED, _FAILED = "working", "leaving", "departed", "failed:"
_POLL_SECONDS = 0.1


class Heartbeats:
    """Thread that notices when another process of the job is gone, and records that as the job's failure.

    ``facts`` are those of all processes by their numbers, ``timeout`` is the number of seconds without a sign of life
    after which a process counts as dead.
    """

    def __init__(
        self, store: KeyValueStore, process_id: int, facts: Mapping[int, ProcessFacts], timeout: float
    ) -> None:
        self._store, self._process_id, self._facts, self._timeout = store, process_id, facts, timeout
        self._stopped = threading.Event()
        self._signs: dict[int, tuple[str, float]] = dict.fromkeys(facts, ("", time.monotonic()))
        self._count, self._state = 0, _WORKING
        self._thread = threading.Thread(target=self._run, name="xlascope heartbeats", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, reason: str | None = None) -> None:
        """Stop the thread, and tell the others that this process leaves; ``reason`` says by which error, if any."""
        self._stopped.set()
        self._write(_DEPARTED if reason is None else f"{_FAILED}{reason}")

    def wait_for_leaving(self) -> None:
        """Tell the others that this process has ended its work, and wait until all have."""
        self._state = _LEAVING
        self._write_state()
        self._wait_for_states((_LEAVING, _DEPARTED, _FAILED))

    def wait_for_departure(self) -> None:
        """Wait until all other processes have left or failed."""
        self._wait_for_states((_DEPARTED, _FAILED))

    def _wait_for_states(self, states: tuple[str, ...]) -> None:
        peers = {str(process) for process in self._facts} - {str(self._process_id)}
        while failure() is None:
            signs = self._store.read_folder(_FOLDER)
            if all(signs.get(process, "").startswith(states) for process in peers):
                return
            time.sleep(_POLL_SECONDS)

    def find_departed(self) -> Sequence[int]:
        """Return the numbers of the processes that have ended their work in order."""
        return [process for process, (sign, _) in self._signs.items() if sign.startswith((_LEAVING, _DEPARTED))]

    def _write_state(self) -> None:
        self._count += 1
        self._write(f"{self._state} {self._count}")

    def _write(self, sign: str) -> None:
        self._store.write(f"{_FOLDER}/{self._process_id}", sign, overwrite=True)

    def _run(self) -> None:
        while not self._stopped.wait(min(INTERVAL_SECONDS, self._timeout / 4)):
            with contextlib.suppress(JaxRuntimeError):  # a service that is gone is reported by jaxlib's client
                self._write_state()
                if not self._stopped.is_set():
                    self._inspect_others(self._store.read_folder(_FOLDER))

    def _inspect_others(self, signs: Mapping[str, str]) -> None:
        now = time.monotonic()
        for process, (last, since) in self._signs.items():
            sign = signs.get(str(process), "")
            if process == self._process_id or last == _DEPARTED:
                continue
            if sign != last:
                self._signs[process] = sign, now
            cause = self._find_cause(process, sign, now - since if sign == last else 0.0)
            if cause is not None:
                note_failure(lost_peer_error(process, self._facts[process], cause))
                self._stopped.set()

    def _find_cause(self, process: int, sign: str, silence: float) -> str | None:
        """Return why a process counts as lost, None if it does not; ``silence`` is in seconds since its last sign."""
        if sign.startswith(_FAILED):
            return f"ended by an error: {sign.removeprefix(_FAILED)}"
        if sign != _DEPARTED and has_ended(self._facts[process], self._facts[self._process_id]):
            return "has ended without leaving the job: it was killed, or it crashed"
        if sign != _DEPARTED and silence > self._timeout:
            return f"has given no sign of life for {silence:.0f} s: its machine, its network or the process is gone"
        return None


def lost_peer_error(process: int, facts: ProcessFacts, cause: str) -> PeerLostError:
    """Return the error for a process that is gone; ``cause`` continues the sentence about it."""
    return PeerLostError(
        f"process {process} (pid {facts.pid} on {facts.host}) {cause}.\n"
        "The job cannot go on without it: end the other processes and start all of them again, from the last "
        "state that was saved."
    )
