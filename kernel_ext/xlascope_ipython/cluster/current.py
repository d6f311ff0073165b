"""The cluster of this process: start, stop, restart and status, which ``xlascope.cluster`` hands on."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

import ipyparallel
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from xlascope.errors import DistributedError

from .local_launcher import LocalEngines
from .px_magics import WatchedParallelMagics
from .session import NO_PROCESSES, Cluster
from .status import ClusterStatus

_cluster: Cluster | None = None


def start(
    n: int | None,
    connect: Any,
    profile: str | None,
    coordinator_address: str | None,
    devices: int | None,
    timeout: float,
) -> Cluster:
    """Start a cluster, or return the one that runs; see :func:`xlascope.cluster.start`."""
    global _cluster
    n, devices = _check_count(n, "n", "processes"), _check_count(devices, "devices", "devices of each CPU")
    _check_timeout(timeout)
    if _cluster is not None and _cluster.processes:
        return _return_running(_cluster, n, connect, profile, devices)
    if connect is not None and profile is not None:
        raise ValueError("xs.cluster.start: give profile or connect, not both")
    if profile is not None:
        connect = _find_profile(profile)
    if connect is None:
        if n is None:
            raise ValueError("xs.cluster.start: how many processes? xs.cluster.start(4) starts four on this machine")
        connect = LocalEngines(n)
    cluster = Cluster(connect, n, coordinator_address, devices, timeout)
    cluster.start()
    _cluster = cluster
    _activate(cluster)
    _announce(cluster, "started")
    return cluster


def _check_count(value: Any, name: str, noun: str) -> int | None:
    """Return a number of ``noun`` as an int; raise ValueError for what is not a whole number above zero."""
    if value is None:
        return None
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not is_whole or operator.index(value) < 1:
        raise ValueError(f"xs.cluster.start: {name} is a number of {noun}, 1 or more, got {value!r}")
    return operator.index(value)


def _check_timeout(timeout: Any) -> None:
    is_number = isinstance(timeout, numbers.Real) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout < math.inf:
        raise ValueError(f"xs.cluster.start: timeout is a number of seconds above 0, got {timeout!r}")


def _return_running(cluster: Cluster, n: int | None, connect: Any, profile: str | None, devices: int | None) -> Cluster:
    """Return the cluster that runs if it is what ``start`` is asked for; restart it if processes of it have ended."""
    is_other_count = n is not None and n != len(cluster.processes)
    has_other_devices = devices is not None and devices != cluster.devices
    if is_other_count or has_other_devices or connect is not None or profile is not None:
        devices_text = f", started {_describe_devices(cluster.devices)}," if has_other_devices else ""
        count = len(cluster.processes)
        raise DistributedError(
            f"a cluster of {count} process{'es' if count > 1 else ''}{devices_text} runs already, and a kernel has "
            "one.\n"
            "xs.cluster.stop() ends it."
        )
    if cluster.find_ended():
        return restart()
    _announce(cluster, "running already")
    return cluster


def _describe_devices(devices: int | None) -> str:
    return "without devices=" if devices is None else f"with devices={devices}"


def _find_profile(profile: str) -> Any:
    """Return the ipyparallel cluster of a profile, or a client of it where it was started without ``ipcluster``."""
    try:
        return ipyparallel.Cluster.from_file(profile=profile)
    except FileNotFoundError:
        return ipyparallel.Client(profile=profile)


def _activate(cluster: Cluster) -> None:
    shell = get_ipython()
    if isinstance(shell, InteractiveShell):
        shell.magics_manager.register(WatchedParallelMagics(shell, cluster))


def _announce(cluster: Cluster, verb: str) -> None:
    if get_ipython() is not None:
        print(f"xlascope: {verb}: {cluster.status().summary}; %%px runs a cell in all of them")


def stop() -> None:
    """End the cluster, if there is one."""
    global _cluster
    cluster, _cluster = _cluster, None
    if cluster is not None:
        cluster.stop()
        if get_ipython() is not None:
            print("xlascope: the cluster has ended")


def restart() -> Cluster:
    """Start the processes of the cluster again."""
    if _cluster is None:
        raise DistributedError(f"{NO_PROCESSES}.")
    _cluster.restart()
    _activate(_cluster)
    _announce(_cluster, "started again")
    return _cluster


def status() -> ClusterStatus:
    """Return the status of the cluster."""
    return ClusterStatus((), NO_PROCESSES) if _cluster is None else _cluster.status()
