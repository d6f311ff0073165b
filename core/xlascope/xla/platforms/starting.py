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

from . import hardware, trial
from .plugins import Plugin, misfit

#: The modules of jaxlib that list the calls of CUDA's libraries.
_CALLS_OF_CUDA = ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse")
#: At most this much of a plugin's output is reported.
_TAIL = 200
#: Environment variables that restrict the plugins' logs to errors.
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TPU_STDERR_LOG_LEVEL": "3", "TPU_MIN_LOG_LEVEL": "3", "GRPC_VERBOSITY": "ERROR"}


class PluginError(RuntimeError):
    """Error for a plugin that does not run here; the message says why in one line."""


def start(plugin: Plugin, *, force_probe: bool = False) -> Any:
    """Start a plugin and return its client; raises PluginError with the reason and advice.

    ``force_probe`` probes the plugin again even if a crash of it is stored.
    """
    problem = misfit(plugin, version.__version__)
    if problem is not None:
        raise PluginError(problem)
    _prepare(plugin)
    is_loaded = xla_client.pjrt_plugin_loaded(plugin.own_name)  # jax has started it in this process: no probe is needed
    refused = None if is_loaded else trial.refusal(plugin, anew=force_probe)
    if refused is not None:
        raise PluginError(in_words(plugin, refused))
    with _silence() as read_captured:
        try:
            return _client(plugin, shared=is_loaded)
        except Exception as error:
            raise PluginError(in_words(plugin, f"{error}{read_captured()}")) from None


def _prepare(plugin: Plugin) -> None:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if plugin.platform == "tpu" and not hardware.tpu_chips():
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # a query of Google Cloud's server can take minutes


def _client(plugin: Plugin, *, shared: bool) -> Any:
    if not shared:
        api = xla_client.load_pjrt_plugin_dynamically(plugin.own_name, str(plugin.library))
        _profiler.register_plugin_profiler(api)  # without it a profile holds the host's events alone
        if plugin.platform == "gpu":
            register_calls_of_cuda(api, plugin.distribution)
    if not xla_client.pjrt_plugin_initialized(plugin.own_name):
        xla_client.initialize_pjrt_plugin(plugin.own_name)
    options = dict(xla_client.generate_pjrt_gpu_plugin_options()) if plugin.platform == "gpu" else {}
    if shared and plugin.platform == "gpu":
        options["preallocate"] = False  # jax has most of the memory already
    plugin_client = xla_client.make_c_api_client(plugin.own_name, options, None)
    if not plugin_client.local_devices():
        raise PluginError("it finds no device")
    return plugin_client


def register_calls_of_cuda(api: Any, distribution: str) -> int:
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
    for module in _CALLS_OF_CUDA:
        for name, value, api_version in importlib.import_module(f"jaxlib.{module}").registrations()["CUDA"]:
            xla_client.register_custom_call_target(name, value, platform="CUDA", api_version=api_version)
            registered += 1
    return registered


def in_words(plugin: Plugin, reason: str) -> str:
    """Return a plugin's reason in one line, with advice if there is some."""
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
def _silence() -> Iterator[Callable[[], str]]:
    """Capture what native code writes to standard error, which is useful only after a failure.

    Yields a function that returns the end of the output.
    """
    saved_stderr = os.dup(2)
    with tempfile.TemporaryFile() as output:

        def read_output() -> str:
            output.seek(0)
            words = " ".join(output.read().decode(errors="replace").split())[-_TAIL:]
            return f"; it printed: {words}" if words else ""

        os.dup2(output.fileno(), 2)
        try:
            yield read_output
        finally:
            os.dup2(saved_stderr, 2)
            os.close(saved_stderr)
