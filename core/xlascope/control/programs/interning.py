"""Cache of programs by their content: equal programs are one object.

A function that is made anew at each call (a lambda in a loss, the rule of a function) is traced anew, and its
program is equal to that of the call before. Everything that is derived from a program lives with it, its
executable included. So outside of any staging an operation holds the equal program that was recorded first,
and nothing is compiled again.

Programs are equal when they apply equal operations to the same values, for the same lines of the user's code.
A program that holds a Python function (a callback, a user's rule) or an array is equal only to itself.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ...cache_keys import cache_key
from ...ir.jaxpr import ClosedJaxpr, Literal, Var
from ...ir.operation import Operation
from ...ir.user_frames import find_position
from ...lru_cache import FastLRUCache
from ...runtime import boot
from ...trace.state import STATE
from ...xla.sharding.meshes import current_mesh

_MAX_PROGRAMS = 256
#: The programs recorded first, by their content. They have no constants, so no arrays are held.
_programs: FastLRUCache[Hashable, ClosedJaxpr] = FastLRUCache(_MAX_PROGRAMS)
#: Key of the result in a program's ``derived``, and the value that stands for the program itself.
_INTERNED, _IS_CANONICAL = "interned", object()


class _NotComparableError(Exception):
    """Error for a program or an operation that is equal only to itself."""


def intern_program(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the equal program that was recorded first, or the program itself if there is none.

    During staging the program itself is returned, because the outer program is compiled as a whole.
    """
    if STATE.trace is not None and STATE.trace.staging:
        return program
    canonical: Any = program.derived.get(_INTERNED)
    if canonical is None:
        canonical = _find_equal(program)
        program.derived[_INTERNED] = _IS_CANONICAL if canonical is program else canonical
    return program if canonical is _IS_CANONICAL else canonical


def _find_equal(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the equal program that was recorded first; record this one and return it if there is none."""
    try:
        key = _program_key(program)
        return _programs.get(key) or _programs.promote(key) or _programs.insert(key, program)
    except (_NotComparableError, TypeError):  # TypeError: a parameter that has no hash
        return program


def forget_programs() -> None:
    """Clear the cache, and everything that is derived and compiled from its programs."""
    _programs.clear()


def settings_of_trace() -> Hashable:
    """Return the settings that a trace depends on besides the function and its arguments, as part of a cache key.

    They include the bound axis names, which of them are checked, and the current mesh.
    """
    return boot.enable_x64.value, boot.settings_of_traces(), STATE.axes, STATE.checked_axes, current_mesh()


def _program_key(program: ClosedJaxpr) -> Hashable:
    """Return a key that is equal for equal programs; raise _NotComparableError if the program has none."""
    if program.consts:
        raise _NotComparableError
    jaxpr = program.jaxpr
    numbers = {id(v): i for i, v in enumerate(jaxpr.invars)}
    key: list[Any] = [settings_of_trace(), jaxpr.name, tuple([v.aval for v in jaxpr.invars])]
    for operation, inputs, outputs, code, lasti, origin in jaxpr.raw:
        # The cached program holds the code object, so its id is not reused.
        key += (_operation_key(operation), id(code), find_position(code, lasti))
        key += [numbers[id(x)] if x.__class__ is not Literal else _literal_key(x) for x in inputs]
        for v in outputs:
            numbers[id(v)] = len(numbers)
            key.append(v.aval)
        if origin is not None:
            if not (origin.forward is None or origin.forward.__class__ is Var):
                raise _NotComparableError  # the key would keep an array of a recording alive
            position = find_position(origin.code, origin.lasti)
            key += (origin.role, origin.scope, id(origin.code), position, numbers.get(id(origin.forward)))
    key += [numbers[id(x)] if x.__class__ is not Literal else _literal_key(x) for x in jaxpr.outvars]
    return tuple(key)


def _literal_key(literal: Literal) -> Hashable:
    value = literal.val
    return (value.tobytes() if isinstance(value, np.generic) else cache_key(value)), literal.aval


def _operation_key(operation: Operation) -> Hashable:
    content = operation.content()
    if content is None:
        raise _NotComparableError
    return (operation.__class__, *map(_value_key, content)) if operation.composite else operation


def _value_key(value: Any) -> Hashable:
    if isinstance(value, ClosedJaxpr):
        return intern_program(value)
    if isinstance(value, tuple):
        return value.__class__, *map(_value_key, value)
    return cache_key(value)
