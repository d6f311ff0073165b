"""What a user can set: names, values, and the context managers that set them for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .runtime import boot, cache_settings

_STATES = {
    "enable_x64": boot.enable_x64,
    "disable_jit": boot.disable_jit,
    "explain_cache_misses": boot.explain_cache_misses,
    "threefry_partitionable": boot.threefry_partitionable,
    **cache_settings.STATES,
}


class Settings:
    """The settings of this process, with JAX's spelling (``config.update("jax_enable_x64", True)``)."""

    def update(self, name: str, value: Any) -> None:
        """Set ``name`` to ``value`` for the whole process; ``jax_`` in front of a name is accepted.

        Raises AttributeError for a name that is no setting, listing those that are, and ValueError for a value that
        the setting cannot have.
        """
        _state(name).set_global(_converted(name, value))

    def __getattr__(self, name: str) -> Any:
        return _state(name).value


config = Settings()


def _state(name: str) -> Any:
    short = _short(name)
    if short not in _STATES:
        raise AttributeError(f"there is no setting named {name!r}; the settings are {', '.join(sorted(_STATES))}")
    return _STATES[short]


def _short(name: str) -> str:
    return name.removeprefix("jax_").removeprefix("xlascope_")


def _converted(name: str, value: Any) -> Any:
    convert = cache_settings.CONVERTERS.get(_short(name))
    return value if convert is None else convert(value)


@contextmanager
def setting(name: str, value: Any) -> Iterator[None]:
    """Set ``name`` to ``value`` on this thread for the length of a ``with`` block."""
    state = _state(name)
    previous = state.swap_local(_converted(name, value))
    try:
        yield
    finally:
        state.set_local(previous)


def enable_x64(new_value: bool = True) -> Any:
    """Allow 64-bit types on this thread for the length of a ``with`` block."""
    return setting("enable_x64", new_value)


def disable_jit(disable: bool = True) -> Any:
    """Run jitted functions operation by operation on this thread for the length of a ``with`` block."""
    return setting("disable_jit", disable)
