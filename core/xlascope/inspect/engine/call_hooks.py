"""The hook that jaxlib calls after each call in C++: one that the sampler sets, and any number of listeners."""

from __future__ import annotations

from typing import Any

from ...runtime.boot import post_hook, watch_calls
from ..running.engines import CallHook

_sampler_hook: CallHook | None = None
_listeners: tuple[CallHook, ...] = ()
#: What jaxlib calls, unless another hook was set past this module.
_installed: CallHook | None = None


def sampler_hook() -> CallHook | None:
    """Return the hook that was set last, here or past this module."""
    current: CallHook | None = post_hook.get_global()
    return _sampler_hook if current is _installed else current


def set_sampler_hook(hook: CallHook | None) -> None:
    """Set the hook, in place of the one set before; listeners stay."""
    global _sampler_hook
    _sampler_hook = hook
    _install()


def add_listener(listener: CallHook) -> None:
    """Call a listener after each jitted call, too; it must not raise."""
    global _listeners, _sampler_hook
    _sampler_hook = sampler_hook()
    _listeners = (*_listeners, listener)
    _install()


def remove_listener(listener: CallHook) -> None:
    """Remove a listener; do nothing if it is not there."""
    global _listeners, _sampler_hook
    _sampler_hook = sampler_hook()
    _listeners = tuple(other for other in _listeners if other != listener)
    _install()


def _install() -> None:
    global _installed
    hooks = (*([_sampler_hook] if _sampler_hook is not None else []), *_listeners)

    def call_all(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        for hook in hooks:
            hook(function, args, kwargs, out)

    _installed = call_all if len(hooks) > 1 else hooks[0] if hooks else None
    watch_calls(_installed)
