"""How processes find each other: by recorded environments of schedulers, and at the meeting in process 0."""

import threading

import pytest
from tests.core.processes.conftest import free_address

import xlascope as xs
from xlascope.errors import DistributedError
from xlascope.xla.processes import cluster_environments, kubernetes_api, rendezvous
from xlascope.xla.processes.addresses import parse_address
from xlascope.xla.processes.cluster_environments import ProcessLayout, detect_layout
from xlascope.xla.processes.process_facts import ProcessFacts, collect_facts, has_ended

SLURM = {"SLURM_JOB_ID": "1234567", "SLURM_NTASKS": "8", "SLURM_PROCID": "7", "SLURM_LOCALID": "1"}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
#: Recorded environments, and what jax 0.10.2 finds in them.
ENVIRONMENTS = {
    "SLURM, a list of nodes": (
        SLURM | {"SLURM_STEP_NODELIST": "node[007-009,012]"},
        ProcessLayout("slurm", "node007:63111", 8, 7, 1),
    ),
    "SLURM, one node": (SLURM | {"SLURM_STEP_NODELIST": "node001"}, ProcessLayout("slurm", "node001:63111", 8, 7, 1)),
    "SLURM, kinds of nodes": (
        SLURM | {"SLURM_STEP_NODELIST": "gpu-a[3,5],cpu7", "SLURM_JOB_ID": "99"},
        ProcessLayout("slurm", "gpu-a3:61539", 8, 7, 1),
    ),
    "Open MPI": (
        OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911"},
        ProcessLayout("ompi", "10.96.0.1:62624", 4, 3, 1),
    ),
    "Cloud TPU, two slices": (
        {
            **{"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "127.0.0.1,t-1.svc"},
            **{"MEGASCALE_COORDINATOR_ADDRESS": "127.0.0.1:8080", "MEGASCALE_NUM_SLICES": "2"},
            **{"MEGASCALE_SLICE_ID": "1"},
        },
        ProcessLayout("tpu", "127.0.0.1:8482", 4, 3),
    ),
    "Cloud TPU, one slice": (
        {"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "t-0.svc,t-1.svc"},
        ProcessLayout("tpu", "t-0.svc:8482", 2, 1),
    ),
    "nothing": ({"HOME": "/root"}, None),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_schedulers_are_found_by_their_environment(name):
    environment, expected = ENVIRONMENTS[name]
    assert detect_layout(environment) == expected


def test_a_machine_of_google_cloud_asks_its_metadata_server(monkeypatch):
    attributes = {"worker-network-endpoints": "a:b:10.0.0.7,c:d:10.0.0.8", "agent-worker-number": "1"}
    monkeypatch.setattr(cluster_environments, "read_attribute", attributes.__getitem__)
    assert detect_layout({"TPU_NAME": "t"}) == ProcessLayout("tpu", "10.0.0.7:8482", 2, 1)


@pytest.mark.parametrize("subdomain, host", [("workers", "train-0.workers"), ("", "10.1.2.3")])
def test_a_pod_asks_the_server_of_kubernetes(subdomain, host, monkeypatch):
    answers = {
        "core/pods/train-2-x": {
            "metadata": {"labels": {"batch.kubernetes.io/job-name": "train"}},
            "spec": {"subdomain": subdomain},
        },
        "batch/jobs/train": {"spec": {"parallelism": 4}},
    }

    def fetch(path):
        return answers.get(path) or {"items": [{"status": {"podIP": "10.1.2.3"}}]}

    api = kubernetes_api.KubernetesApi(fetch)
    monkeypatch.setattr(kubernetes_api.KubernetesApi, "from_environment", classmethod(lambda cls, environment: api))
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2", "HOSTNAME": "train-2-x"}
    assert detect_layout(environment) == ProcessLayout("k8s", f"{host}:55527", 4, 2)
    answers["core/pods/train-2-x"]["metadata"]["labels"] = {}
    with pytest.raises(ValueError, match="belongs to no job"):
        detect_layout(environment)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match=r"SLURM_NTASKS is 'many'.*coordinator_address"):
        detect_layout(SLURM | {"SLURM_STEP_NODELIST": "n", "SLURM_NTASKS": "many"})
    with pytest.raises(ValueError, match=r"no scheduler 'pbs'; .*slurm"):
        detect_layout({}, "pbs")
    assert detect_layout(SLURM | {"SLURM_STEP_NODELIST": "n"}, "ompi") is None


def arguments(address, process_id=0):
    return {"coordinator_address": address, "num_processes": 2, "process_id": process_id}


MISUSES = {
    "nothing given": ({"cluster_detection_method": "deactivate"}, "coordinator_address and num_processes and"),
    "a number too large": (arguments("a:1", 2), "numbers 0 to 1"),
    "no port": (arguments("a"), "a host, a colon, a port"),
    "a port too large": (arguments("a:70000"), "a host, a colon, a port"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_arguments_that_do_not_fit_are_refused(name, monkeypatch):
    given, message = MISUSES[name]
    monkeypatch.setattr(xs.distributed, "_started_clients", list)
    with pytest.raises(ValueError, match=message):
        xs.distributed.initialize(**given)
    assert not xs.distributed.is_initialized()


def test_shutdown_without_a_job_does_nothing():
    xs.distributed.shutdown()
    assert not xs.distributed.is_initialized()


# The meeting ----------------------------------------------------------------------------------------------------------


def meet(count, changes=lambda facts: facts, seconds=20.0, attending=None):
    """What the meeting of processes, each a thread, gives each of them; ``changes`` alters the last one's facts."""
    address = parse_address(free_address(), "address")
    results = {}

    def attend(number):
        mine = collect_facts(count)
        try:
            if number == 0:
                results[number] = rendezvous.host_meeting(address, mine, seconds)
            else:
                mine = changes(mine) if number == count - 1 else mine
                results[number] = rendezvous.attend_meeting(address, number, mine, seconds)
        except DistributedError as error:
            results[number] = str(error)

    threads = [threading.Thread(target=attend, args=(n,)) for n in (range(count) if attending is None else attending)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_all_hear_of_all():
    results = meet(3)
    assert results[0] == results[1] == results[2] and set(results[0]) == {0, 1, 2}
    assert isinstance(results[1][2], ProcessFacts)


def test_all_hear_why_a_job_cannot_start():
    for changes, reason in {
        (lambda facts: facts._replace(num_processes=9)): "was given num_processes=9",
        (lambda facts: facts._replace(jaxlib="0.9.9")): "has jaxlib 0.9.9",
    }.items():
        results = meet(2, changes)
        assert reason in results[0] and results[0] == results[1]


def test_those_that_are_missing_are_named():
    results = meet(3, seconds=0.5, attending=[0, 1])
    assert "process 2 did not come" in results[0] and results[0] == results[1]
    assert "found no coordinator" in meet(2, seconds=0.5, attending=[1])[1]


def test_a_process_that_has_ended_is_known_to_have():
    mine = collect_facts(2)
    assert not has_ended(mine, mine)
    if mine.pid_space:
        assert has_ended(mine._replace(pid=2**22 + 1), mine)
    assert not has_ended(mine._replace(pid=2**22 + 1, pid_space="elsewhere"), mine)
