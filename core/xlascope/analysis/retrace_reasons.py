"""Texts of retrace reasons and fixes, shared by all engines."""

from __future__ import annotations

from typing import Any, Protocol

#: Reasons of the first trace of a function and of a trace outside of any jitted function.
FIRST_CALL, OUTSIDE_JIT = "first call", "run outside of jit"
#: The fix for arguments whose structure has changed.
SAME_STRUCTURE_FIX = "Pass the same arguments in the same way (by position or by name), in the same containers."


class TypeLike(Protocol):
    """Type of an argument: a shape and a dtype, and whether the dtype is weak."""

    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def dtype(self) -> Any: ...


def suggest_fix_for_types(old: TypeLike, new: TypeLike) -> str:
    """Return how to avoid a retrace for an argument whose type has changed."""
    if old.shape != new.shape:
        if len(old.shape) == len(new.shape):
            return "Pad or batch the data to one shape, or expect one trace per shape."
        return "Give the argument the same number of axes in every call."
    if old.dtype != new.dtype:
        return "Convert the argument to one dtype before the call (jnp.asarray(x, dtype))."
    return "Python numbers are weak and arrays are not: pass an array in every call (jnp.asarray(x))."


def type_distance(old: TypeLike, new: TypeLike) -> int:
    """Return how different two types are: 0 for equal ones, more for shapes than for dtypes."""
    shapes = 2 * (old.shape != new.shape) + 4 * (len(old.shape) != len(new.shape))
    return 0 if old == new else 1 + (old.dtype != new.dtype) + shapes


def suggest_fix_for_static(old: Any, new: Any) -> str:
    """Return how to avoid a retrace for a static argument that has changed."""
    if type(old) is type(new) and type(new).__eq__ is _IDENTITY and not isinstance(new, type):
        if callable(new):
            return "Pass the same function object each time: define it once instead of writing a lambda in the call."
        return (
            f"{type(new).__name__} compares by identity: define __eq__ and __hash__ (a frozen dataclass does), or pass "
            "the same object in every call."
        )
    return "Each static value has a program of its own: make the argument an ordinary one if it changes often."


_IDENTITY: Any = object.__eq__


def explain_new_function(name: str, times: int, site: str) -> tuple[str, str]:
    """Return the reason and the fix for a retrace of a function object that was created repeatedly.

    ``name`` is the function's, ``site`` where its code is, and ``times`` how many objects were created from it.
    """
    return (
        f"{name} is a new function object: the {_ordinal(times)} made from the code at {site}, and traces belong to "
        "function objects",
        "Define and jit the function once, outside of the loop or function that makes it, and pass what it closes over "
        "as arguments.",
    )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def shorten(text: str) -> str:
    """Return a text shortened to one line of a message."""
    return text if len(text) <= 80 else text[:77] + "..."
