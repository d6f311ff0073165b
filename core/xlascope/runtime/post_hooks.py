"""Post-call hooks in a process with jax: jaxlib has one slot, shared by jax and several of our listeners.

Importing this module does not boot the engine.
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


def listening(owner: str) -> Hook | None:
    """Return the hook that was set under a name."""
    return _hooks.get(owner)


def listen(owner: str, hook: Hook | None) -> None:
    """Set a hook to call after each call in this process, followed by jax's own; None removes it.

    Nothing happens in a process without jax: jaxlib's slot belongs to our engine there.
    """
    if hook is None:
        _hooks.pop(owner, None)
    else:
        _hooks[owner] = hook
    jax_state = beside.post_hook_of_jax()
    if jax_state is None:
        return
    if _hooks:
        _state().set_global(_together(tuple(_hooks.values()), jax_state))
    _jax.jax_jit.set_post_hook_state(_state() if _hooks else jax_state)


def _together(hooks: tuple[Hook, ...], jax_state: Any) -> Hook:
    if len(hooks) == 1:
        (only,) = hooks

        def call_both(function: Any, args: Any, kwargs: Any, out: Any) -> None:
            only(function, args, kwargs, out)
            jax_hook = jax_state.value
            if jax_hook is not None:
                jax_hook(function, args, kwargs, out)

        return call_both

    def call_all(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        for hook in (*hooks, jax_state.value):
            if hook is not None:
                hook(function, args, kwargs, out)

    return call_all
