"""What the transformations share: argument numbers and names, and the names of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..control.programs.names import called_as
from ..control.programs.names import name_of as name_of

Numbers = int | Sequence[int] | None
Names = str | Iterable[str] | None


def numbers_of(value: Numbers) -> tuple[int, ...]:
    """Argument numbers, given as one, as several, or as None."""
    return () if value is None else (value,) if isinstance(value, int) else tuple(value)


def strings_of(value: Names) -> tuple[str, ...]:
    """Argument names, given as one, as several, or as None."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def named_after(fun: Callable[..., Any], what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: carry over the name and the documentation of the function that is transformed."""

    def named(made: Callable[..., Any]) -> Callable[..., Any]:
        made = called_as(fun)(made)
        made.__doc__ = f"{what} of {made.__name__}. {made.__doc__ or ''}".strip()
        return made

    return named
