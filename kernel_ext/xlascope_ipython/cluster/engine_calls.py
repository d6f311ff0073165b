"""Functions that an engine runs for the notebook: who it is, joining the job, watching its cells."""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
from collections.abc import Callable
from typing import Any

from IPython.core.getipython import get_ipython

import xlascope
from xlascope import distributed
from xlascope.experimental.multihost_utils import sync_global_devices
from xlascope.xla.platforms.platform_selection import started_clients
from xlascope.xla.processes.addresses import HostAndPort, find_own_address
from xlascope.xla.processes.job import abandon_job_at_exit, current_membership
from xlascope.xla.processes.process_facts import collect_facts

from .engine_watch import watch_engine
from .messages import ANSWER_TYPE, JSON


def answer(name: str, arguments: str) -> None:
    """Call a function of ``CALLS`` with JSON arguments, and send the JSON of its result to the client that asks."""
    shell: Any = get_ipython()
    kernel = shell.kernel
    result = json.dumps(CALLS[name](**json.loads(arguments))).encode()
    kernel.session.send(
        kernel.iopub_socket,
        ANSWER_TYPE,
        content={},
        parent=kernel.get_parent("shell"),
        ident=kernel._topic(ANSWER_TYPE),
        buffers=[result],
    )


def describe() -> JSON:
    """Return what the notebook has to know of an engine: machine, process, versions, and the job that it is in."""
    facts = collect_facts(0)
    membership = current_membership()
    return {
        "host": facts.host,
        "pid": facts.pid,
        "pid_space": facts.pid_space,
        "python": platform.python_version(),
        "jaxlib": facts.jaxlib,
        "xlascope": xlascope.__version__,
        "has_arrays": bool(started_clients()),
        "devices": [str(device) for device in xlascope.local_devices()] if started_clients() else [],
        "job": None if membership is None else [membership.process_id, membership.num_processes],
    }


def choose_address(other_host: str) -> JSON:
    """Return an address with a free port at which the process of rank 0 can listen.

    ``other_host`` is another machine of the job, "" if all processes are on this one.
    """
    host = find_own_address(HostAndPort(other_host, 1)) if other_host else "127.0.0.1"
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return {"address": str(HostAndPort(host, probe.getsockname()[1]))}


def join(address: str, count: int, rank: int, local_device: int | None, devices: int | None, timeout: int) -> JSON:
    """Join the job as process ``rank`` of ``count``, and watch the cells that this engine runs from now on.

    ``local_device`` is the number of the GPU that this process uses, None for all of them; ``devices`` is how many
    devices its CPU has, None for the number by its settings.
    """
    if devices is not None:
        xlascope.config.update("num_cpu_devices", devices)
    distributed.initialize(
        address,
        num_processes=count,
        process_id=rank,
        local_device_ids=local_device,
        initialization_timeout=timeout,
    )
    abandon_job_at_exit()
    _meet_quietly()
    watch_engine(get_ipython())
    return describe()


def _meet_quietly() -> None:
    """Compute something together with the other processes, so that what does not work fails now.

    gloo announces its first connections on the real standard output, which is silenced meanwhile.
    """
    sys.stdout.flush()
    output, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        sync_global_devices("xlascope.cluster.start")
    finally:
        os.dup2(output, 1)
        os.close(output)
        os.close(nowhere)


def watch() -> JSON:
    """Watch the cells that this engine runs from now on, for a notebook that finds it in a job."""
    watch_engine(get_ipython())
    return describe()


def leave() -> JSON:
    """Leave the job; this engine cannot join another one."""
    distributed.shutdown()
    return {"pid": os.getpid()}


CALLS: dict[str, Callable[..., JSON]] = {
    function.__name__: function for function in (describe, choose_address, join, watch, leave)
}
