"""Selection of the platforms that programs run on, by the setting ``platforms`` or by the machine's hardware.

Without the setting, the first of these that is present and starts is the default: registered backends, a TPU, a
GPU, the CPU. A platform that is present and does not start is logged in one line, and the next one is tried. With
the setting, all platforms in it have to start: the first is the default, an error says which does not, and no
other plugin is started. The CPU and registered backends are always available.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from typing import Any

from jaxlib import _jax, xla_client

from ...ir.user_frames import compose_message, user_line, where_text
from ...runtime import boot
from ..processes.job import current_membership
from ..system.worker_thread import run_uninterruptible
from . import hardware_detection
from .plugin_discovery import INSTALL_COMMANDS, find_installed
from .plugin_loader import PluginError, start_plugin

_log = logging.getLogger(__name__)

#: Threads for several devices: collectives on a small machine starve with as many threads as cores, and jaxlib then
#: aborts the process. With one device more threads are slower: a training step took 1.4 times as long.
_THREADS_FOR_SEVERAL_DEVICES = "16"
#: Other names of a platform.
_ALIASES = {"cuda": "gpu"}
#: Platforms with special hardware, in order of preference.
_HARDWARE_PLATFORMS = ("tpu", "gpu")

_lock = threading.RLock()
_clients: dict[str, Any] = {}
_factories: dict[str, tuple[int, Callable[[], Any]]] = {}
_default_platforms: dict[str | None, str] = {}
_first_devices: dict[str | None, Any] = {}


def client(platform: str | None = None) -> Any:
    """Return the client of a platform (None: the default one), started if necessary.

    Raises RuntimeError if it is not available.
    """
    name = _ALIASES.get(platform, platform) if platform else default_platform()
    started_client = _clients.get(name)
    return _find_or_start(name, is_requested=True) if started_client is None else started_client


def started_clients() -> list[Any]:
    """Return the clients that have been started."""
    return list(_clients.values())


def first_device(platform: str | None) -> Any:
    """Return the first device of this process on a platform (None: the default one), where uncommitted values go."""
    device = _first_devices.get(platform)
    if device is None:
        device = _first_devices[platform] = client(platform).local_devices()[0]
    return device


def default_platform() -> str:
    """Return the name of the default platform of computations, which is determined and started once per setting."""
    requested = boot.platforms.value
    default = _default_platforms.get(requested)
    if default is not None:
        return default
    with _lock:
        if requested not in _default_platforms:
            _default_platforms[requested] = _start_requested(requested) if requested else _detect_platform()
        return _default_platforms[requested]


def register_backend_factory(name: str, factory: Callable[[], Any], *, priority: int = 0) -> None:
    """Register a custom platform that programs can run on.

    ``factory()`` returns its client, a ``jaxlib`` one, when it is first needed. One with a ``priority`` above 0 is the
    default where the setting names none. Raises ValueError for a name that is taken.
    """
    if name in ("cpu", *_HARDWARE_PLATFORMS, *_ALIASES) or name in _factories:
        raise ValueError(f"there is a platform named {name!r} already")
    with _lock:
        _factories[name] = priority, factory
        _invalidate_defaults()


def unregister_backend(name: str) -> None:
    """Unregister a custom platform; arrays on it stay."""
    with _lock:
        _factories.pop(name, None)
        _clients.pop(name, None)
        _invalidate_defaults()


def _invalidate_defaults() -> None:
    """Forget the default platform and its devices, and the calls that jaxlib repeats with them."""
    _default_platforms.clear()
    _first_devices.clear()
    boot.forget_calls()


def _start_requested(requested: str) -> str:
    """Start all platforms that the setting ``platforms`` names, and return the first."""
    names = _parse_platforms(requested)
    for name in names:
        if name != "cpu" and name not in _clients:
            _find_or_start(name, is_requested=True)
    return names[0] if names else "cpu"


def _parse_platforms(setting: str) -> list[str]:
    """Return the platforms that the setting ``platforms`` names, by our names (``gpu`` for ``cuda``)."""
    return [_ALIASES.get(name.strip(), name.strip()) for name in setting.split(",") if name.strip()]


def _detect_platform() -> str:
    """Return the first platform that is present and starts, in the order of preference; ``"cpu"`` if none does."""
    by_priority = sorted((-priority, name) for name, (priority, _) in _factories.items() if priority > 0)
    for name in (*(name for _, name in by_priority), *_HARDWARE_PLATFORMS):
        if name in _HARDWARE_PLATFORMS and not hardware_detection.is_hardware_present(name):
            continue
        try:
            _find_or_start(name, is_requested=False)
        except Exception as error:
            _log.warning("%s; programs run elsewhere. XLASCOPE_PLATFORMS=cpu says that this is meant", error)
        else:
            return name
    return "cpu"


def _find_or_start(name: str, *, is_requested: bool) -> Any:
    """Return the client of a platform, starting it if necessary; raises RuntimeError with the reason on failure.

    ``is_requested`` says that it was named, not detected: a plugin that crashed before is then tried again.
    """
    with _lock:
        if name not in _clients:
            _clients[name] = _make_client(name, is_requested)
        return _clients[name]


def _user_line_text() -> str:
    """Return where the user's code is as text for a message; ``""`` for a tool of xlascope that runs as a module."""
    line = user_line()
    return "" if line is None or line.file.startswith("<frozen") else where_text(line)


