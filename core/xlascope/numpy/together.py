"""Functions of several operations that run as one compiled call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..control.jit.arguments import Options
from ..control.jit.functions import jit_function
from ..ir.requested_dtypes import requested_dtype
from ..trace.planned import planned

F = TypeVar("F", bound=Callable[..., Any])

#: Arguments by which users ask for a dtype. One that is narrowed warns at each line, also where nothing is compiled.
_DTYPES = frozenset({"dtype", "preferred_element_type"})


def together(*static: str) -> Callable[[F], F]:
    """Decorator: outside of any trace run the function as one compiled call, inside one take the steps of its plan.

    ``static`` names the arguments that are no arrays; they have to be hashable (lists are made tuples), and equal ones
    have to mean the same (numbers that are computed with are arrays).
    """

    def decorate(function: F) -> F:
        compiled: Callable[..., Any] | None = None
        # Functions with an underscore have the dtype from a function that asked for it already.
        dtypes = () if function.__name__.startswith("_") else tuple(name for name in static if name in _DTYPES)

        def at_once(*args: Any, **kwargs: Any) -> Any:
            nonlocal compiled
            if kwargs and dtypes:
                for name in dtypes:
                    if kwargs.get(name) is not None:
                        kwargs[name] = requested_dtype(kwargs[name])
            if compiled is None:
                compiled = jit_function(function, Options(static_argnames=static, normalized=True))
            try:
                return compiled(*args, **kwargs)
            except ValueError as error:
                if str(error).startswith("Non-hashable static"):
                    raise _not_static(function, static, args, kwargs) from None
                raise

        return planned(function, at_once)

    return decorate


def _not_static(function: Callable[..., Any], static: tuple[str, ...], args: Any, kwargs: Any) -> TypeError:
    """The error for an argument that is no array and cannot be hashed."""
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    name = next((name for name in static if not _is_hashable(given.get(name))), static[0])
    return TypeError(
        f"{function.__name__.lstrip('_')} takes {name} as a plain value (a number, a text, a tuple), "
        f"got {given.get(name)!r} of type {type(given.get(name)).__name__}"
    )


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
