"""Argument numbers and names, and wrapper metadata, shared by the transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..control.programs.function_names import copy_function_metadata
from ..control.programs.function_names import name_of as name_of

ArgNums = int | Sequence[int] | None
ArgNames = str | Iterable[str] | None


def to_argnums(value: ArgNums) -> tuple[int, ...]:
    """Convert argument numbers, given as one, as several, or as None, to a tuple."""
    return () if value is None else (value,) if isinstance(value, int) else tuple(value)


def to_argnames(value: ArgNames) -> tuple[str, ...]:
    """Convert argument names, given as one, as several, or as None, to a tuple."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def wraps(fun: Callable[..., Any], prefix: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that copies the metadata of ``fun``; ``{prefix} of {name}.`` begins the documentation."""

    def copy_metadata(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapper = copy_function_metadata(fun)(wrapper)
        wrapper.__doc__ = f"{prefix} of {wrapper.__name__}. {wrapper.__doc__ or ''}".strip()
        return wrapper

    return copy_metadata
