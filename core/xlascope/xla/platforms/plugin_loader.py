"""Start of a plugin in this process, with its output captured and its libraries' functions registered."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from jaxlib import _profiler, version, xla_client

from ..processes.job import current_membership
from . import hardware_detection, plugin_probe
from .plugin_discovery import Plugin, version_mismatch

#: The modules of jaxlib that list the calls of CUDA's libraries.
_CUDA_CALL_MODULES = ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse")
#: At most this much of a plugin's output is reported.
_MAX_OUTPUT_CHARACTERS = 200
#: Environment variables that restrict the plugins' logs to errors.
_LOG_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
    "GRPC_VERBOSITY": "ERROR",
}


class PluginError(RuntimeError):
    """Error for a plugin that does not run here; the message says why in one line."""


def start_plugin(plugin: Plugin, *, force_probe: bool = False) -> Any:
    """Start a plugin in this process and return its client; raises PluginError with the reason and advice.

    It is started in a separate process first (:mod:`.plugin_probe`), unless that succeeded before or jax has loaded it
    here. ``force_probe`` repeats that even if it ended in a crash before.
    """
    problem = version_mismatch(plugin, version.__version__)
    if problem is not None:
        raise PluginError(problem)
    _set_environment(plugin)
    is_loaded = xla_client.pjrt_plugin_loaded(
        plugin.pjrt_name
    )  # jax has started it in this process: no probe is needed
    refused = None if is_loaded else plugin_probe.probe_plugin(plugin, force_probe=force_probe)
    if refused is not None:
        raise PluginError(format_reason(plugin, refused))
    with _capture_stderr() as read_captured:
        try:
            return _make_plugin_client(plugin, shared=is_loaded)
        except Exception as error:
            raise PluginError(format_reason(plugin, f"{error}{read_captured()}")) from None


def _set_environment(plugin: Plugin) -> None:
    for name, value in _LOG_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if plugin.platform == "tpu" and not hardware_detection.count_tpu_chips():
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # a query of Google Cloud's server can take minutes


def _make_plugin_client(plugin: Plugin, *, shared: bool) -> Any:
    """Load and initialize a plugin, register what it offers, and return its client.

    ``shared`` says that jax has loaded it in this process: that part is left out, and a GPU's memory is not
    preallocated. Raises PluginError if it finds no device.
    """
    if not shared:
        api = xla_client.load_pjrt_plugin_dynamically(plugin.pjrt_name, str(plugin.library))
        _profiler.register_plugin_profiler(api)  # without it a profile holds the host's events alone
        if plugin.platform == "gpu":
            register_cuda_calls(api, plugin.distribution)
    if not xla_client.pjrt_plugin_initialized(plugin.pjrt_name):
        xla_client.initialize_pjrt_plugin(plugin.pjrt_name)
    options = dict(xla_client.generate_pjrt_gpu_plugin_options()) if plugin.platform == "gpu" else {}
    if shared and plugin.platform == "gpu":
        options["preallocate"] = False  # jax has most of the memory already
    membership = current_membership()
    if membership is not None and plugin.platform == "gpu":
        options |= {"node_id": membership.process_id, "num_nodes": membership.num_processes}
        if membership.device_numbers is not None:
            options["visible_devices"] = list(membership.device_numbers)
    coordination_client = None if membership is None else membership.client
    plugin_client = xla_client.make_c_api_client(plugin.pjrt_name, options, coordination_client)
    if not plugin_client.local_devices():
        raise PluginError("it finds no device")
    return plugin_client


def register_cuda_calls(api: Any, distribution: str) -> int:
    """Register the calls of CUDA's libraries (such as cuSOLVER) with a plugin; returns how many.

    They come in a package beside the plugin's (``jax-cuda13-plugin``). Without it there are none, and a program that
    calls one says which is missing.
    """
    package = distribution.replace("-pjrt", "_plugin").replace("-", "_")
    try:
        extension = importlib.import_module(f"{package}.cuda_plugin_extension")
    except ImportError:
        return 0
    register = functools.partial(extension.register_custom_call_target, api)
    xla_client.register_custom_call_handler("CUDA", register)
    xla_client.register_custom_type_handler("CUDA", functools.partial(extension.register_custom_type, api))
    for name, value in extension.ffi_types().items():
        xla_client.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, value, platform="CUDA", api_version=1)
    registered = 0
    for module in _CUDA_CALL_MODULES:
        for name, value, api_version in importlib.import_module(f"jaxlib.{module}").registrations()["CUDA"]:
            xla_client.register_custom_call_target(name, value, platform="CUDA", api_version=api_version)
            registered += 1
    return registered


def format_reason(plugin: Plugin, reason: str) -> str:
    """Return the reason why a plugin does not run as one line for a message, with advice if there is some."""
    line = " ".join(reason.split())
    advice = next((advice for sign, advice in _ADVICE if sign in line), "")
    return f"{plugin.distribution} {plugin.version}: {line[:400]}{f' ({advice})' if advice else ''}"


_ADVICE = (
    (
        "driver version is insufficient",
        "the driver is older than this CUDA: update it, or install an older CUDA's plugin",
    ),
    ("No visible GPU devices", "no GPU is visible to this process: see nvidia-smi and CUDA_VISIBLE_DEVICES"),
    ("No jellyfish device found", "no TPU is here"),
    ("already in use", "one process at a time can have the TPU: end the other one, a notebook's kernel perhaps"),
    ("did not start within", "its process was ended; XLASCOPE_PLATFORMS=cpu leaves it alone"),
    ("PJRT API version", "the plugin and jaxlib are of different versions"),
    ("cannot open shared object file", "a library that it needs is missing: reinstall the extra"),
)


@contextlib.contextmanager
def _capture_stderr() -> Iterator[Callable[[], str]]:
    """Capture what native code writes to standard error, which is useful only after a failure.

    Yields a function that returns the end of the output.
    """
    saved_stderr = os.dup(2)
    with tempfile.TemporaryFile() as output:

        def read_output() -> str:
            output.seek(0)
            words = " ".join(output.read().decode(errors="replace").split())[-_MAX_OUTPUT_CHARACTERS:]
            return f"; it printed: {words}" if words else ""

        os.dup2(output.fileno(), 2)
        try:
            yield read_output
        finally:
            os.dup2(saved_stderr, 2)
            os.close(saved_stderr)
