"""The part ``environment``: the machine, its device and its environment variables."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from ...xla.platforms.hardware import nvidia_driver, tpu_chips
from .context import Context
from .programs.journal import Item, Skipped

PACKAGES = (
    "xlascope",
    "jaxlib",
    "jax",
    "numpy",
    "ml_dtypes",
    "opt_einsum",
    "jax-cuda13-plugin",
    "jax-cuda13-pjrt",
    "jax-cuda12-plugin",
    "jax-cuda12-pjrt",
    "libtpu",
    "torch",
)
#: Prefixes of environment variables that affect jaxlib, its plugins and the driver.
_PREFIXES = ("XLA_", "JAX_", "CUDA_", "XLASCOPE_", "NVIDIA_", "TF_CPP_", "TPU_", "OMP_", "NPROC")
_QUERY = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit,pci.bus_id"


def items(context: Context) -> Iterator[Item]:
    """Yield facts about the machine; the device comes last, as initializing it may crash the process."""
    yield Item("machine", _machine)
    yield Item("versions", _versions)
    yield Item("variables", _variables)
    yield Item("driver", _driver)
    yield Item("device", lambda: device_facts(context.device))


def _machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    words = f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}, {cores} cores"
    return {"words": words, "cores": cores}


def _versions() -> dict[str, Any]:
    versions = find_versions()
    return {"words": ", ".join(f"{name} {version}" for name, version in versions.items()), "versions": versions}


def find_versions() -> dict[str, str]:
    """Return the versions of the packages that matter here and are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _variables() -> dict[str, Any]:
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES)}
    return {
        "words": ", ".join(f"{name}={value}" for name, value in variables.items()) or "none set",
        "variables": variables,
    }


def _driver() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        command = [tool, f"--query-gpu={_QUERY}", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return "; ".join(done.stdout.split("\n")).strip("; ")
    driver = nvidia_driver()
    if driver is None and not tpu_chips():
        raise Skipped("no GPU, no TPU")
    return f"{tpu_chips()} TPU chips" if tpu_chips() else (driver or "a driver that does not tell").splitlines()[0]


def device_facts(device: Any) -> dict[str, Any]:
    """Return the facts that a device reports, as text and by name."""
    stats = dict((device.memory_stats() if hasattr(device, "memory_stats") else None) or {})
    count = len(device.client.devices())
    limit = stats.get("bytes_limit")
    facts = {
        "device": f"{device.platform}: {device.device_kind}, {count} of them",
        "plugin": " ".join(str(device.client.platform_version).split()),
        "memory": f"{limit / 1e9:.1f} GB" if limit else "not told",
    }
    words = f"{facts['device']}, memory {facts['memory']}; {facts['plugin']}"
    return {"words": words, **facts, "platform": device.platform, "kind": device.device_kind, "stats": stats}