def _make_client(name: str, requested: bool) -> Any:
    """Create the client of a platform; raises RuntimeError with the reason and advice if that fails.

    ``requested`` says that it was named, not detected: a plugin that crashed before is then tried again.
    """
    if name == "cpu":
        return _make_cpu_client()
    if name in _factories:
        return _factories[name][1]()
    if name not in _HARDWARE_PLATFORMS:
        names = ", ".join(sorted({"cpu", *_clients, *_factories}))
        raise RuntimeError(f"there is no backend named {name!r}; those here are {names}")
    allowed = _parse_platforms(boot.platforms.value or "")
    if allowed and name not in allowed:
        problem = f"there is no backend named {name!r}: the setting platforms names {', '.join(allowed)} alone."
        fix = (
            f"Write devices() or devices({allowed[0]!r}), or name {name} in the setting as well "
            "(XLASCOPE_PLATFORMS or JAX_PLATFORMS in the environment)."
        )
        raise RuntimeError(compose_message(problem, fix, _user_line_text()))
    plugins = find_installed(name)
    if not plugins:
        if not hardware_detection.is_hardware_present(name):
            names = ", ".join(sorted({"cpu", *_clients, *_factories}))
            problem = (
                f"there is no backend named {name!r}: no {name.upper()} was found on this machine, which has {names}."
            )
            fix = (
                f"Write devices() or devices('cpu'). If this machine does have a {name.upper()}, install its plugin: "
                f"{INSTALL_COMMANDS[name]}"
            )
            raise RuntimeError(compose_message(problem, fix, _user_line_text()))
        raise RuntimeError(
            f"there is no backend named {name!r}: a {name.upper()} is here, its plugin is not: {INSTALL_COMMANDS[name]}"
        )
    reasons = []
    for plugin in plugins:
        try:
            return start_plugin(plugin, force_probe=requested)
        except PluginError as error:
            reasons.append(str(error))
    raise RuntimeError(f"the {name.upper()} cannot be used: {'; '.join(reasons)}")


def _make_cpu_client() -> Any:
    count = boot.num_cpu_devices.value
    if count < 1:
        count = _device_count_in_flags()
    membership = current_membership()
    if count > 1 or membership is not None:
        os.environ.setdefault("NPROC", _THREADS_FOR_SEVERAL_DEVICES)
    if membership is None:
        return xla_client.make_cpu_client(num_devices=count, asynchronous=True)
    collectives = _jax.make_gloo_tcp_collectives(
        distributed_client=membership.client, hostname=membership.find_local_address(), interface=None
    )
    return run_uninterruptible(
        lambda: xla_client.make_cpu_client(
            num_devices=count,
            asynchronous=True,
            distributed_client=membership.client,
            node_id=membership.process_id,
            num_nodes=membership.num_processes,
            collectives=collectives,
        )
    )


def _device_count_in_flags() -> int:
    """Return how many devices the CPU has by ``XLA_FLAGS``; 1 if they do not say."""
    counts = re.findall(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return max(int(counts[-1]), 1) if counts else 1
