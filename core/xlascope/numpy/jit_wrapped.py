"""Decorator for functions of several operations that run as one compiled call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..control.jit.arguments import JitOptions
from ..control.jit.jit_function import jit_function
from ..ir.requested_dtypes import resolve_requested_dtype
from ..trace.trace_cache import cache_trace

F = TypeVar("F", bound=Callable[..., Any])

#: Parameters that request a dtype. Narrowing warns at each user line, also if nothing is compiled.
_DTYPE_PARAMETERS = frozenset({"dtype", "preferred_element_type"})


def jit_wrapped(*static: str) -> Callable[[F], F]:
    """Return a decorator that compiles a function for calls outside of any trace.

    Inside a trace the function's recorded op sequence is replayed. ``static`` names the parameters that are not
    arrays. Their values have to be hashable (lists become tuples), and equal values have to be interchangeable;
    numbers used in the computation are arrays. Outside of any trace a static value that is not hashable raises
    TypeError.
    """

    def decorate(function: F) -> F:
        compiled: Callable[..., Any] | None = None
        # Private functions receive a dtype that their caller has already resolved.
        dtypes = (
            () if function.__name__.startswith("_") else tuple(name for name in static if name in _DTYPE_PARAMETERS)
        )

        def call_compiled(*args: Any, **kwargs: Any) -> Any:
            nonlocal compiled
            if kwargs and dtypes:
                for name in dtypes:
                    if kwargs.get(name) is not None:
                        kwargs[name] = resolve_requested_dtype(kwargs[name])
            if compiled is None:
                compiled = compile_function()
            return compiled(*args, **kwargs)

        def compile_function() -> Callable[..., Any]:
            jitted: F = jit_function(function, JitOptions(static_argnames=static, normalized=True))
            return jitted

        def explain_error(error: BaseException, args: Any, kwargs: Any) -> BaseException:
            if isinstance(error, ValueError) and str(error).startswith("Non-hashable static"):
                return _non_hashable_static_error(function, static, args, kwargs)
            return error

        make_eager = (lambda: call_compiled) if dtypes else compile_function
        return cache_trace(function, make_eager, explain_error)

    return decorate


def _non_hashable_static_error(
    function: Callable[..., Any], static: tuple[str, ...], args: Any, kwargs: Any
) -> TypeError:
    """Return the error for a call in which one of the ``static`` parameters has a value that is not hashable."""
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    name = next((name for name in static if not _is_hashable(bound.get(name))), static[0])
    return TypeError(
        f"{function.__name__.lstrip('_')} takes {name} as a plain value (a number, a text, a tuple), "
        f"got {bound.get(name)!r} of type {type(bound.get(name)).__name__}"
    )


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
