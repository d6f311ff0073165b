"""Names of functions, and of their arguments and operands, for messages and jaxprs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from ... import tree
from ...ir.user_frames import is_library, title_of
from ...trace.source import here


def name_of(function: Any) -> str:
    """Return the name of a function (for a partial, of the function it calls), or of a callable's class."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__


def code_of(function: Any) -> CodeType | None:
    """Return the code of the function that a partial, or a wrapper with ``__wrapped__``, calls; None if it has none."""
    while (inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None)) is not None:
        function = inner
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def defined_at(function: Any) -> str:
    """Return `` (defined at file.py:12)`` for messages; "" for a function of the library or without Python code."""
    code = code_of(function)
    if code is None or is_library[code.co_filename]:
        return ""
    return f" (defined at {title_of(code.co_filename) or code.co_filename}:{code.co_firstlineno})"


def definition_text(function: Any) -> str:
    """Return a further line of a message, ``f is defined at file.py:12.`` after a line break; "" if it is not known."""
    definition = defined_at(function)
    return f"\n{name_of(function)} is {definition[2:-1]}." if definition else ""


def copy_function_metadata(source: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a function the name, documentation and signature of ``source``.

    Name and documentation of a partial are those of the function it calls.
    """
    unwrapped = source
    while isinstance(unwrapped, functools.partial):
        unwrapped = unwrapped.func
    name = name_of(unwrapped)

    def copy_metadata(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapper = functools.wraps(source, updated=())(wrapper)
        wrapper.__name__, wrapper.__qualname__ = name, getattr(unwrapped, "__qualname__", name)
        wrapper.__doc__ = getattr(unwrapped, "__doc__", None)
        return wrapper

    return copy_metadata


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return the names of the first ``count`` positional arguments of a function, such as ``x`` or ``args[1]``."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    varargs_name = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return names[:count] + [f"{varargs_name}[{i}]" for i in range(count - len(names))]


def count_arguments(structure: Any) -> int:
    """Return the number of positional arguments, given the structure of ``(args, kwargs)``."""
    return len(structure.children()[0].children())


def operand_names(function: Callable[..., Any], structure: Any) -> list[str]:
    """Return the name of each leaf of a call's arguments, such as ``params['w']``.

    ``structure`` is that of ``(args, kwargs)``.
    """
    return names_of_leaves(parameter_names(function, count_arguments(structure)), structure)


def names_of_leaves(names: Sequence[str], structure: Any) -> list[str]:
    """Return the name of each leaf of ``(args, kwargs)``, such as ``params['w']``.

    ``names`` are those of the positional arguments, ``structure`` is that of ``(args, kwargs)``.
    """
    args, kwargs = structure.unflatten(range(structure.num_leaves))
    positional_names = [
        names[i] + tree.keystr(path) for i, x in enumerate(args) for path, _ in tree.leaves_with_path(x)
    ]
    return positional_names + [
        k + tree.keystr(path) for k in sorted(kwargs) for path, _ in tree.leaves_with_path(kwargs[k])
    ]


def normalize_argnums(numbers: Sequence[int], count: int, description: str) -> tuple[int, ...]:
    """Return argument numbers counted from the front, for a call with ``count`` positional arguments.

    Raises ValueError for one that is out of range; ``description`` names the numbers in the message.
    """
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(f"{description} holds {number}, but {count} arguments were given{here()}")
    return tuple(number % count for number in numbers)
