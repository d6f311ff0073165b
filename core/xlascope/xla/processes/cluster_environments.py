"""Schedulers by their environment variables: the coordinator's address, the number of processes, and one's own number.

Each function reads a mapping of environment variables (``os.environ``) and returns what it says, or None where the
scheduler did not start this process. They are tried in the order of ``SCHEDULERS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .kubernetes_api import KubernetesApi
from .metadata_server import read_attribute

Environment = Mapping[str, str]

#: Coordinators of jobs with a number listen at one of the last 4096 ports, by that number.
_LAST_PORTS_COUNT, _FIRST_OF_LAST_PORTS = 4096, 65536 - 4096
_TPU_PORT = 8482
_KUBERNETES_PORT = 55527
_NODE_LIST_ITEM = re.compile(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*")


class ProcessLayout(NamedTuple):
    """Coordinator's address (``host:port``), number of processes, and the number of this one, as a scheduler says.

    ``local_process_id`` is the number of this process among those on its machine, None if the scheduler says nothing.
    """

    scheduler: str
    coordinator_address: str
    num_processes: int
    process_id: int
    local_process_id: int | None = None


def detect_layout(environment: Environment, scheduler: str | None = None) -> ProcessLayout | None:
    """Return what the first scheduler that started this process says, None if there is none.

    ``scheduler`` names one of ``SCHEDULERS``, which is then the only one that is asked. Raises ValueError for another
    name, and for an environment that is incomplete.

    >>> slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n[3-4]", "SLURM_NTASKS": "2", "SLURM_PROCID": "1"}
    >>> detect_layout(slurm)
    ProcessLayout(scheduler='slurm', coordinator_address='n3:61447', num_processes=2, process_id=1, \
local_process_id=None)
    """
    if scheduler is not None and scheduler not in SCHEDULERS:
        raise ValueError(f"there is no scheduler {scheduler!r}; those that can be asked are {', '.join(SCHEDULERS)}")
    for name, read in SCHEDULERS.items():
        if scheduler in (None, name):
            layout = read(environment)
            if layout is not None:
                return layout
    return None


def read_open_mpi(environment: Environment) -> ProcessLayout | None:
    """Return the layout of a process that Open MPI's ``mpirun`` started."""
    uri = environment.get("OMPI_MCA_orte_hnp_uri")
    if uri is None:
        return None
    job, _, contact = uri.partition(";")
    _, _, addresses = contact.partition("://")
    hosts = addresses.rpartition(":")[0].strip("[]")
    address = f"{hosts.split(',')[0]}:{_port_of_job(int(job.split('.')[0]) // _LAST_PORTS_COUNT)}"
    return ProcessLayout(
        "ompi",
        address,
        _read_number(environment, "OMPI_COMM_WORLD_SIZE"),
        _read_number(environment, "OMPI_COMM_WORLD_RANK"),
        _read_number(environment, "OMPI_COMM_WORLD_LOCAL_RANK"),
    )


def read_slurm(environment: Environment) -> ProcessLayout | None:
    """Return the layout of a task of a SLURM step (``srun``)."""
    nodes = environment.get("SLURM_STEP_NODELIST")
    if nodes is None or "SLURM_PROCID" not in environment:
        return None
    address = f"{_first_node(nodes)}:{_port_of_job(_read_number(environment, 'SLURM_JOB_ID'))}"
    local = environment.get("SLURM_LOCALID")
    return ProcessLayout(
        "slurm",
        address,
        _read_number(environment, "SLURM_NTASKS"),
        _read_number(environment, "SLURM_PROCID"),
        None if local is None else int(local),
    )


def read_cloud_tpu(environment: Environment) -> ProcessLayout | None:
    """Return the layout of a worker of a Cloud TPU, by its variables (GKE) or by the metadata server (GCE).

    Workers of several slices are numbered slice by slice.
    """
    if "TPU_WORKER_HOSTNAMES" in environment and "TPU_WORKER_ID" in environment:
        hosts = environment["TPU_WORKER_HOSTNAMES"].split(",")
        worker = _read_number(environment, "TPU_WORKER_ID")
    elif "TPU_NAME" in environment or "TPU_ML_PLATFORM" in environment:
        hosts = [entry.split(":")[2] for entry in read_attribute("worker-network-endpoints").split(",")]
        worker = int(read_attribute("agent-worker-number"))
    else:
        return None
    slices, slice_number, host = 1, 0, hosts[0]
    if "MEGASCALE_COORDINATOR_ADDRESS" in environment:
        slices = _read_number(environment, "MEGASCALE_NUM_SLICES")
        slice_number = _read_number(environment, "MEGASCALE_SLICE_ID")
        host = environment["MEGASCALE_COORDINATOR_ADDRESS"].partition(":")[0]
    process_id = slice_number * len(hosts) + worker
    return ProcessLayout("tpu", f"{host}:{_TPU_PORT}", slices * len(hosts), process_id)


def read_kubernetes(environment: Environment) -> ProcessLayout | None:
    """Return the layout of a pod of an indexed Kubernetes job, whose size its API server says.

    The coordinator is the pod with index 0, by its name if the job has a headless service, else by its address.
    """
    if "KUBERNETES_SERVICE_HOST" not in environment or "JOB_COMPLETION_INDEX" not in environment:
        return None
    api = KubernetesApi.from_environment(environment)
    pod = api.read_pod(environment["HOSTNAME"])
    job = api.read_job(pod.job)
    host = f"{pod.job}-0.{pod.subdomain}" if pod.subdomain else api.wait_for_address(pod.job, 0)
    return ProcessLayout("k8s", f"{host}:{_KUBERNETES_PORT}", job, _read_number(environment, "JOB_COMPLETION_INDEX"))


#: The schedulers, by the names that jax gives them, in the order in which they are asked.
SCHEDULERS: dict[str, Callable[[Environment], ProcessLayout | None]] = {
    "ompi": read_open_mpi,
    "slurm": read_slurm,
    "tpu": read_cloud_tpu,
    "k8s": read_kubernetes,
}


def _port_of_job(number: int) -> int:
    return number % _LAST_PORTS_COUNT + _FIRST_OF_LAST_PORTS


def _first_node(nodes: str) -> str:
    """Return the first name of a list of nodes in SLURM's notation.

    >>> [_first_node(nodes) for nodes in ("node001", "node[007-009,012]", "a[3,5],b7", "c[1-2]n[3-4]")]
    ['node001', 'node007', 'a3', 'c1n3']
    """
    item = _NODE_LIST_ITEM.match(nodes)
    return re.sub(r"\[([^\],-]+)[^\]]*\]", r"\1", nodes if item is None else item[0])


def _read_number(environment: Environment, variable: str) -> int:
    """Return the whole number in an environment variable; raises ValueError without one."""
    text = environment.get(variable, "")
    if not text.strip().isdigit():
        raise ValueError(
            f"the environment variable {variable} is {text!r}, and a whole number is needed to find the other "
            "processes; give coordinator_address, num_processes and process_id to initialize instead"
        )
    return int(text)
