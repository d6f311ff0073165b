"""Argument numbers and names, and wrapper metadata, shared by the transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..control.programs.names import called_as
from ..control.programs.names import name_of as name_of

Numbers = int | Sequence[int] | None
Names = str | Iterable[str] | None


def numbers_of(value: Numbers) -> tuple[int, ...]:
    """Convert argument numbers, given as one, as several, or as None, to a tuple."""
    return () if value is None else (value,) if isinstance(value, int) else tuple(value)


def strings_of(value: Names) -> tuple[str, ...]:
    """Convert argument names, given as one, as several, or as None, to a tuple."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def named_after(fun: Callable[..., Any], prefix: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that copies name and documentation from the transformed function."""

    def copy_metadata(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapper = called_as(fun)(wrapper)
        wrapper.__doc__ = f"{prefix} of {wrapper.__name__}. {wrapper.__doc__ or ''}".strip()
        return wrapper

    return copy_metadata
