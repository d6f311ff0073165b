"""The cluster of this process: start, stop, restart and status, which ``xlascope.cluster`` hands on."""

from __future__ import annotations

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
    if _cluster is not None and _cluster.processes:
        return _return_running(_cluster, n, connect, profile)
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


def _return_running(cluster: Cluster, n: int | None, connect: Any, profile: str | None) -> Cluster:
    """Return the cluster that runs if it is what ``start`` is asked for; restart it if processes of it have ended."""
    if (n is not None and n != len(cluster.processes)) or connect is not None or profile is not None:
        raise DistributedError(
            f"a cluster of {len(cluster.processes)} processes runs already, and a kernel has one.\n"
            "xs.cluster.stop() ends it."
        )
    if cluster.find_ended():
        return restart()
    _announce(cluster, "running already")
    return cluster


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
