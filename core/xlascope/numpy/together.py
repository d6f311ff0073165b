"""Functions of several operations that run as one compiled call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..control.jit.arguments import Options
from ..control.jit.functions import jit_function
from ..trace.state import STATE
from ..trace.traceback_filtering import filter_traceback

F = TypeVar("F", bound=Callable[..., Any])


def together(*static: str) -> Callable[[F], F]:
    """Decorator: outside of any trace run the function as one compiled call, inside one record its operations.

    ``static`` names the arguments that are no arrays; they have to be hashable (lists are made tuples).
    """

    def decorate(function: F) -> F:
        compiled: Callable[..., Any] | None = None

        @functools.wraps(function)
        def either(*args: Any, **kwargs: Any) -> Any:
            nonlocal compiled
            try:
                if STATE.trace is not None:
                    return function(*args, **kwargs)
                if compiled is None:
                    compiled = jit_function(function, Options(static_argnames=static))
                return compiled(*args, **kwargs)
            except BaseException as error:
                filter_traceback(error)
                raise

        return either  # type: ignore[return-value]

    return decorate


def as_tuple(axis: int | Iterable[int] | None) -> int | tuple[int, ...] | None:
    """An ``axis`` argument as a value that can be static."""
    return axis if axis is None or isinstance(axis, int) else tuple(axis)
