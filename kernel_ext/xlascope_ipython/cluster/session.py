"""Cluster of a notebook: engines of ipyparallel that are the processes of one job."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import ipyparallel

from xlascope.errors import DistributedError, PeerLostError
from xlascope.xla.processes.key_value_store import format_processes

from .local_launcher import LocalEngines
from .messages import JSON
from .requests import EngineRequest, call_engines
from .status import ClusterStatus, EngineProcess

#: How long engines have to say who they are; the first one imports jaxlib.
MAX_DESCRIBE_SECONDS = 60.0
#: How long the controller may take to notice that an engine has ended.
MAX_UNREGISTERING_SECONDS = 10.0
_POLL_SECONDS = 0.05
NO_PROCESSES = "no processes: xs.cluster.start(4) starts some"
START_AGAIN = "xs.cluster.restart() starts all processes again; what was on them has to be computed or loaded again."


class Cluster:
    """Processes of one job, each an engine of ipyparallel; ``client`` is ipyparallel's.

    ``%%px`` runs a cell in all of them. Made by :func:`xlascope.cluster.start`.
    """

    def __init__(
        self,
        connection: ipyparallel.Cluster | ipyparallel.Client | LocalEngines,
        count: int | None,
        coordinator_address: str | None,
        devices: int | None,
        timeout: float,
    ) -> None:
        self._connection = connection
        self._count = count
        self._coordinator_address = coordinator_address
        #: The devices that the CPU of each process was asked to have, None for what it has without being asked.
        self.devices = devices
        self._timeout = timeout
        self._has_started_engines = isinstance(connection, LocalEngines)
        self.processes: tuple[EngineProcess, ...] = ()
        self._identities: dict[int, str] = {}
        self._end_order: list[str] = []
        self.client: Any = None
        #: The request of a cell that some processes did not end, and that was given up.
        self.stuck_request: EngineRequest | None = None

    # Start and end ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the engines, or find them, and let them join one job; end what was started if that fails."""
        try:
            self._connect()
            self._join_job(self._wait_for_engines(self._count, set()))
        except BaseException:
            self.stop()
            raise

    def _connect(self) -> None:
        """Connect a client, after starting the cluster where it does not run."""
        connection = self._connection
        if isinstance(connection, LocalEngines):
            connection.start()
            self.client = connection.cluster.connect_client_sync()
        elif isinstance(connection, ipyparallel.Cluster):
            if not connection._is_running():
                connection.start_cluster_sync(self._count)
                self._has_started_engines = True
            self.client = connection.connect_client_sync()
        else:
            self.client = connection

    def _wait_for_engines(self, count: int | None, former: set[str]) -> list[int]:
        """Return ``count`` engines whose identities are not ``former`` ones, once they are there; None: all there."""
        deadline = time.monotonic() + self._timeout
        while True:
            engines = [engine for engine in sorted(self.client.ids) if self.client._engines.get(engine) not in former]
            if count is None and engines:
                return engines
            if count is not None and len(engines) >= count:
                return engines[:count]
            if time.monotonic() > deadline:
                raise DistributedError(
                    f"{len(engines)} of {count or 'the'} engines have come within {self._timeout:g} s.\n"
                    "timeout= gives them longer; a scheduler's queue may need that. What they write is in the folder "
                    "log of ipyparallel's profile."
                )
            time.sleep(_POLL_SECONDS)

    def _join_job(self, engines: Sequence[int]) -> None:
        """Let engines become the processes of one job, in this order."""
        facts = self._call({engine: {} for engine in engines}, "describe", MAX_DESCRIBE_SECONDS)
        if all(facts[engine]["job"] is not None for engine in engines):
            self._adopt(facts)
            return
        for engine in engines:
            _require_free(engine, facts[engine])
        count, timeout = len(engines), math.ceil(self._timeout)
        address = self._coordinator_address or self._choose_address(engines, facts)
        local = _number_within_hosts([facts[engine]["pid_space"] or facts[engine]["host"] for engine in engines])
        arguments = {
            engine: {
                **{"address": address, "count": count, "rank": rank, "timeout": timeout},
                **{"devices": self.devices, "local_device": local[rank]},
            }
            for rank, engine in enumerate(engines)
        }
        facts = self._call(arguments, "join", self._timeout + MAX_DESCRIBE_SECONDS)
        self._set_processes(engines, facts)

    def _adopt(self, facts: Mapping[int, JSON]) -> None:
        """Take engines that are the processes of one job already, as those of a notebook whose kernel has ended."""
        by_rank = {facts[engine]["job"][0]: engine for engine in facts}
        counts = {facts[engine]["job"][1] for engine in facts}
        if counts != {len(facts)} or sorted(by_rank) != list(range(len(facts))):
            raise DistributedError(
                "the engines belong to jobs already, and not all of one: "
                + ", ".join(
                    f"engine {engine} is process {entry['job'][0]} of {entry['job'][1]}"
                    for engine, entry in facts.items()
                )
                + ".\nRestart the engines, or give start() the client of those of one job."
            )
        engines = [by_rank[rank] for rank in sorted(by_rank)]
        self._call({engine: {} for engine in engines}, "watch", MAX_DESCRIBE_SECONDS)
        self._set_processes(engines, facts)

    def _set_processes(self, engines: Sequence[int], facts: Mapping[int, JSON]) -> None:
        self.processes = tuple(
            EngineProcess(rank, engine, facts[engine]["host"], facts[engine]["pid"], tuple(facts[engine]["devices"]))
            for rank, engine in enumerate(engines)
        )
        self._identities = {engine: self.client._engines[engine] for engine in engines}
        self._end_order = []
        if self._note_event not in self.client._registration_callbacks:
            self.client._registration_callbacks.append(self._note_event)

    def _choose_address(self, engines: Sequence[int], facts: Mapping[int, JSON]) -> str:
        """Return an address at which the process of the first engine can listen for those of the others."""
        host = facts[engines[0]]["host"]
        elsewhere = next((facts[engine]["host"] for engine in engines if facts[engine]["host"] != host), "")
        answers = self._call({engines[0]: {"other_host": elsewhere}}, "choose_address", MAX_DESCRIBE_SECONDS)
        return str(answers[engines[0]]["address"])

    def _call(self, arguments: Mapping[int, JSON], name: str, seconds: float) -> dict[int, JSON]:
        """Call a function of ``engine_calls`` on engines; raise DistributedError for the first that fails."""
        answers, errors = call_engines(self.client, arguments, name, seconds)
        for engine in sorted(errors, key=lambda engine: isinstance(errors[engine], TimeoutError)):
            error = errors[engine]
            kind = getattr(error, "ename", type(error).__name__)
            message = getattr(error, "evalue", str(error))
            fix = "\nInstall xlascope where the engines run." if kind == "ModuleNotFoundError" else ""
            raise DistributedError(f"engine {engine} cannot join the job: {kind}: {message}{fix}") from None
        return answers

    def restart(self) -> None:
        """Start all processes again: those that live end, and others join a new job."""
        connection, former = self._connection, set(self.client._engines.values())
        count = len(self.processes) or self._count or 1
        self.processes, self.stuck_request = (), None
        if isinstance(connection, ipyparallel.Client):
            cluster = connection.cluster
            if cluster is None:
                raise DistributedError(
                    "these engines were started by another program, which has to start them again.\n"
                    "Then call xs.cluster.start() with a client of the new ones. An ipyparallel Cluster (Cluster."
                    "from_file finds the one of a profile) can be restarted from here."
                )
            connection = cluster
        cluster = connection.cluster if isinstance(connection, LocalEngines) else connection
        try:
            cluster.stop_engines_sync()
            self._wait_until_gone(former)
            if isinstance(connection, LocalEngines):
                connection.start_engines(count)
            else:
                cluster.start_engines_sync(count)
            self._join_job(self._wait_for_engines(count, former))
        except BaseException:
            self.stop()
            raise

    def _wait_until_gone(self, former: set[str]) -> None:
        """Wait until the controller has noticed that engines have ended, for a while: their numbers are free then."""
        deadline = time.monotonic() + MAX_UNREGISTERING_SECONDS
        while former & set(self.client._engines.values()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the engines that were started here; others leave the job."""
        connection, self._count = self._connection, len(self.processes) or self._count
        processes, self.processes = self.processes, ()
        with contextlib.suppress(Exception):
            if self.client is not None and not self._has_started_engines:
                call_engines(self.client, {item.engine: {} for item in processes}, "leave", 5.0)
        if self.client is not None and self.client is not connection:
            self.client.close()
        if isinstance(connection, LocalEngines):
            connection.stop()
        elif self._has_started_engines:
            connection.stop_cluster_sync()

    # Health -----------------------------------------------------------------------------------------------------------

    def find_ended(self) -> list[EngineProcess]:
        """Return the processes that have ended."""
        if self.client is None or self.client._closed:
            return list(self.processes)
        identities = self.client._engines
        return [item for item in self.processes if identities.get(item.engine) != self._identities[item.engine]]

    def require_healthy(self) -> None:
        """Raise PeerLostError, with its number, if a process has ended; DistributedError if the cluster has."""
        if not self.processes:
            raise DistributedError(f"{NO_PROCESSES}.")
        ended = self.find_ended()
        if ended:
            raise PeerLostError(self.describe_ended(ended))

    def require_free(self) -> None:
        """Raise PeerLostError if a process has not ended a cell that was given up."""
        request = self.stuck_request
        running = [] if request is None else request.running_engines
        if not running:
            self.stuck_request = None
            return
        processes = format_processes([item.process for item in self.processes if item.engine in running])
        verb = "has" if len(running) == 1 else "have"
        raise PeerLostError(
            f"{processes} {verb} not ended the cell: it does not answer, or waits inside XLA, most likely in a "
            f"collective for a process that does not come.\n{START_AGAIN}"
        )

    def describe_ended(self, ended: Sequence[EngineProcess]) -> str:
        """Return the message about processes that have ended; the one that ended first is named first."""
        order = {identity: index for index, identity in enumerate(self._end_order)}
        first, *rest = sorted(ended, key=lambda item: order.get(self._identities[item.engine], len(order)))
        more = f"; {format_processes(sorted(item.process for item in rest))} with it" if rest else ""
        how = self._connection.explain_end(first.pid) if isinstance(self._connection, LocalEngines) else ""
        status, *words = how.split("\n")
        lines = "\n".join([f"process {first.process} of {len(self.processes)} has ended{status}", *words])
        return (
            f"{lines.replace(' has ended', f' (pid {first.pid} on {first.host}) has ended', 1)}{more}.\n"
            f"The job cannot go on without it: {START_AGAIN}"
        )

    def _note_event(self, event: Mapping[str, Any]) -> None:
        """Note that the controller has noticed the end of an engine; called on the client's thread."""
        if event.get("event") == "unregister":
            identity = self._identities.get(int(event["id"]))
            if identity is not None and len(self._end_order) <= len(self.processes):
                self._end_order.append(identity)

    def status(self) -> ClusterStatus:
        """Return the processes and the state of each."""
        ended = {item.process for item in self.find_ended()}
        busy = {item.engine for item in self.processes if self._is_busy(item)}
        items = tuple(
            item._replace(state="ended" if item.process in ended else "running" if item.engine in busy else "idle")
            for item in self.processes
        )
        return ClusterStatus(items, self._summary())

    def _is_busy(self, item: EngineProcess) -> bool:
        identity = self.client._engines.get(item.engine)
        return bool(identity and self.client._outstanding_dict.get(identity))

    def _summary(self) -> str:
        count, hosts = len(self.processes), len({item.host for item in self.processes})
        return (
            f"{count} process{'es' if count > 1 else ''} on {hosts} machine{'s' if hosts > 1 else ''}"
            if count
            else NO_PROCESSES
        )

    def __repr__(self) -> str:
        return str(self.status())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def _require_free(engine: int, facts: JSON) -> None:
    """Raise DistributedError if an engine cannot join a job any more."""
    if facts["job"] is not None or facts["has_arrays"]:
        reason = "it belongs to another job" if facts["job"] is not None else "it has made arrays, which are its own"
        raise DistributedError(
            f"engine {engine} (pid {facts['pid']} on {facts['host']}) cannot become a process of this job: {reason}.\n"
            "Start the engines anew, and call xs.cluster.start before anything is computed there."
        )


def _number_within_hosts(hosts: Sequence[str]) -> list[int | None]:
    """Return the number of each process among those of its machine; None where it is alone there.

    >>> _number_within_hosts(["a", "b", "a"])
    [0, None, 1]
    """
    return [None if hosts.count(host) == 1 else hosts[:index].count(host) for index, host in enumerate(hosts)]
