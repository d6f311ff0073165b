"""Three questions to the API server of Kubernetes, asked by a pod with its service account."""

from __future__ import annotations

import json
import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_SECONDS = 10.0
_MAX_ADDRESS_WAIT_SECONDS = 300.0
_POLL_SECONDS = 1.0
_JOB_LABELS = ("batch.kubernetes.io/job-name", "job-name")


class PodDescription(NamedTuple):
    """Name of a pod's job, and the subdomain that a headless service gives its pods ("" without one)."""

    job: str
    subdomain: str


class KubernetesApi:
    """API server of a cluster; ``fetch(path)`` returns the answer, parsed from JSON, to a path below the namespace."""

    def __init__(self, fetch: Callable[[str], Any]) -> None:
        self._fetch = fetch

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> KubernetesApi:
        """Return the API server that a pod's environment variables and service account name."""
        server = f"{environment['KUBERNETES_SERVICE_HOST']}:{environment.get('KUBERNETES_SERVICE_PORT', '443')}"
        namespace, token = ((_ACCOUNT / name).read_text(encoding="utf-8").strip() for name in ("namespace", "token"))
        context = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))

        def fetch(path: str) -> Any:
            group, _, rest = path.partition("/")
            root = "api/v1" if group == "core" else f"apis/{group}/v1"
            url = f"https://{server}/{root}/namespaces/{namespace}/{rest}"
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=context) as answer:
                return json.load(answer)

        return cls(fetch)

    def read_pod(self, name: str) -> PodDescription:
        """Return the job and the subdomain of a pod; raises ValueError for one that belongs to no job."""
        pod = self._fetch(f"core/pods/{name}")
        labels = pod["metadata"].get("labels", {})
        job = next((labels[label] for label in _JOB_LABELS if label in labels), None)
        if job is None:
            raise ValueError(
                f"the pod {name} belongs to no job of Kubernetes, so nothing says how many processes there are; give "
                "coordinator_address, num_processes and process_id to initialize"
            )
        return PodDescription(job, pod["spec"].get("subdomain") or "")

    def read_job(self, name: str) -> int:
        """Return how many pods a job runs at the same time."""
        return int(self._fetch(f"batch/jobs/{name}")["spec"]["parallelism"])

    def wait_for_address(self, job: str, index: int) -> str:
        """Return the IP address of the pod of a job with that index, once it has one; raises TimeoutError."""
        selector = f"{_JOB_LABELS[0]}={job},batch.kubernetes.io/job-completion-index={index}"
        deadline = time.monotonic() + _MAX_ADDRESS_WAIT_SECONDS
        while time.monotonic() < deadline:
            pods = self._fetch(f"core/pods?labelSelector={urllib.parse.quote(selector)}")["items"]
            address = next((pod["status"]["podIP"] for pod in pods if pod["status"].get("podIP")), None)
            if address is not None:
                return str(address)
            time.sleep(_POLL_SECONDS)
        raise TimeoutError(f"the pod of {job} with index {index}, the coordinator, has no address yet")
