"""From a user's function to a program that an operation can hold: flat, typed, with what it closes over in front."""

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
    """A program, the values that it closes over, and the structure of its results."""

    program: ClosedJaxpr
    structure: Any

    @property
    def consts(self) -> list[Any]:
        """The values that the function closes over: leading operands of :attr:`opened`."""
        return self.program.consts

    @property
    def opened(self) -> ClosedJaxpr:
        """The program with what it closes over as leading operands."""
        return without_constants(self.program)


_kept: weakref.WeakKeyDictionary[Callable[..., Any], RecentlyUsed[Any, Body]] = weakref.WeakKeyDictionary()
_MOST_FUNCTIONS, _MOST_BODIES = 1024, 256


def body_of(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray]) -> Body:
    """The program of a function for arguments of that structure and those types.

    It is kept with the function, so that a loop that is run again is not traced and compiled again; a callable of ours
    around a user's function says which in ``user_function``.
    """
    changes = boot.process_changes.value
    key = (type(function), structure, tuple(avals), settings_of_trace())
    kept = _kept_with(getattr(function, "user_function", function))
    found = kept.get(key)
    if found is None:
        found = staged(function, structure, avals)
        is_of_one_setting = boot.unchanged_since(changes)
        if is_of_one_setting and not any(isinstance(c, Tracer) for c in found.consts):
            kept[key] = found
    return found


def staged(function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray], name: str = "") -> Body:
    """The program of a function for arguments of that structure and those types, made anew.

    Raises TypeError for a result that is no array.
    """
    name = name or name_of(function)
    structures: list[Any] = []

    def flat(*operands: Any) -> list[Any]:
        results, out = tree.flatten(function(*structure.unflatten(operands)))
        structures.append(out)
        return check_results(name, results, out)

    program = stage(flat, avals, name)
    return Body(program, structures[0])


def _kept_with(function: Callable[..., Any]) -> RecentlyUsed[Any, Body]:
    try:
        return kept_with(_kept, function, lambda: RecentlyUsed(_MOST_BODIES), _MOST_FUNCTIONS)
    except TypeError:  # a callable that cannot be weakly referenced or hashed is traced each time
        return RecentlyUsed(_MOST_BODIES)


def forget_bodies() -> None:
    """Forget the programs of all functions, and with them what was derived from them and compiled."""
    _kept.clear()
    forget_programs()


def alike(bodies: Sequence[Body]) -> tuple[list[Any], list[ClosedJaxpr]]:
    """The values that several functions close over, each once, and their programs with all of them in front."""
    everything = list({id(c): c for body in bodies for c in body.consts}.values())
    keeper = youngest([body.program for body in bodies])
    return everything, [_padded(body, everything, keeper) for body in bodies]


def _padded(body: Body, everything: Sequence[Any], keeper: ClosedJaxpr) -> ClosedJaxpr:
    """A body's program with operands for all of ``everything`` in front."""
    if len(body.consts) == len(everything) and all(a is b for a, b in zip(body.consts, everything, strict=True)):
        return body.opened
    key = ("padded", body.program, tuple(id(c) for c in everything))
    found = keeper.derived.get(key)
    if found is None:
        jaxpr = body.program.jaxpr
        own = {id(c): v for c, v in zip(body.consts, jaxpr.constvars, strict=True)}
        leading = [own[id(c)] if id(c) in own else Var(aval_of(c)) for c in everything]
        padded = ClosedJaxpr(Jaxpr((), [*leading, *jaxpr.invars], jaxpr.outvars, jaxpr.raw, jaxpr.name))
        made = intern_program(padded)
        found = keeper.derived[key] = made, everything  # an id must not be given out again while it is a key
    return found[0]
