"""The part ``environment``: the machine, its device and its environment variables."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from ...xla.platforms.hardware_detection import count_tpu_chips, nvidia_driver
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
_VARIABLE_PREFIXES = ("XLA_", "JAX_", "CUDA_", "XLASCOPE_", "NVIDIA_", "TF_CPP_", "TPU_", "OMP_", "NPROC")
_NVIDIA_SMI_FIELDS = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit,pci.bus_id"


def items(context: Context) -> Iterator[Item]:
    """Yield checks that collect facts about the machine; the device comes last, as it may crash the process."""
    yield Item("machine", _machine_facts)
    yield Item("versions", _version_facts)
    yield Item("variables", _variable_facts)
    yield Item("driver", _describe_driver)
    yield Item("device", lambda: device_facts(context.device))


def _machine_facts() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    words = f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}, {cores} cores"
    return {"words": words, "cores": cores}


def _version_facts() -> dict[str, Any]:
    versions = find_versions()
    return {"words": ", ".join(f"{name} {version}" for name, version in versions.items()), "versions": versions}


def find_versions() -> dict[str, str]:
    """Return the versions of those packages that matter for the report and are installed, by name."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _variable_facts() -> dict[str, Any]:
    variables = {name: value for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLE_PREFIXES)}
    return {
        "words": ", ".join(f"{name}={value}" for name, value in variables.items()) or "none set",
        "variables": variables,
    }


def _describe_driver() -> str:
    """Return the GPUs and their driver, or the number of TPU chips, as text; skip the check if there is neither."""
    tool = shutil.which("nvidia-smi")
    if tool is not None:
        command = [tool, f"--query-gpu={_NVIDIA_SMI_FIELDS}", "--format=csv,noheader"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        if process.returncode == 0 and process.stdout.strip():
            return "; ".join(process.stdout.split("\n")).strip("; ")
    driver = nvidia_driver()
    if driver is None and not count_tpu_chips():
        raise Skipped("no GPU, no TPU")
    return (
        f"{count_tpu_chips()} TPU chips"
        if count_tpu_chips()
        else (driver or "a driver that does not tell").splitlines()[0]
    )


def device_facts(device: Any) -> dict[str, Any]:
    """Return what a device reports about itself, by name, and all of it as text under ``"words"``."""
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
