"""Membership of this process in a job of several: joining it, and leaving it."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxlib import _jax

from ...errors import CoordinatorLostError, DistributedError, PeerLostError
from ...runtime.errors import JaxRuntimeError
from ...runtime.xla_log_level import xla_log_level
from ..system.worker_thread import UninterruptibleTask, run_uninterruptible
from .addresses import HostAndPort, find_own_address
from .failure_state import failure, note_failure, stop_delivery
from .heartbeats import Heartbeats
from .key_value_store import KeyValueStore, format_processes
from .process_facts import collect_facts
from .rendezvous import attend_meeting, host_meeting
from .terminate_handler import install_terminate_handler

#: jaxlib's own heartbeats take this much longer than ours, which say more, and abort the process if ours fail.
_JAXLIB_HEARTBEAT_FACTOR = 1.5
#: Process 0 waits this long for the last messages of the others before its service ends.
_MAX_PARTING_SECONDS = 3.0
#: Between a process's last message and its disconnection; a later one is an error that nobody sees.
_DISCONNECTION_SECONDS = 0.2
#: The other processes wait this long for those that have not ended their work. Process 0 waits until its timeout.
_MAX_FOLLOWER_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.05
#: jaxlib connects processes that have met within this time.
_MAX_CONNECTION_SECONDS = 60
_MIN_ERROR_LOG_LEVEL = 2


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
        mine, seconds = collect_facts(num_processes), limits.initialization
        if process_id == 0:
            self.facts = host_meeting(bind_address, mine, seconds)
        else:
            self.facts = attend_meeting(address, process_id, mine, seconds)
        self._service = self._start_service(bind_address) if process_id == 0 else None
        self.client = self._connect()
        self.store = KeyValueStore(self.client, process_id)
        self.heartbeats = Heartbeats(self.store, process_id, self.facts, limits.heartbeat)
        self.heartbeats.start()

    def _start_service(self, bind_address: HostAndPort) -> Any:
        try:
            with xla_log_level(_MIN_ERROR_LOG_LEVEL):  # it warns of `recoverable`
                return _jax.get_distributed_runtime_service(
                    str(bind_address),
                    self.num_processes,
                    heartbeat_timeout=int(self.timeouts.heartbeat * _JAXLIB_HEARTBEAT_FACTOR) + 1,
                    cluster_register_timeout=_MAX_CONNECTION_SECONDS,
                    shutdown_timeout=max(1, int(self.timeouts.shutdown)),
                    recoverable=True,  # without it, the service would end all processes when one is gone
                )
        except (JaxRuntimeError, RuntimeError) as error:
            raise DistributedError(f"process 0 cannot coordinate at {bind_address}: {error}") from None

    def _connect(self) -> Any:
        """Return jaxlib's client, connected to the coordinator; raises DistributedError if that fails."""
        is_heard = install_terminate_handler(self._note_lost_coordinator)
        client = _jax.get_distributed_runtime_client(
            str(self.address),
            self.process_id,
            init_timeout=_MAX_CONNECTION_SECONDS,
            heartbeat_timeout=int(self.timeouts.heartbeat * _JAXLIB_HEARTBEAT_FACTOR) + 1,
            shutdown_timeout=max(1, int(self.timeouts.shutdown)),
            shutdown_on_destruction=False,
            use_compression=True,
            **({"missed_heartbeat_callback": self._note_lost_coordinator} if is_heard else {}),
        )
        try:
            run_uninterruptible(client.connect)
        except RuntimeError as error:  # JaxRuntimeError is one
            raise DistributedError(
                f"process {self.process_id} met the others at {self.address}, and lost them while jaxlib connected "
                f"them: one of them has ended.\nSee what the others print. jaxlib says: {error}"
            ) from None
        return client

    def _note_lost_coordinator(self, status: object = None) -> None:
        """Record that jaxlib's client has lost the service; jaxlib calls this on a thread of its own."""
        message = (
            f"the coordinator at {self.address}, in process 0, is gone: it ended, or it cannot be reached any more.\n"
            "The job cannot go on without it: start all processes again, from the last state that was saved."
        )
        if not self.is_leaving:
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
            departed = self.heartbeats.find_departed()
            if departed:
                return _departed_error(departed)
            time.sleep(0.1)
        return None

    def require_presence(self, process: int) -> None:
        """Raise PeerLostError if a process has left the job in order, though this one still needs it."""
        if process in self.heartbeats.find_departed():
            raise _departed_error([process])

    def leave(self, reason: str | None = None) -> None:
        """Leave the job: wait until all processes have ended their work, and end the service.

        ``reason`` says by which error this process ends, which the others are told at once; it does not wait then.
        """
        stop_delivery()
        if isinstance(failure(), CoordinatorLostError):
            return  # there is nobody to tell
        limit = self.timeouts.shutdown
        if self._service is None:
            limit = min(limit, _MAX_FOLLOWER_WAIT_SECONDS)
        if reason is None and failure() is None:
            _run_briefly(self.heartbeats.wait_for_leaving, limit)
        self.is_leaving = True
        _run_briefly(functools.partial(self.heartbeats.stop, reason), _MAX_PARTING_SECONDS)
        if self._service is not None and self.num_processes > 1:
            _run_briefly(self.heartbeats.wait_for_departure, _MAX_PARTING_SECONDS)
            time.sleep(_DISCONNECTION_SECONDS)
        if failure() is None:
            _run_briefly(self.client.shutdown, _MAX_PARTING_SECONDS)
            if self._service is not None:
                _run_briefly(self._service.shutdown, _MAX_PARTING_SECONDS)


def _run_briefly(run: Callable[[], object], seconds: float) -> None:
    """Run ``run()`` on another thread, and wait for it at most that many seconds, and only while the job is well.

    A service that is gone may let it wait for minutes. Errors of jaxlib are ignored.
    """
    task = UninterruptibleTask(run)
    task.start_on_worker()
    deadline = time.monotonic() + seconds
    while failure() is None and time.monotonic() < deadline and not task.wait_for(_POLL_SECONDS):
        pass
    if task.is_done:
        with contextlib.suppress(RuntimeError):  # JaxRuntimeError is one
            task.result()


def _departed_error(processes: Sequence[int]) -> PeerLostError:
    return PeerLostError(
        f"{format_processes(processes)} left the job while this process still computes with it.\n"
        "All processes have to run the same programs, in the same order, to the same end."
    )
