"""jaxlib's call cache: calls with known kinds of arguments repeat in C++, others come back to Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax

from ...runtime import beside
from ...runtime.boot import call_registry
from ..arrays.transfers import shard_arg_fallback


def make_pjit(
    name: str,
    function: Callable[..., Any],
    cache_miss: Callable[..., Any],
    static_argnums: Sequence[int],
    static_argnames: Sequence[str],
    key: Any,
    cache: Any = None,
) -> Any:
    """Return a function with jaxlib's call cache in front, which calls ``cache_miss`` for unknown calls.

    ``cache`` is shared by several functions and has a bound; with None, the function has a cache of its own.
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
    """Tell jaxlib which class of operands always needs Python.

    jaxlib knows a single class: where jax is present, it stays jax's, and ours are sent to Python by other means.
    """
    with beside.still_imports():
        if not beside.here():
            _jax.set_tracer_class(tracer)
