"""A call that is asked about and not made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A call that is asked about and not made: see :func:`call`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Asked:
    """The call ``fun(*args, **kwargs)``, for :func:`xlascope.inspect.diff` and its kin.

    Without keywords a tuple ``(fun, *args)`` does as well.

    >>> call(max, 1, 2).args
    (1, 2)
    """
    return Asked(fun, args, kwargs)


def asked_of(fun: Callable[..., Any] | Asked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Asked:
    """The call that a question's arguments name: one made with :func:`call`, or a function and its arguments."""
    return fun if isinstance(fun, Asked) else Asked(fun, args, kwargs)
