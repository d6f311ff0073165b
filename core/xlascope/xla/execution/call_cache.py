"""jaxlib's call cache: calls with known kinds of arguments repeat in C++, others come back to Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax

from ...runtime import jax_coexistence
from ...runtime.boot import call_registry
from ..arrays.host_operands import shard_arg_fallback


def make_pjit(
    name: str,
    function: Callable[..., Any],
    cache_miss: Callable[..., Any],
    static_argnums: Sequence[int],
    static_argnames: Sequence[str],
    key: Any,
    cache: Any = None,
) -> Any:
    """Return a callable with jaxlib's call cache in front, which repeats known calls in C++.

    An unknown call goes to ``cache_miss``, which gets the arguments and returns the result, the :class:`.FastpathData`
    of the call (None: it is not repeated in C++), and False. ``function``, of that ``name``, is called instead where
    jit is disabled. ``key`` identifies the function in ``cache``, which several functions share and which is bounded;
    with None, the function has a cache of its own.
    """
    return _jax.pjit(
        name,
        function,
        cache_miss,
        list(static_argnums),
        list(static_argnames),
        key,
        call_registry,
        shard_arg_fallback,
        cache,
    )


PjitFunction = _jax.PjitFunction


def set_tracer_class(tracer: type) -> None:
    """Tell jaxlib's call cache the class of tracers: a call with one as an operand goes to Python.

    jaxlib knows a single class: where jax is present, it stays jax's, and ours are sent to Python by other means.
    """
    with jax_coexistence.hold_import_lock():
        if not jax_coexistence.is_present():
            _jax.set_tracer_class(tracer)
