"""Objects that a function refers to: they have the same attributes after a question, however often it ran."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .user_location import is_installed

#: Most objects whose attributes are restored: those that are named, and those that are attributes of them.
MAX_OBJECTS = 200
_WITHOUT_STATE = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)


@contextmanager
def attributes_restored(values: Iterable[Any]) -> Iterator[None]:
    """Restore the attributes of objects after a ``with`` block, and the lists and dicts that are attributes.

    A method that is traced may store traced values in its object, which are of no use afterwards, and one that is
    measured would train its model some thousand times. ``values`` may be anything; functions have no state.
    """
    objects = _find_objects(values)
    saved = [(vars(item), dict(vars(item))) for item in objects]
    containers = [value for _, attributes in saved for value in attributes.values() if type(value) in (list, dict)]
    contents = [(container, container.copy()) for container in containers]
    try:
        yield
    finally:
        for attributes, before in (*saved, *((item, copy) for item, copy in contents if type(item) is dict)):
            if not _is_same(attributes, before):
                attributes.clear()
                attributes.update(before)
        for container, before in contents:
            if type(container) is list and not _has_same_items(container, before):
                container[:] = before


def _find_objects(values: Iterable[Any]) -> list[Any]:
    """Return objects with attributes among these values, and among the attributes of these objects."""
    objects: dict[int, Any] = {}
    waiting = list(values)
    while waiting and len(objects) < MAX_OBJECTS:
        value = waiting.pop()
        if id(value) not in objects and _has_state(value):
            objects[id(value)] = value
            waiting += vars(value).values()
    return list(objects.values())


def _has_state(value: Any) -> bool:
    """Return whether a value is an object of one of the user's classes that has attributes; no array, no function."""
    if isinstance(value, _WITHOUT_STATE) or not _is_of_user(type(value)):
        return False
    return type(getattr(value, "__dict__", None)) is dict and not hasattr(value, "dtype")


def _is_of_user(kind: type) -> bool:
    """Return whether a class is defined in the program, not in an installed library, whose objects are left alone."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "__main__" if file is None else not is_installed[file]


def _is_same(attributes: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return attributes.keys() == before.keys() and _has_same_items(list(attributes.values()), list(before.values()))


def _has_same_items(items: list[Any], before: list[Any]) -> bool:
    return len(items) == len(before) and all(one is other for one, other in zip(items, before, strict=True))


def find_referenced_values(function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    """Return what a call refers to: the object of a method, arguments, and globals and enclosing variables by name."""
    values: list[Any] = [function, *args]
    while isinstance(function, (functools.partial, MethodType)):
        if isinstance(function, MethodType):
            values.append(function.__self__)
            function = function.__func__
        else:
            values += [*function.args, *function.keywords.values()]
            function = function.func
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, FunctionType):
        values += [function.__globals__.get(name) for name in _iter_names(function.__code__)]
        values += [cell.cell_contents for cell in function.__closure__ or () if _has_content(cell)]
    return values


def _iter_names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a function's code, and in functions inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _iter_names(constant)


def _has_content(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a variable that has no value yet
        return False
