"""Meeting of a job's processes before jaxlib's service starts: each tells process 0 who it is, and hears who all are.

jaxlib's service says only that not all have come. Here process 0 listens at the coordinator's address for a moment,
and answers everybody: with the facts of all processes, or with the one reason why the job cannot start.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator, Mapping

from ...errors import DistributedError
from .addresses import HostAndPort, listen
from .key_value_store import format_processes
from .process_facts import ProcessFacts

_GREETING = "xlascope job 1"
_MAX_MESSAGE_BYTES = 1 << 24
#: A wait for a connection or a message is cut into parts of this length, so that interrupts end it.
_POLL_SECONDS = 0.2
#: Process 0 waits this long for somebody who connects and says nothing.
_MAX_GREETING_SECONDS = 5.0

AllFacts = dict[int, ProcessFacts]


def host_meeting(address: HostAndPort, mine: ProcessFacts, seconds: float) -> AllFacts:
    """Wait at ``address``, as process 0, for all processes; tell them the facts of all, and return these.

    Raises DistributedError, in all processes that have come, when they do not fit together, and when some have not
    come after that many seconds.
    """
    facts, callers, deadline = {0: mine}, [], time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(address))
        listener.settimeout(_POLL_SECONDS)
        problem = None
        while problem is None and len(facts) < mine.num_processes:
            if time.monotonic() > deadline:
                problem = _explain_missing(address, facts, mine.num_processes, seconds)
                break
            with contextlib.suppress(TimeoutError):
                caller = stack.enter_context(listener.accept()[0])
                problem = _admit(caller, facts)
                callers.append(caller)
        answer = {"problem": problem, "facts": {process: entry.to_text() for process, entry in facts.items()}}
        for caller in callers:
            with contextlib.suppress(OSError):
                _send(caller, json.dumps(answer))
    if problem is not None:
        raise DistributedError(problem)
    return facts


def _admit(caller: socket.socket, facts: AllFacts) -> str | None:
    """Read who a caller is and add its facts; return the reason why the job cannot start with it, or None."""
    caller.settimeout(_MAX_GREETING_SECONDS)
    try:
        message = json.loads(_receive(caller, time.monotonic() + _MAX_GREETING_SECONDS))
        if message["greeting"] != _GREETING:
            return None
        process, arrival = int(message["process"]), ProcessFacts.from_text(message["facts"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # some other program
    problem = _find_conflict(process, arrival, facts)
    if problem is None:
        facts[process] = arrival
    return problem


def _find_conflict(process: int, arrival: ProcessFacts, facts: Mapping[int, ProcessFacts]) -> str | None:
    """Return why a process does not fit those that have come, None if it does."""
    first = facts[0]
    if arrival.num_processes != first.num_processes:
        return (
            f"process {process} (pid {arrival.pid} on {arrival.host}) was given num_processes={arrival.num_processes}, "
            f"and process 0 num_processes={first.num_processes}.\nGive all of them the same number."
        )
    if process in facts:
        return (
            f"two processes were given process_id={process}: pid {facts[process].pid} on {facts[process].host} and "
            f"pid {arrival.pid} on {arrival.host}.\nGive each its own number, from 0 to {first.num_processes - 1}."
        )
    if (arrival.jaxlib, arrival.interface) != (first.jaxlib, first.interface):
        return (
            f"process {process} (on {arrival.host}) has jaxlib {arrival.jaxlib}, and process 0 (on {first.host}) has "
            f"jaxlib {first.jaxlib}: programs compiled by both would not fit together.\n"
            f"Install the same one everywhere: pip install jaxlib=={first.jaxlib}"
        )
    return None


def _explain_missing(address: HostAndPort, facts: Mapping[int, ProcessFacts], count: int, seconds: float) -> str:
    missing = [process for process in range(count) if process not in facts]
    return (
        f"{format_processes(missing)} did not come to {address} within {seconds:g} s; {count} processes are expected.\n"
        "Start all of them, with the same coordinator_address and num_processes, and each with its own process_id. "
        "initialization_timeout says how long the others wait."
    )


def attend_meeting(address: HostAndPort, process: int, mine: ProcessFacts, seconds: float) -> AllFacts:
    """Tell process 0 at ``address`` who this process is, and return the facts of all processes.

    Raises DistributedError when process 0 is not found within that many seconds, and with its reason when the job
    cannot start.
    """
    deadline = time.monotonic() + seconds
    greeting = json.dumps({"greeting": _GREETING, "process": process, "facts": mine.to_text()})
    for connection in _connections(address, deadline):
        with connection, contextlib.suppress(OSError, ValueError):
            _send(connection, greeting)
            answer = json.loads(_receive(connection, deadline + _MAX_GREETING_SECONDS))
            if answer["problem"] is not None:
                raise DistributedError(answer["problem"])
            return {int(number): ProcessFacts.from_text(text) for number, text in answer["facts"].items()}
        time.sleep(_POLL_SECONDS)  # process 0 of an earlier job, or another program
    raise DistributedError(
        f"process {process} found no coordinator at {address} within {seconds:g} s: process 0 was not started, has "
        "ended, could not listen there, or cannot be reached from here.\n"
        "Start process 0 on the machine that coordinator_address names, and give all processes the same address."
    )


def _connections(address: HostAndPort, deadline: float) -> Iterator[socket.socket]:
    """Yield connections to an address, one at a time, until ``deadline``."""
    while time.monotonic() < deadline:
        try:
            yield socket.create_connection(
                (address.host, address.port), max(_POLL_SECONDS, min(5.0, deadline - time.monotonic()))
            )
        except OSError:
            time.sleep(_POLL_SECONDS)


def _send(connection: socket.socket, text: str) -> None:
    data = text.encode()
    connection.sendall(len(data).to_bytes(4, "big") + data)


def _receive(connection: socket.socket, deadline: float) -> str:
    """Return a message from a connection; raises OSError when it ends, and when there is none at ``deadline``."""
    size = int.from_bytes(_receive_bytes(connection, 4, deadline), "big")
    if size > _MAX_MESSAGE_BYTES:
        raise OSError("this is no message of a job")
    return _receive_bytes(connection, size, deadline).decode()


def _receive_bytes(connection: socket.socket, count: int, deadline: float) -> bytes:
    data = b""
    connection.settimeout(_POLL_SECONDS)
    while len(data) < count:
        try:
            part = connection.recv(count - len(data))
        except TimeoutError:
            if time.monotonic() > deadline:
                raise
            continue
        if not part:
            raise ConnectionResetError("the other end has closed the connection")
        data += part
    return data
