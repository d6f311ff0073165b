"""Staging of a user's function to a flat, typed program whose closed-over values are leading operands."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...lru_cache import LRUCache, get_or_create
from ...runtime import boot
from ...trace.jaxpr_trace import stage
from ...trace.tracer import TracerBase
from ...trace.values import aval_of
from .function_names import name_of
from .interning import forget_programs, intern_program, settings_of_trace
from .program_rewrites import convert_constvars_to_operands, latest_program
from .values import check_results


class Body(NamedTuple):
    """The program of a function, with its closed-over values as constants, and the structure of its results."""

    program: ClosedJaxpr
    structure: Any

    @property
    def consts(self) -> list[Any]:
        """Return the closed-over values: the leading operands of :attr:`program_with_const_operands`."""
        return self.program.consts

    @property
    def program_with_const_operands(self) -> ClosedJaxpr:
        """Return the program with its constants as leading operands."""
        return convert_constvars_to_operands(self.program)


_bodies_by_function: weakref.WeakKeyDictionary[Callable[..., Any], LRUCache[Any, Body]] = weakref.WeakKeyDictionary()
_MAX_FUNCTIONS, _MAX_BODIES_PER_FUNCTION = 1024, 256


def get_body(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray]) -> Body:
    """Return the program of a function for arguments of that structure and those types, from the cache if it is there.

    ``structure`` is that of the tuple of positional arguments. The program is cached as long as the function lives,
    so a loop that runs again is not traced and compiled again. A callable of this package that wraps a user's
    function names it in ``user_function``, and is cached with it.
    """
    changes = boot.process_changes.value
    key = (type(function), structure, tuple(avals), settings_of_trace())
    cache = _get_body_cache(getattr(function, "user_function", function))
    body = cache.get(key)
    if body is None:
        body = stage_body(function, structure, avals)
        settings_unchanged = boot.unchanged_since(changes)
        if settings_unchanged and not any(isinstance(c, TracerBase) for c in body.consts):
            cache[key] = body
    return body


def stage_body(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], name: str = "") -> Body:
    """Trace a function to a program for arguments of that structure and those types, without a cache.

    ``structure`` is that of the tuple of positional arguments; ``name`` is the program's, by default the function's.
    Raises TypeError for a result that is not an array.
    """
    name = name or name_of(function)
    structures: list[Any] = []

    def flat_function(*operands: Any) -> list[Any]:
        results, out_structure = tree.flatten(function(*structure.unflatten(operands)))
        structures.append(out_structure)
        return check_results(name, results, out_structure, function=function)

    program = stage(flat_function, avals, name)
    return Body(program, structures[0])


def _get_body_cache(function: Callable[..., Any]) -> LRUCache[Any, Body]:
    """Return the cache of a function's programs, by (callable's class, structure, types, settings)."""
    try:
        return get_or_create(_bodies_by_function, function, lambda: LRUCache(_MAX_BODIES_PER_FUNCTION), _MAX_FUNCTIONS)
    except TypeError:  # a callable that cannot be weakly referenced or hashed is traced each time
        return LRUCache(_MAX_BODIES_PER_FUNCTION)


def forget_bodies() -> None:
    """Clear the cached programs of all functions, and with them everything derived and compiled from them."""
    _bodies_by_function.clear()
    forget_programs()


def hoist_common_consts(bodies: Sequence[Body]) -> tuple[list[Any], list[ClosedJaxpr]]:
    """Return the distinct constants of several functions, and programs that all take them as leading operands.

    The programs take the same operands, as the branches of a cond have to.
    """
    all_consts = list({id(c): c for body in bodies for c in body.consts}.values())
    owner = latest_program([body.program for body in bodies])
    return all_consts, [_pad_consts(body, all_consts, owner) for body in bodies]


def _pad_consts(body: Body, all_consts: Sequence[Any], owner: ClosedJaxpr) -> ClosedJaxpr:
    """Return a body's program with leading operands for ``all_consts``, some of which are its constants.

    The result is cached in ``owner.derived``.
    """
    if len(body.consts) == len(all_consts) and all(a is b for a, b in zip(body.consts, all_consts, strict=True)):
        return body.program_with_const_operands
    key = ("padded", body.program, tuple(id(c) for c in all_consts))
    entry = owner.derived.get(key)
    if entry is None:
        jaxpr = body.program.jaxpr
        constvar_of = {id(c): v for c, v in zip(body.consts, jaxpr.constvars, strict=True)}
        leading = [constvar_of[id(c)] if id(c) in constvar_of else Var(aval_of(c)) for c in all_consts]
        padded = ClosedJaxpr(Jaxpr((), [*leading, *jaxpr.invars], jaxpr.outvars, jaxpr.raw, jaxpr.name))
        interned = intern_program(padded)
        entry = owner.derived[key] = interned, all_consts  # keeps the constants alive while their ids are in the key
    return entry[0]
