"""jaxlib's call cache: calls that it has seen are repeated in C++, and others come back to Python."""

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
    """A function with jaxlib's call cache in front: it asks ``cache_miss`` for calls it has not seen.

    ``cache`` is one that functions share, and its bound; None: the function has one of its own.
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
    """Tell jaxlib which operands always need Python. It knows one class: jax's where jax is; others need it as well."""
    with beside.still_imports():
        if not beside.here():
            _jax.set_tracer_class(tracer)
