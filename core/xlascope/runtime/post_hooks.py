"""Post-call hooks in a process with jax: jaxlib has one slot, shared by jax and several of our listeners.

Importing this module does not boot the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jaxlib import _jax

from . import jax_coexistence

Hook = Callable[[Any, Any, Any, Any], None]

_hooks: dict[str, Hook] = {}


@cache
def _hook_state() -> Any:
    return _jax.config.Config("post_hooks", None, include_in_jit_key=False, include_in_trace_context=False)


def get_hook(owner: str) -> Hook | None:
    """Return the hook that ``owner`` has set with :func:`set_hook`; None without one."""
    return _hooks.get(owner)


def set_hook(owner: str, hook: Hook | None) -> None:
    """Set the hook of ``owner``, which runs after each call in this process, before jax's; None removes it.

    Hooks take ``(function, args, kwargs, out)``. In a process without jax they are not called: jaxlib's slot
    belongs to our engine there.
    """
    if hook is None:
        _hooks.pop(owner, None)
    else:
        _hooks[owner] = hook
    jax_state = jax_coexistence.post_hook_of_jax()
    if jax_state is None:
        return
    if _hooks:
        _hook_state().set_global(_combine_hooks(tuple(_hooks.values()), jax_state))
    _jax.jax_jit.set_post_hook_state(_hook_state() if _hooks else jax_state)


def _combine_hooks(hooks: tuple[Hook, ...], jax_state: Any) -> Hook:
    """Return a hook that calls all of ``hooks``, and then jax's hook, which is the value of ``jax_state``."""
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
