"""Why a function was traced again, in words: those that every engine's traces are told in."""

from __future__ import annotations

from typing import Any, Protocol

#: The first trace of a function, and one of what was run outside of any jitted function.
FIRST, OUTSIDE = "first call", "run outside of jit"
#: The way out where the arguments have another structure than before.
SAME_STRUCTURE = "Pass the same arguments in the same way (by position or by name), in the same containers."


class Typed(Protocol):
    """The type of an argument: a shape and a dtype, and whether the dtype is weak."""

    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def dtype(self) -> Any: ...


def fix_for_types(old: Typed, new: Typed) -> str:
    """What spares a trace for an argument whose type has changed."""
    if old.shape != new.shape:
        if len(old.shape) == len(new.shape):
            return "Pad or batch the data to one shape, or expect one trace per shape."
        return "Give the argument the same number of axes in every call."
    if old.dtype != new.dtype:
        return "Convert the argument to one dtype before the call (jnp.asarray(x, dtype))."
    return "Python numbers are weak and arrays are not: pass an array in every call (jnp.asarray(x))."


def how_far(old: Typed, new: Typed) -> int:
    """How different two types are: 0 for equal ones."""
    shapes = 2 * (old.shape != new.shape) + 4 * (len(old.shape) != len(new.shape))
    return 0 if old == new else 1 + (old.dtype != new.dtype) + shapes


def fix_for_static(old: Any, new: Any) -> str:
    """What spares a trace for a static argument that has changed."""
    if type(old) is type(new) and type(new).__eq__ is _IDENTITY and not isinstance(new, type):
        if callable(new):
            return "Pass the same function object each time: define it once instead of writing a lambda in the call."
        return (
            f"{type(new).__name__} compares by identity: define __eq__ and __hash__ (a frozen dataclass does), or pass "
            "the same object in every call."
        )
    return "Each static value has a program of its own: make the argument an ordinary one if it changes often."


_IDENTITY: Any = object.__eq__


def made_again(name: str, times: int, place: str) -> tuple[str, str]:
    """The reason and the way out where a function object was made again of the same code, ``times`` times by now."""
    return (
        f"{name} is a new function object: the {_ordinal(times)} made from the code at {place}, and traces belong to "
        "function objects",
        "Define and jit the function once, outside of the loop or function that makes it, and pass what it closes over "
        "as arguments.",
    )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def shortened(text: str) -> str:
    """A text that fits into a line of a message."""
    return text if len(text) <= 80 else text[:77] + "..."
