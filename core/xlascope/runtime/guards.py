"""Wrappers of jaxlib's guards (of transfers, of garbage collection) with the interface of configuration states.

jaxlib has one state for all engines: in a process with jax, a guard of either engine applies to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib import _jax

from . import beside, boot

_lib = _jax.guard_lib

TRANSFER_LEVELS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
COLLECTION_LEVELS = (None, "allow", "log", "fatal")


class Guard:
    """Guard level of jaxlib for one thing: one for the process, and one for this thread, which takes precedence."""

    def __init__(self, name: str, field: str, kinds: Any, allowed: Sequence[str | None], default: str | None) -> None:
        self.name = name
        self._field = field
        self._kinds = kinds
        self._wanted = boot.from_environment(name, default, allowed)
        self.keep()

    @property
    def value(self) -> str | None:
        """Return the level in effect on this thread; None where none was set."""
        return self.get_local() or self.get_global()

    def get_global(self) -> str | None:
        """Return the level of the process; None where none was set."""
        return _name_of(getattr(_lib.global_state(), self._field))

    def set_global(self, value: str | None) -> None:
        """Set the level of the whole process."""
        self._wanted = value
        setattr(_lib.global_state(), self._field, self._level(value))

    def keep(self) -> None:
        """Set the level that was requested here again; if none was, a level set by jax stays."""
        if self._wanted is not None:
            self.set_global(self._wanted)

    def get_local(self) -> str | None:
        """Return the level of this thread; None where it has none."""
        return _name_of(getattr(_lib.thread_local_state(), self._field))

    def set_local(self, value: str | None) -> None:
        """Guard this thread at that level; None or unset: like the process."""
        setattr(_lib.thread_local_state(), self._field, self._level(None if value is boot.UNSET else value))

    def _level(self, value: str | None) -> Any:
        return None if value is None else getattr(self._kinds, value.upper())


def _name_of(level: Any) -> str | None:
    return None if level is None else str(level.name).lower()


def _transfer(field: str) -> Guard:
    return Guard(f"transfer_guard_{field}", field, _lib.TransferGuardLevel, TRANSFER_LEVELS, _everywhere)


_everywhere = boot.from_environment("transfer_guard", None, TRANSFER_LEVELS)
host_to_device = _transfer("host_to_device")
device_to_host = _transfer("device_to_host")
device_to_device = _transfer("device_to_device")
array_garbage_collection = Guard(
    "array_garbage_collection_guard",
    "garbage_collect_array",
    _lib.GarbageCollectionGuardLevel,
    COLLECTION_LEVELS,
    None,
)

_guards = (host_to_device, device_to_host, device_to_device, array_garbage_collection)


def _keep_levels() -> None:
    for guard in _guards:
        guard.keep()


beside.on_import("jax._src.config", _keep_levels)  # which sets its own levels


class ExplicitTransfers:
    """Context manager for explicitly requested transfers, which the levels ``disallow`` and ``log`` let pass."""

    def __enter__(self) -> None:
        state = _lib.thread_local_state()
        state.explicit_device_put = state.explicit_device_get = True

    def __exit__(self, *error: object) -> None:
        state = _lib.thread_local_state()
        state.explicit_device_put = state.explicit_device_get = False


explicit_transfers = ExplicitTransfers()
