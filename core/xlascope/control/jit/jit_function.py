"""Jitted functions as users see them: a callable of jaxlib with methods for the stages."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from ...runtime.boot import disable_jit
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...xla.execution.call_cache import make_pjit
from .arguments import JitOptions, complete_options
from .events import notify_unrun_call, unrun_call_listeners
from .jitted import Jitted
from .stages import Lowered, Traced

F = TypeVar("F", bound=Callable[..., Any])


@api_boundary
def jit_function(function: Callable[..., Any], options: JitOptions) -> Any:
    """Return a function that traces, compiles and runs ``function`` through jaxlib's call cache.

    It has the methods ``trace``, ``lower``, ``eval_shape`` and ``clear_cache``. Raises TypeError if ``function`` is
    not callable.
    """
    if not callable(function):
        raise TypeError(f"jit takes a function, got {function!r} of type {type(function).__name__}{here()}")
    options = complete_options(function, options)
    jitted = Jitted(function, options)
    cache_miss = api_boundary(jitted.cache_miss if jitted.static_arg_cache is None else jitted.cache_miss_with_statics)
    direct = _UncompiledCall(jitted, cache_miss)
    wrapped = make_pjit(jitted.name, direct, cache_miss, options.static_argnums, options.static_argnames, options)
    functools.update_wrapper(wrapped, function)
    wrapped._jitted = jitted
    methods = _JitMethods(jitted, weakref.proxy(wrapped))
    wrapped.trace, wrapped.lower = methods.trace, methods.lower
    wrapped.eval_shape, wrapped.clear_cache = methods.eval_shape, methods.clear_cache
    wrapped.__reduce_ex__ = methods.reduce
    return wrapped


def jit_normalized(static_argnums: int | tuple[int, ...]) -> Callable[[F], F]:
    """Return a decorator that jits a function of this package, whose static values are normalized.

    Equal static values have to be interchangeable, such as shapes of Python integers: then jaxlib repeats calls with
    tuples on its own. See :class:`~.arguments.JitOptions`.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else static_argnums

    def decorate(function: F) -> F:
        jitted: F = jit_function(function, JitOptions(static_argnums=numbers, normalized=True))
        return jitted

    return decorate


class _UncompiledCall:
    """Function that jaxlib calls if jit is disabled.

    It runs its function as Python if ``disable_jit`` is set here; else, since jaxlib reads jax's setting in a process
    with jax, it calls ``cache_miss``.
    """

    def __init__(self, jitted: Jitted, cache_miss: Callable[..., Any]) -> None:
        self._jitted, self._cache_miss = jitted, cache_miss
        self.__wrapped__ = jitted.function  # jaxlib takes the signature from here

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not disable_jit.value:
            return self._cache_miss(*args, **kwargs)[0]
        if unrun_call_listeners:
            notify_unrun_call(self._jitted)
        return self._jitted.function(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self._jitted.function)


class _JitMethods:
    """Methods of one jitted function.

    They are not methods of jaxlib's class, because jax sets its own methods there.
    """

    def __init__(self, jitted: Jitted, function: Any) -> None:
        self._jitted, self._function = jitted, function

    def reduce(self, protocol: object) -> Any:
        """Return what pickle needs: the function's qualified name, or :func:`jit_function` with function and options.

        The name is used if the function can be imported by it, which is not so for functions of a script
        (``__main__``). An unpickled function is traced and compiled anew.
        """
        name, module = getattr(self._function, "__qualname__", ""), getattr(self._function, "__module__", "")
        named_object: Any = sys.modules.get(module)
        for part in name.split("."):
            named_object = getattr(named_object, part, None)
        # Compare the bound method, since a proxy is not identical with its target; each jitted function has its own.
        if module != "__main__" and getattr(named_object, "__reduce_ex__", None) == self.reduce:
            return name
        return jit_function, (self._jitted.function, self._jitted.options)

    @api_boundary
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace a call to a jaxpr without compiling it; arguments may be ShapeDtypeStructs."""
        return self._jitted.trace_to_stage(args, kwargs)

    @api_boundary
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Lower a call to StableHLO without compiling it; arguments may be ShapeDtypeStructs."""
        return self._jitted.trace_to_stage(args, kwargs).lower()

    @api_boundary
    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return a tree like the result with shapes and dtypes in place of arrays."""
        return self._jitted.trace_to_stage(args, kwargs).out_info

    def clear_cache(self) -> None:
        """Clear the function's traces and compiled programs."""
        self._jitted.clear()
        self._function._clear_cache()
