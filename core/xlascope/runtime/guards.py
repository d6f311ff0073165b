"""Wrappers of jaxlib's guards (of transfers, of garbage collection) with the interface of configuration states.

jaxlib has one state for all engines: in a process with jax, a guard of either engine applies to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib import _jax

from . import boot, jax_coexistence

_lib = _jax.guard_lib

TRANSFER_LEVELS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
COLLECTION_LEVELS = (None, "allow", "log", "fatal")


class Guard:
    """Level of one of jaxlib's guards: one for the process, and one for this thread, which takes precedence.

    ``name`` is the setting's name, for the environment; ``field`` is the attribute of jaxlib's state,
    ``kinds`` the enum of its levels; ``allowed`` are the valid levels, ``default`` is the initial one.
    """

    def __init__(self, name: str, field: str, kinds: Any, allowed: Sequence[str | None], default: str | None) -> None:
        self.name = name
        self._field = field
        self._kinds = kinds
        self._wanted = boot.from_environment(name, default, allowed)
        self.reapply()

    @property
    def value(self) -> str | None:
        """Return the level in effect on this thread; None where none was set."""
        return self.get_local() or self.get_global()

    def get_global(self) -> str | None:
        """Return the level of the process; None where none was set."""
        return _level_name(getattr(_lib.global_state(), self._field))

    def set_global(self, value: str | None) -> None:
        """Set the level of the whole process."""
        self._wanted = value
        setattr(_lib.global_state(), self._field, self._level(value))

    def reapply(self) -> None:
        """Set the level of the process that was requested here again; if none was, a level set by jax stays."""
        if self._wanted is not None:
            self.set_global(self._wanted)

    def get_local(self) -> str | None:
        """Return the level of this thread; None where it has none."""
        return _level_name(getattr(_lib.thread_local_state(), self._field))

    def set_local(self, value: str | None) -> None:
        """Set the level of this thread; None or unset: it has none, and the level of the process applies."""
        setattr(_lib.thread_local_state(), self._field, self._level(None if value is boot.UNSET else value))

    def _level(self, value: str | None) -> Any:
        return None if value is None else getattr(self._kinds, value.upper())


def _level_name(level: Any) -> str | None:
    return None if level is None else str(level.name).lower()


def _make_transfer_guard(field: str) -> Guard:
    return Guard(f"transfer_guard_{field}", field, _lib.TransferGuardLevel, TRANSFER_LEVELS, _default_transfer_level)


_default_transfer_level = boot.from_environment("transfer_guard", None, TRANSFER_LEVELS)
host_to_device = _make_transfer_guard("host_to_device")
device_to_host = _make_transfer_guard("device_to_host")
device_to_device = _make_transfer_guard("device_to_device")
array_garbage_collection = Guard(
    "array_garbage_collection_guard",
    "garbage_collect_array",
    _lib.GarbageCollectionGuardLevel,
    COLLECTION_LEVELS,
    None,
)

_guards = (host_to_device, device_to_host, device_to_device, array_garbage_collection)


def _reapply_levels() -> None:
    for guard in _guards:
        guard.reapply()


jax_coexistence.on_import("jax._src.config", _reapply_levels)  # which sets its own levels


class ExplicitTransfers:
    """Context manager for transfers that users request explicitly; the levels ``disallow`` and ``log`` allow them."""

    def __enter__(self) -> None:
        state = _lib.thread_local_state()
        state.explicit_device_put = state.explicit_device_get = True

    def __exit__(self, *error: object) -> None:
        state = _lib.thread_local_state()
        state.explicit_device_put = state.explicit_device_get = False


explicit_transfers = ExplicitTransfers()
