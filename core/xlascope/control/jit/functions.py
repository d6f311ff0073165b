"""A jitted function as users have it: a callable of jaxlib's, with methods to go through its stages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...xla.dispatch import PjitFunction, make_pjit
from .arguments import Options, complete_options
from .jitted import Jitted
from .stages import Lowered, Traced


@api_boundary
def jit_function(function: Callable[..., Any], options: Options) -> Any:
    """A function that traces, compiles and runs ``function`` through jaxlib's call cache."""
    if not callable(function):
        raise TypeError(f"jit takes a function, got {function!r} of type {type(function).__name__}{here()}")
    options = complete_options(function, options)
    jitted = Jitted(function, options)
    made = make_pjit(
        jitted.name, function, api_boundary(jitted.cache_miss), options.static_argnums, options.static_argnames, options
    )
    functools.update_wrapper(made, function)
    made._jitted = jitted
    return made


# Methods of jitted functions: jaxlib's class has none of its own ------------------------------------------------------


@api_boundary
def _trace(self: Any, *args: Any, **kwargs: Any) -> Traced:
    """The call traced to a jaxpr but not compiled; arguments may be ShapeDtypeStructs."""
    return jitted_side(self).stage_traced(args, kwargs)


@api_boundary
def _lower(self: Any, *args: Any, **kwargs: Any) -> Lowered:
    """The call as StableHLO, not compiled; arguments may be ShapeDtypeStructs."""
    return jitted_side(self).stage_traced(args, kwargs).lower()


@api_boundary
def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A tree like the result with shapes and dtypes in place of arrays."""
    return jitted_side(self).stage_traced(args, kwargs).out_info


def _clear_cache(self: Any) -> None:
    """Forget the function's traces and compiled programs."""
    jitted_side(self).clear()
    self._clear_cache()


def jitted_side(function: Any) -> Jitted:
    """The Python side of a jitted function; raises AttributeError for a single operation's."""
    side: Jitted = function._jitted
    return side


for _name, _method in (
    ("trace", _trace),
    ("lower", _lower),
    ("eval_shape", _eval_shape),
    ("clear_cache", _clear_cache),
):
    _method.__name__ = _name
    setattr(PjitFunction, _name, _method)
