"""One program in several processes: each runs it, and all of their devices share its arrays.

``initialize`` joins the processes of a job before the first array is made. From then on ``devices()`` are those of all
processes, and a jitted function whose arrays lie on them runs in all processes at the same time.
"""

from __future__ import annotations

import os
import socket as _socket
import time as _time
from collections.abc import Sequence
from typing import Any

from .errors import DistributedError as _DistributedError
from .names import explain_missing as _explain_missing
from .records import JobProcess as _JobProcess
from .records import publish as _publish
from .records.watchers import watchers as _watchers
from .trace.source import compose_message as _compose_message
from .trace.traceback_filtering import api_boundary as _api_boundary
from .xla.arrays.array_members import watch_waits as _watch_waits
from .xla.platforms.platform_selection import started_clients as _started_clients
from .xla.processes import job as _job
from .xla.processes.addresses import parse_address as _parse_address
from .xla.processes.cluster_environments import SCHEDULERS as _SCHEDULERS
from .xla.processes.cluster_environments import ProcessLayout as _ProcessLayout
from .xla.processes.cluster_environments import detect_layout as _detect_layout
from .xla.processes.membership import JobTimeouts as _JobTimeouts

__all__ = ["initialize", "is_initialized", "shutdown"]


@_api_boundary
def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 30,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Join the job of several processes that run this program together, and wait until all of them have come.

    ``coordinator_address`` is an address of process 0 (``"10.0.0.1:1234"``), at which it listens for the others, or at
    ``coordinator_bind_address`` if that is given. ``num_processes`` is the number of processes and ``process_id`` that
    of this one, from 0. What is None is asked of the scheduler that started the process: SLURM, Open MPI, Kubernetes
    or Cloud TPU (``cluster_detection_method`` names one: ``"slurm"``, ``"ompi"``, ``"k8s"`` or ``"tpu"``;
    ``"deactivate"`` asks none). ``local_device_ids`` are the numbers of the GPUs that this process uses; under SLURM
    and Open MPI it is one, by the number of the process on its machine. A CPU ignores them: the setting
    ``num_cpu_devices`` says how many devices it has.

    The timeouts are in seconds: until all processes have come, until one without a sign of life counts as dead, and
    until all have left at the end. When a process is gone, the others raise PeerLostError, or end.

    Raises DistributedError when the job does not come together, if it is called a second time, and when arrays were
    made before; ValueError for arguments that do not fit, and where no scheduler says what is missing.

    >>> import xlascope as xs
    >>> xs.distributed.initialize("10.0.0.1:1234", num_processes=2, process_id=0)  # doctest: +SKIP
    """
    if _job.current_membership() is not None:
        raise _DistributedError("distributed.initialize was called before: a process joins one job, once.")
    if _started_clients():
        raise _DistributedError(
            _compose_message(
                "distributed.initialize comes too late: this process has made arrays or asked for devices, which are "
                "its own alone.",
                "Call it first, before any array, random key, jitted call or devices().",
            )
        )
    if slice_index is not None or partition_index is not None:
        raise NotImplementedError("distributed.initialize has no partition_index: slices of GPUs are not grouped")
    layout = _complete_layout(coordinator_address, num_processes, process_id, cluster_detection_method)
    address = _parse_address(layout.coordinator_address, "coordinator_address")
    if not 0 <= layout.process_id < layout.num_processes:
        raise ValueError(
            f"distributed.initialize: process_id is {layout.process_id}, and the {layout.num_processes} processes "
            f"(num_processes) have the numbers 0 to {layout.num_processes - 1}"
        )
    bind_address = (
        address
        if coordinator_bind_address is None
        else _parse_address(coordinator_bind_address, "coordinator_bind_address")
    )
    limits = _JobTimeouts(initialization_timeout, heartbeat_timeout_seconds, shutdown_timeout_seconds)
    _watch_waits()
    _job.join_job(
        address,
        layout.num_processes,
        layout.process_id,
        bind_address,
        limits,
        _device_numbers(local_device_ids, layout.local_process_id),
    )
    if _watchers:
        number, count = layout.process_id, layout.num_processes
        _publish(_JobProcess(None, "", _time.time(), number, count, _socket.gethostname(), os.getpid()))


def _complete_layout(address: Any, count: Any, process_id: Any, method: str | None) -> _ProcessLayout:
    """Return the job's layout by the arguments of ``initialize``, completed by what the scheduler says."""
    given_values = {"coordinator_address": address, "num_processes": count, "process_id": process_id}
    layout = _ProcessLayout("", *given_values.values())
    missing = [name for name, value in given_values.items() if value is None]
    detected = None if not missing or method == "deactivate" else _detect_layout(os.environ, method)
    if detected is not None:
        layout = detected._replace(**{name: value for name, value in given_values.items() if value is not None})
    elif missing:
        raise ValueError(
            f"distributed.initialize: {' and '.join(missing)} not given, and the environment is that of none of the "
            f"schedulers {', '.join(_SCHEDULERS)}.\n"
            'Give all three, as in initialize("10.0.0.1:1234", num_processes=2, process_id=0).'
        )
    return layout


def _device_numbers(local_device_ids: int | Sequence[int] | None, local_process: int | None) -> tuple[int, ...] | None:
    """Return the numbers of the GPUs that this process uses, None for all of them."""
    if local_device_ids is None:
        return None if local_process is None else (local_process,)
    return (local_device_ids,) if isinstance(local_device_ids, int) else tuple(local_device_ids)


def is_initialized() -> bool:
    """Return whether this process has joined a job.

    >>> import xlascope as xs
    >>> xs.distributed.is_initialized()
    False
    """
    return _job.current_membership() is not None


@_api_boundary
def shutdown() -> None:
    """Leave the job once all of its processes want to; without a job this does nothing.

    It is called when the process exits. Arrays stay, and programs that other processes share can no longer run.
    """
    _job.leave_job()


_explain_missing(__name__)
