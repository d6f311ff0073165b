"""Membership of this process in a job of several: joining it, and leaving it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxlib import _jax

from ...errors import CoordinatorLostError, DistributedError, PeerLostError
from ...runtime.errors import JaxRuntimeError
from ..system.worker_thread import run_uninterruptible
from .addresses import HostAndPort, find_own_address, is_answering, require_free_port
from .failure_state import end_process, failure, note_failure
from .heartbeats import Heartbeats
from .key_value_store import KeyValueStore, MissingProcessesError, format_processes
from .process_facts import ProcessFacts, collect_facts
from .terminate_handler import install_terminate_handler

#: jaxlib's own heartbeats take this much longer than ours, which say more, and abort the process if ours fail.
_JAXLIB_HEARTBEAT_FACTOR = 2
#: Process 0 waits this long for the last messages of the others before its service ends.
_MAX_PARTING_SECONDS = 5.0
_PROBE_TIMEOUT_SECONDS = 5.0


class JobTimeouts(NamedTuple):
    """Timeouts in seconds: until all processes have come, until a silent one counts as dead, until all leave."""

    initialization: float = 300
    heartbeat: float = 30
    shutdown: float = 300


class Membership:
    """Membership of process ``process_id`` in a job of ``num_processes`` whose coordinator listens at ``address``."""

    def __init__(
        self, address: HostAndPort, num_processes: int, process_id: int, bind_address: HostAndPort, limits: JobTimeouts
    ) -> None:
        self.address, self.num_processes, self.process_id = address, num_processes, process_id
        self.timeouts = limits
        #: The numbers of the GPUs that this process uses, None for all of them.
        self.device_numbers: tuple[int, ...] | None = None
        self.is_leaving = False
        self._service = self._start_service(bind_address) if process_id == 0 else None
        try:
            self.client = self._connect()
            self.store = KeyValueStore(self.client, process_id)
            self.facts = self._meet()
        except BaseException:
            self._abandon()
            raise
        self.heartbeats = Heartbeats(self.store, process_id, self.facts, limits.heartbeat)
        self.heartbeats.start()

    def _start_service(self, bind_address: HostAndPort) -> Any:
        require_free_port(bind_address)
        try:
            return _jax.get_distributed_runtime_service(
                str(bind_address),
                self.num_processes,
                heartbeat_timeout=int(self.timeouts.heartbeat * _JAXLIB_HEARTBEAT_FACTOR) + 1,
                cluster_register_timeout=max(1, int(self.timeouts.initialization)),
                shutdown_timeout=max(1, int(self.timeouts.shutdown)),
                recoverable=True,  # ours say which process is gone
            )
        except JaxRuntimeError as error:
            raise DistributedError(f"process 0 cannot coordinate at {bind_address}: {error}") from None

    def _connect(self) -> Any:
        """Return jaxlib's client, connected to the coordinator; raises DistributedError with the likely reason."""
        notify = {"missed_heartbeat_callback": self._note_lost_coordinator} if _can_be_notified(self) else {}
        client = _jax.get_distributed_runtime_client(
            str(self.address),
            self.process_id,
            init_timeout=max(1, int(self.timeouts.initialization)),
            heartbeat_timeout=int(self.timeouts.heartbeat * _JAXLIB_HEARTBEAT_FACTOR) + 1,
            shutdown_timeout=max(1, int(self.timeouts.shutdown)),
            shutdown_on_destruction=False,
            use_compression=True,
            **notify,
        )
        try:
            run_uninterruptible(client.connect)
        except JaxRuntimeError as error:
            raise DistributedError(self._explain_connect_error(str(error))) from None
        return client

    def _explain_connect_error(self, text: str) -> str:
        me, seconds = f"process {self.process_id}", self.timeouts.initialization
        fix = "All processes are given the same coordinator_address and num_processes, and each its own process_id."
        if self.process_id and not is_answering(self.address, _PROBE_TIMEOUT_SECONDS):
            return (
                f"{me} found no coordinator at {self.address} within {seconds:g} s: process 0 was not started, has "
                f"ended, or cannot be reached from here.\n{fix}"
            )
        return (
            f"{me} did not meet all {self.num_processes} processes at {self.address} within {seconds:g} s: some were "
            f"not started, or were given another address or another num_processes.\n{fix}\njaxlib says: {text}"
        )

    def _meet(self) -> Mapping[int, ProcessFacts]:
        """Tell the others the facts of this process, and return theirs; raises DistributedError if they do not fit."""
        mine = collect_facts(self.num_processes)
        if not self.store.write(f"numbers/{self.process_id}", mine.to_text()):
            first = ProcessFacts.from_text(self.store.read_folder("numbers")[str(self.process_id)])
            raise DistributedError(
                f"there are two processes with process_id={self.process_id}: this one (pid {mine.pid} on {mine.host}) "
                f"and pid {first.pid} on {first.host}.\nGive each its own number."
            )
        seconds = self.timeouts.initialization
        try:
            texts = self.store.gather("facts", mine.to_text(), range(self.num_processes), seconds)
        except MissingProcessesError as error:
            raise DistributedError(
                f"{format_processes(error.processes)} did not come to {self.address} within {seconds:g} s, though "
                f"{self.num_processes} processes are expected.\nStart all of them, with the same num_processes."
            ) from None
        facts = {process: ProcessFacts.from_text(text) for process, text in texts.items()}
        _require_equal_facts(facts, self.process_id)
        return facts

    def _note_lost_coordinator(self, status: object = None) -> None:
        """Record that jaxlib's client has lost the service; jaxlib calls this on a thread of its own."""
        message = (
            f"the coordinator at {self.address}, in process 0, is gone: it ended, or it cannot be reached any more.\n"
            "The job cannot go on without it: start all processes again, from the last state that was saved."
        )
        if self.is_leaving:
            end_process(message)
        note_failure(CoordinatorLostError(message))

    def find_local_address(self) -> str:
        """Return the address at which the other processes reach this one."""
        return find_own_address(self.address)

    def explain(self, error: Exception) -> DistributedError | None:
        """Return why a program on several processes failed, None if all of them are well.

        ``error`` is jaxlib's. This waits until a process is known to be gone, at most as long as a silent one may be.
        """
        if not any(words in str(error) for words in ("Gloo", "gloo", "Connection closed", "NCCL")):
            return None
        deadline = time.monotonic() + self.timeouts.heartbeat + 2
        while time.monotonic() < deadline:
            if failure() is not None:
                return failure()
            if self.heartbeats.departed:
                return _departed_error(self.heartbeats.departed)
            time.sleep(0.1)
        return None

    def require_presence(self, process: int) -> None:
        """Raise PeerLostError if a process has left the job in order, though this one still needs it."""
        if process in self.heartbeats.departed:
            raise _departed_error([process])

    def leave(self, reason: str | None = None) -> None:
        """Leave the job: wait for the others, then end the service.

        ``reason`` says by which error this process ends, which the others are told at once; it does not wait then.
        """
        if reason is None and failure() is None:
            with contextlib.suppress(DistributedError, JaxRuntimeError):
                self.store.gather("end", "", range(self.num_processes), self.timeouts.shutdown)
        self.is_leaving = True
        self.heartbeats.stop(reason)
        if failure() is not None:
            return
        if self._service is not None and self.num_processes > 1:
            self._wait_for_partings()
        with contextlib.suppress(JaxRuntimeError):
            self.client.shutdown()
        if self._service is not None:
            self._service.shutdown()

    def _wait_for_partings(self) -> None:
        """Wait until the other processes have disconnected, for whom the end of the service would be a failure."""
        deadline = time.monotonic() + _MAX_PARTING_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(JaxRuntimeError):
                if len(self.client.get_live_nodes([0])) > 1:
                    continue
            time.sleep(0.05)

    def _abandon(self) -> None:
        if self._service is not None:
            with contextlib.suppress(JaxRuntimeError):
                self._service.shutdown()


def _departed_error(processes: Sequence[int]) -> PeerLostError:
    return PeerLostError(
        f"{format_processes(processes)} left the job while this process still computes with it.\n"
        "All processes have to run the same programs, in the same order, to the same end."
    )


def _can_be_notified(membership: Membership) -> bool:
    return install_terminate_handler(membership._note_lost_coordinator)


def _require_equal_facts(facts: Mapping[int, ProcessFacts], process_id: int) -> None:
    """Raise DistributedError if a process was given another job size, or has another jaxlib or kind of processor."""
    first = facts[0]
    for process, other in facts.items():
        if other.num_processes != first.num_processes:
            raise DistributedError(
                f"process {process} was given num_processes={other.num_processes}, and process 0 "
                f"num_processes={first.num_processes}.\nGive all of them the same number."
            )
        if (other.jaxlib, other.interface) != (first.jaxlib, first.interface):
            raise DistributedError(
                f"process {process} (on {other.host}) has jaxlib {other.jaxlib}, and process 0 (on {first.host}) has "
                f"jaxlib {first.jaxlib}: programs compiled by both would not fit together.\n"
                f"Install the same one everywhere: pip install jaxlib=={first.jaxlib}"
            )
