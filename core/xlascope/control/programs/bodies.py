"""Staging of a user's function to a flat, typed program whose closed-over values are leading operands."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from ...recent import RecentlyUsed, kept_with
from ...runtime import boot
from ...trace.jaxpr_trace import stage
from ...trace.tracer import Tracer
from ...trace.values import aval_of
from .interning import forget_programs, intern_program, settings_of_trace
from .names import name_of
from .rearranged import without_constants, youngest
from .values import check_results


class Body(NamedTuple):
    """A program with the values that it closes over as constants, and the structure of its results."""

    program: ClosedJaxpr
    structure: Any

    @property
    def consts(self) -> list[Any]:
        """Return the closed-over values: the leading operands of :attr:`program_with_const_operands`."""
        return self.program.consts

    @property
    def opened(self) -> ClosedJaxpr:
        """Return the program with its constants as leading operands."""
        return without_constants(self.program)


_kept: weakref.WeakKeyDictionary[Callable[..., Any], RecentlyUsed[Any, Body]] = weakref.WeakKeyDictionary()
_MOST_FUNCTIONS, _MOST_BODIES = 1024, 256


def body_of(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray]) -> Body:
    """Return the cached program of a function for arguments of that structure and those types.

    It is cached with the function, so a loop that runs again is not traced and compiled again. A callable of this
    package that wraps a user's function names it in ``user_function``.
    """
    changes = boot.process_changes.value
    key = (type(function), structure, tuple(avals), settings_of_trace())
    cache = _kept_with(getattr(function, "user_function", function))
    body = cache.get(key)
    if body is None:
        body = staged(function, structure, avals)
        settings_unchanged = boot.unchanged_since(changes)
        if settings_unchanged and not any(isinstance(c, Tracer) for c in body.consts):
            cache[key] = body
    return body


def staged(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], name: str = "") -> Body:
    """Trace a function to a program for arguments of that structure and those types, without a cache.

    Raises TypeError for a result that is not an array.
    """
    name = name or name_of(function)
    structures: list[Any] = []

    def flat_function(*operands: Any) -> list[Any]:
        results, out_structure = tree.flatten(function(*structure.unflatten(operands)))
        structures.append(out_structure)
        return check_results(name, results, out_structure)

    program = stage(flat_function, avals, name)
    return Body(program, structures[0])


def _kept_with(function: Callable[..., Any]) -> RecentlyUsed[Any, Body]:
    try:
        return kept_with(_kept, function, lambda: RecentlyUsed(_MOST_BODIES), _MOST_FUNCTIONS)
    except TypeError:  # a callable that cannot be weakly referenced or hashed is traced each time
        return RecentlyUsed(_MOST_BODIES)


def forget_bodies() -> None:
    """Clear the cached programs of all functions, and everything that is derived and compiled from them."""
    _kept.clear()
    forget_programs()


def alike(bodies: Sequence[Body]) -> tuple[list[Any], list[ClosedJaxpr]]:
    """Return the distinct constants of several functions, and programs that all take them as leading operands."""
    all_consts = list({id(c): c for body in bodies for c in body.consts}.values())
    owner = youngest([body.program for body in bodies])
    return all_consts, [_padded(body, all_consts, owner) for body in bodies]


def _padded(body: Body, all_consts: Sequence[Any], owner: ClosedJaxpr) -> ClosedJaxpr:
    """Return a body's program with leading operands for all constants in ``all_consts``."""
    if len(body.consts) == len(all_consts) and all(a is b for a, b in zip(body.consts, all_consts, strict=True)):
        return body.opened
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
