"""Several processes from a notebook: engines of ipyparallel that run one program together, watched.

``start(4)`` starts four processes on this machine, or takes the engines of an ipyparallel profile, and joins them to
one job (:mod:`xlascope.distributed`). ``%%px`` then runs a cell in all of them, and one strip below it shows what they
did. The notebook's kernel is no process of the job. It needs the extra ``cluster``, which brings ipyparallel.
"""

from __future__ import annotations

import importlib
from typing import Any

from .names import explain_missing as _explain_missing

__all__ = ["restart", "start", "status", "stop"]


def start(
    n: int | None = None,
    *,
    connect: Any = None,
    profile: str | None = None,
    coordinator_address: str | None = None,
    devices: int | None = None,
    timeout: float = 60.0,
) -> Any:
    """Start ``n`` processes on this machine, or take the engines of an ipyparallel cluster, and join them to one job.

    ``connect`` is a ``Cluster`` or ``Client`` of ipyparallel, ``profile`` the name of a profile whose cluster runs:
    its engines, on this machine or on others, become the processes. Process 0 is the engine with the lowest number;
    ``coordinator_address`` is an address of its machine, if another one has to be used than it finds. ``devices`` is
    the number of devices that the CPU of each process has. ``timeout`` is in seconds, for the engines to come and for
    the processes to meet.

    Returns the cluster, whose ``client`` is ipyparallel's. Where one runs, it is returned, and started again if a
    process of it has ended. Processes that were started here end when this process ends, however it does.

    Raises DistributedError when the engines do not come, cannot join the job, or another cluster runs;
    ModuleNotFoundError without ipyparallel.

    >>> import xlascope as xs
    >>> cluster = xs.cluster.start(4)  # doctest: +SKIP
    """
    return _load_implementation().start(n, connect, profile, coordinator_address, devices, timeout)


def stop() -> None:
    """End the processes of the cluster; without a cluster this does nothing.

    Engines that were not started here stay, and have left the job.

    >>> import xlascope as xs
    >>> xs.cluster.stop()
    """
    _load_implementation().stop()


def restart() -> Any:
    """End the processes of the cluster and start as many again, which join a new job; return the cluster.

    What was computed there is lost. Raises DistributedError without a cluster, and when the new processes do not come.

    >>> import xlascope as xs
    >>> xs.cluster.restart()
    Traceback (most recent call last):
    xlascope.errors.DistributedError: no processes: xs.cluster.start(4) starts some...
    """
    return _load_implementation().restart()


def status() -> Any:
    """Return the processes of the cluster, with machine, pid and state of each; it prints as a table.

    >>> import xlascope as xs
    >>> print(xs.cluster.status())
    no processes: xs.cluster.start(4) starts some
    """
    return _load_implementation().status()


def _load_implementation() -> Any:
    try:
        return importlib.import_module("xlascope_ipython.cluster.current")
    except ModuleNotFoundError as error:
        if error.name != "ipyparallel":
            raise
        raise ModuleNotFoundError(
            'xlascope.cluster needs ipyparallel: pip install "xlascope[cluster]"', name=error.name
        ) from None


_explain_missing(__name__)
