"""What users call their functions and the arguments of a call, by name and by number."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...trace.source import here


def name_of(function: Any) -> str:
    """The name of a function (of what a partial calls), or of the class of another callable."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def called_as(fun: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the name, documentation and signature of another callable (name and words of what a partial calls)."""
    function = fun
    while isinstance(function, functools.partial):
        function = function.func
    name = name_of(function)

    def called(made: Callable[..., Any]) -> Callable[..., Any]:
        made = functools.wraps(fun, updated=())(made)
        made.__name__, made.__qualname__ = name, getattr(function, "__qualname__", name)
        made.__doc__ = getattr(function, "__doc__", None)
        return made

    return called


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """What the first ``count`` positional arguments of a function are called."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return names[:count] + [f"{rest}[{i}]" for i in range(count - len(names))]


def number_of_arguments(structure: Any) -> int:
    """How many positional arguments a call with arguments of that structure (``((args), {kwargs})``) has."""
    return len(structure.children()[0].children())


def operand_names(function: Callable[..., Any], structure: Any) -> list[str]:
    """What a user calls each operand of a call with arguments of that structure (``((args), {kwargs})``)."""
    return names_of_leaves(parameter_names(function, number_of_arguments(structure)), structure)


def names_of_leaves(names: Sequence[str], structure: Any) -> list[str]:
    """What a user calls each operand, for positional arguments with those names."""
    args, kwargs = structure.unflatten(range(structure.num_leaves))
    found = [names[i] + tree.keystr(path) for i, x in enumerate(args) for path, _ in tree.leaves_with_path(x)]
    return found + [k + tree.keystr(path) for k in sorted(kwargs) for path, _ in tree.leaves_with_path(kwargs[k])]


def places_of(numbers: Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """Argument numbers counted from the front; ValueError for one that is out of range."""
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(f"{what} holds {number}, but {count} arguments were given{here()}")
    return tuple(number % count for number in numbers)
