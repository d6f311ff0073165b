"""Addresses of the coordinator: their parts, whether a port is free, and this machine's address on the way there."""

from __future__ import annotations

import errno
import socket
from typing import NamedTuple

from ...errors import DistributedError

_MAX_WAITING_CALLERS_COUNT = 1024


class HostAndPort(NamedTuple):
    """Parts of an address ``host:port``."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(address: str, argument: str) -> HostAndPort:
    """Return the parts of an address ``host:port``; raises ValueError, which names the ``argument``, for another text.

    >>> parse_address("10.0.0.1:1234", "coordinator_address"), str(parse_address("[::1]:80", "coordinator_address"))
    (HostAndPort(host='10.0.0.1', port=1234), '[::1]:80')
    """
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ValueError(f"{argument} is an address such as '10.0.0.1:1234' (a host, a colon, a port), not {address!r}")
    return HostAndPort(host.removeprefix("[").removesuffix("]"), int(port))


def listen(address: HostAndPort) -> socket.socket:
    """Return a socket that listens at an address; raises DistributedError if this machine cannot.

    jaxlib's server would share a port with other servers (``SO_REUSEPORT``): processes of two jobs would meet.
    """
    listener = None
    try:
        family, kind, protocol, _, location = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(location)
        listener.listen(_MAX_WAITING_CALLERS_COUNT)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise DistributedError(_explain_bind_error(address, error)) from None
    return listener


def _explain_bind_error(address: HostAndPort, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"process 0 cannot coordinate at {address}: port {address.port} is taken, by another job or another "
            "program of this machine.\nGive all processes a coordinator_address with another port."
        )
    return (
        f"process 0 cannot coordinate at {address}: {error}.\n"
        "Process 0 runs on the machine that coordinator_address names; coordinator_bind_address says at which of its "
        "addresses to listen, if that is another one."
    )


def find_own_address(coordinator: HostAndPort) -> str:
    """Return the address of this machine from which it reaches the coordinator, and at which others can reach it."""
    family, kind, protocol, _, location = socket.getaddrinfo(*coordinator, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(location)  # sends nothing
        return str(probe.getsockname()[0])
