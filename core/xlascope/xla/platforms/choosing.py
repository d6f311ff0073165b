"""Which platforms programs run on: what the setting ``platforms`` names, or what the machine has.

Unnamed, the first of these that is here and starts is the default: what was registered, a TPU, a GPU, the CPU. What is
here and does not start is told in one line, and the next one goes on. Named, all have to start: the first is the
default, an error says which does not, and no other plugin is started. The CPU can always be asked for, and what was
registered.
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
#: aborts the process. One device needs none, and they cost it: a training step took 1.4 times as long.
_THREADS = "16"
#: Other names of a platform.
_ALIASES = {"cuda": "gpu"}
#: Platforms with hardware of their own, the one that is preferred first.
_WITH_HARDWARE = ("tpu", "gpu")

_lock = threading.RLock()
_clients: dict[str, Any] = {}
_factories: dict[str, tuple[int, Callable[[], Any]]] = {}
_chosen: dict[str | None, str] = {}
_first: dict[str | None, Any] = {}


def client(platform: str | None = None) -> Any:
    """The client of a platform (the default one for None); raises RuntimeError for a platform that is not there."""
    name = _ALIASES.get(platform, platform) if platform else default_platform()
    found = _clients.get(name)
    return _started(name, named=True) if found is None else found


def started_clients() -> list[Any]:
    """Return the clients that have been started."""
    return list(_clients.values())


def first_device(platform: str | None) -> Any:
    """The first of a platform's devices here, where values go that nobody has put anywhere."""
    found = _first.get(platform)
    if found is None:
        found = _first[platform] = client(platform).local_devices()[0]
    return found


def default_platform() -> str:
    """The platform that computations run on when nothing else is said."""
    named = boot.platforms.value
    found = _chosen.get(named)
    if found is not None:
        return found
    with _lock:
        if named not in _chosen:
            _chosen[named] = _first_of(named) if named else _automatic()
        return _chosen[named]


def register_backend_factory(name: str, factory: Callable[[], Any], *, priority: int = 0) -> None:
    """Let a platform of your own be one of those that programs run on.

    ``factory()`` makes its client, a ``jaxlib`` one, when it is first asked for. One with a ``priority`` above 0 is the
    default where none is named. Raises ValueError for a name that is taken.
    """
    if name in ("cpu", *_WITH_HARDWARE, *_ALIASES) or name in _factories:
        raise ValueError(f"there is a platform named {name!r} already")
    with _lock:
        _factories[name] = priority, factory
        _choose_again()


def forget(name: str) -> None:
    """Let a platform be unknown that was registered; arrays on it stay."""
    with _lock:
        _factories.pop(name, None)
        _clients.pop(name, None)
        _choose_again()


def _choose_again() -> None:
    """Let the default be found anew, by calls too that jaxlib repeats."""
    _chosen.clear()
    _first.clear()
    boot.forget_calls()


def _first_of(named: str) -> str:
    """The first of the platforms that are named, when all of them have started."""
    names = _names(named)
    for name in names:
        if name != "cpu" and name not in _clients:
            _started(name, named=True)
    return names[0] if names else "cpu"


def _names(named: str) -> list[str]:
    """The platforms that a setting names, by our names."""
    return [_ALIASES.get(name.strip(), name.strip()) for name in named.split(",") if name.strip()]


def _automatic() -> str:
    wanted = sorted((-priority, name) for name, (priority, _) in _factories.items() if priority > 0)
    for name in (*(name for _, name in wanted), *_WITH_HARDWARE):
        if name in _WITH_HARDWARE and not hardware.is_present(name):
            continue
        try:
            _started(name, named=False)
        except Exception as error:
            _log.warning("%s; programs run elsewhere. XLASCOPE_PLATFORMS=cpu says that this is meant", error)
        else:
            return name
    return "cpu"


def _started(name: str, *, named: bool) -> Any:
    """The client of a platform, started if it was not; raises RuntimeError with the reason where that fails."""
    with _lock:
        if name not in _clients:
            _clients[name] = _make(name, named)
        return _clients[name]


def _where() -> str:
    """Return the user's line; nothing for a tool of ours that Python runs as a module."""
    place = user_line()
    return "" if place is None or place.file.startswith("<frozen") else where_text(place)


def _make(name: str, named: bool) -> Any:
    if name == "cpu":
        return _make_cpu_client()
    if name in _factories:
        return _factories[name][1]()
    if name not in _WITH_HARDWARE:
        known = ", ".join(sorted({"cpu", *_clients, *_factories}))
        raise RuntimeError(f"there is no backend named {name!r}; those here are {known}")
    allowed = _names(boot.platforms.value or "")
    if allowed and name not in allowed:
        raise RuntimeError(
            f"there is no backend named {name!r}: the setting platforms names {', '.join(allowed)} alone"
        )
    found = installed(name)
    if not found:
        if not hardware.is_present(name):
            known = ", ".join(sorted({"cpu", *_clients, *_factories}))
            said = (
                f"there is no backend named {name!r}: no {name.upper()} was found on this machine, which has {known}."
            )
            fix = (
                "Ask for devices() of those, or leave the name out. If there is one, its plugin is missing: "
                f"{EXTRAS[name]}"
            )
            raise RuntimeError(compose_message(said, fix, _where()))
        raise RuntimeError(
            f"there is no backend named {name!r}: a {name.upper()} is here, its plugin is not: {EXTRAS[name]}"
        )
    refused = []
    for plugin in found:
        try:
            return start(plugin, anew=named)
        except PluginError as error:
            refused.append(str(error))
    raise RuntimeError(f"the {name.upper()} cannot be used: {'; '.join(refused)}")


def _make_cpu_client() -> Any:
    count = boot.num_cpu_devices.value
    if count < 1:
        count = _devices_in_flags()
    if count > 1:
        os.environ.setdefault("NPROC", _THREADS)
    return xla_client.make_cpu_client(num_devices=count, asynchronous=True)


def _devices_in_flags() -> int:
    """How many devices the CPU is by ``XLA_FLAGS``, as many programs have it."""
    found = re.findall(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return max(int(found[-1]), 1) if found else 1
