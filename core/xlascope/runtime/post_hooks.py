"""Hearing of calls beside jax: jaxlib calls one hook after each call, which several may want, and jax has one of its
own. Boots nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jaxlib import _jax

from . import beside

Hook = Callable[[Any, Any, Any, Any], None]

_hooks: dict[str, Hook] = {}


@cache
def _state() -> Any:
    return _jax.config.Config("post_hooks", None, include_in_jit_key=False, include_in_trace_context=False)


def listening(who: str) -> Hook | None:
    """The hook of somebody, by the name under which it was given."""
    return _hooks.get(who)


def listen(who: str, hook: Hook | None) -> None:
    """Have a hook called after each call in this process, jax's own behind it; None: no longer.

    Nothing happens where jax is not: jaxlib's slot is our engine's there.
    """
    if hook is None:
        _hooks.pop(who, None)
    else:
        _hooks[who] = hook
    theirs = beside.post_hook_of_jax()
    if theirs is None:
        return
    if _hooks:
        _state().set_global(_together(tuple(_hooks.values()), theirs))
    _jax.jax_jit.set_post_hook_state(_state() if _hooks else theirs)


def _together(hooks: tuple[Hook, ...], theirs: Any) -> Hook:
    if len(hooks) == 1:
        (only,) = hooks

        def with_theirs(function: Any, args: Any, kwargs: Any, out: Any) -> None:
            only(function, args, kwargs, out)
            other = theirs.value
            if other is not None:
                other(function, args, kwargs, out)

        return with_theirs

    def every(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        for hook in (*hooks, theirs.value):
            if hook is not None:
                hook(function, args, kwargs, out)

    return every
