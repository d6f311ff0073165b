"""The hook that jaxlib calls after each call in C++: one that the sampler sets, and any number of listeners."""

from __future__ import annotations

from typing import Any

from ...runtime.boot import watch_calls
from ..running.engines import CallHook

_sampler_hook: CallHook | None = None
_listeners: tuple[CallHook, ...] = ()


def sampler_hook() -> CallHook | None:
    """Return the hook that was set last."""
    return _sampler_hook


def set_sampler_hook(hook: CallHook | None) -> None:
    """Set the hook, in place of the one set before; listeners stay."""
    global _sampler_hook
    _sampler_hook = hook
    _install()


def add_listener(listener: CallHook) -> None:
    """Call a listener after each jitted call, too; it must not raise."""
    global _listeners
    _listeners = (*_listeners, listener)
    _install()


def remove_listener(listener: CallHook) -> None:
    """Remove a listener; do nothing if it is not there."""
    global _listeners
    _listeners = tuple(other for other in _listeners if other != listener)
    _install()


def _install() -> None:
    hooks = (*([_sampler_hook] if _sampler_hook is not None else []), *_listeners)
    if len(hooks) < 2:
        watch_calls(hooks[0] if hooks else None)
        return

    def call_all(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        for hook in hooks:
            hook(function, args, kwargs, out)

    watch_calls(call_all)
