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

from jaxlib import xla_client

from ...ir.sources import compose_message, user_line, where_text
from ...runtime import boot
from . import hardware
from .plugins import EXTRAS, installed
from .starting import PluginError, start

_log = logging.getLogger(__name__)

#: Threads for several devices: collectives on a small machine starve with as many threads as cores, and jaxlib then
#: aborts the process. With one device more threads are slower: a training step took 1.4 times as long.
_THREADS = "16"
#: Other names of a platform.
_ALIASES = {"cuda": "gpu"}
#: Platforms with special hardware, in order of preference.
_WITH_HARDWARE = ("tpu", "gpu")

_lock = threading.RLock()
_clients: dict[str, Any] = {}
_factories: dict[str, tuple[int, Callable[[], Any]]] = {}
_chosen: dict[str | None, str] = {}
_first: dict[str | None, Any] = {}


def client(platform: str | None = None) -> Any:
    """Return the client of a platform (None: the default one); raises RuntimeError if it is not available."""
    name = _ALIASES.get(platform, platform) if platform else default_platform()
    started_client = _clients.get(name)
    return _started(name, named=True) if started_client is None else started_client


def started_clients() -> list[Any]:
    """Return the clients that have been started."""
    return list(_clients.values())


def first_device(platform: str | None) -> Any:
    """Return the first of a platform's devices in this process, where uncommitted values go."""
    device = _first.get(platform)
    if device is None:
        device = _first[platform] = client(platform).local_devices()[0]
    return device


def default_platform() -> str:
    """Return the default platform of computations."""
    requested = boot.platforms.value
    default = _chosen.get(requested)
    if default is not None:
        return default
    with _lock:
        if requested not in _chosen:
            _chosen[requested] = _first_of(requested) if requested else _automatic()
        return _chosen[requested]


def register_backend_factory(name: str, factory: Callable[[], Any], *, priority: int = 0) -> None:
    """Register a custom platform that programs can run on.

    ``factory()`` makes its client, a ``jaxlib`` one, when it is first needed. One with a ``priority`` above 0 is the
    default where the setting names none. Raises ValueError for a name that is taken.
    """
    if name in ("cpu", *_WITH_HARDWARE, *_ALIASES) or name in _factories:
        raise ValueError(f"there is a platform named {name!r} already")
    with _lock:
        _factories[name] = priority, factory
        _choose_again()


def forget(name: str) -> None:
    """Unregister a platform; arrays on it stay."""
    with _lock:
        _factories.pop(name, None)
        _clients.pop(name, None)
        _choose_again()


def _choose_again() -> None:
    """Let the default be determined anew, also for calls that jaxlib repeats."""
    _chosen.clear()
    _first.clear()
    boot.forget_calls()


def _first_of(requested: str) -> str:
    """Start all platforms that the setting names and return the first."""
    names = _names(requested)
    for name in names:
        if name != "cpu" and name not in _clients:
            _started(name, named=True)
    return names[0] if names else "cpu"


def _names(setting: str) -> list[str]:
    """Return the platforms that a setting names, by our names."""
    return [_ALIASES.get(name.strip(), name.strip()) for name in setting.split(",") if name.strip()]


def _automatic() -> str:
    by_priority = sorted((-priority, name) for name, (priority, _) in _factories.items() if priority > 0)
    for name in (*(name for _, name in by_priority), *_WITH_HARDWARE):
        if name in _WITH_HARDWARE and not hardware.is_present(name):
            continue
        try:
            _started(name, named=False)
        except Exception as error:
            _log.warning("%s; programs run elsewhere. XLASCOPE_PLATFORMS=cpu says that this is meant", error)
        else:
            return name
    return "cpu"


def _started(name: str, *, is_requested: bool) -> Any:
    """Return the client of a platform, starting it if necessary; raises RuntimeError with the reason on failure."""
    with _lock:
        if name not in _clients:
            _clients[name] = _make(name, is_requested)
        return _clients[name]


def _where() -> str:
    """Return the user's line as text; empty for a tool of xlascope that Python runs as a module."""
    line = user_line()
    return "" if line is None or line.file.startswith("<frozen") else where_text(line)


def _make(name: str, requested: bool) -> Any:
    if name == "cpu":
        return _make_cpu_client()
    if name in _factories:
        return _factories[name][1]()
    if name not in _WITH_HARDWARE:
        names = ", ".join(sorted({"cpu", *_clients, *_factories}))
        raise RuntimeError(f"there is no backend named {name!r}; those here are {names}")
    allowed = _names(boot.platforms.value or "")
    if allowed and name not in allowed:
        raise RuntimeError(
            f"there is no backend named {name!r}: the setting platforms names {', '.join(allowed)} alone"
        )
    plugins = installed(name)
    if not plugins:
        if not hardware.is_present(name):
            names = ", ".join(sorted({"cpu", *_clients, *_factories}))
            said = (
                f"there is no backend named {name!r}: no {name.upper()} was found on this machine, which has {names}."
            )
            fix = (
                "Ask for devices() of those, or leave the name out. If there is one, its plugin is missing: "
                f"{EXTRAS[name]}"
            )
            raise RuntimeError(compose_message(said, fix, _where()))
        raise RuntimeError(
            f"there is no backend named {name!r}: a {name.upper()} is here, its plugin is not: {EXTRAS[name]}"
        )
    reasons = []
    for plugin in plugins:
        try:
            return start(plugin, anew=requested)
        except PluginError as error:
            reasons.append(str(error))
    raise RuntimeError(f"the {name.upper()} cannot be used: {'; '.join(reasons)}")


def _make_cpu_client() -> Any:
    count = boot.num_cpu_devices.value
    if count < 1:
        count = _devices_in_flags()
    if count > 1:
        os.environ.setdefault("NPROC", _THREADS)
    return xla_client.make_cpu_client(num_devices=count, asynchronous=True)


def _devices_in_flags() -> int:
    """Return how many devices the CPU has by ``XLA_FLAGS``."""
    counts = re.findall(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return max(int(counts[-1]), 1) if counts else 1
