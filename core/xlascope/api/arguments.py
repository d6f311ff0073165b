"""The arguments that are differentiated: which they are (argnums), and whether they and the results can be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from .. import tree
from ..dtypes import float0, is_differentiable, is_floating
from ..errors import see
from ..ir.sources import locate
from ..trace.source import compose_message, user_line, where_text
from ..trace.tracer import Tracer
from ..trace.values import aval_of, not_an_array
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from .naming import name_of


class Chosen:
    """Which arguments a transformation differentiates: ``argnums`` as users give it."""

    __slots__ = ("argnums", "numbers", "single", "what")

    def __init__(self, what: str, argnums: Any) -> None:
        self.what = what
        self.argnums = argnums
        self.single = isinstance(argnums, SupportsIndex)
        try:
            self.numbers = tuple(i.__index__() for i in ((argnums,) if self.single else argnums))
        except (TypeError, AttributeError):
            raise TypeError(
                f"{what}: argnums has to be an integer or a sequence of integers, "
                f"got {argnums!r} of type {type(argnums).__name__}{at()}"
            ) from None
        if not self.numbers:
            raise ValueError(f"{what}: argnums={argnums!r} chooses no argument to differentiate{at()}")

    def places(self, fun: Callable[..., Any], count: int, too_few: type[Exception] = ValueError) -> tuple[int, ...]:
        """The chosen arguments' places in a call with ``count`` positional arguments."""
        if max(self.numbers) >= count or min(self.numbers) < -count:
            raise (too_few if max(self.numbers) >= count else ValueError)(
                f"{self.what} of {name_of(fun)} with argnums={self.argnums} got only {count} positional arguments{at()}"
                ". Arguments that are given by name are not differentiated."
            )
        places = tuple(i % count for i in self.numbers)
        if len(set(places)) < len(places):
            raise TypeError(f"{self.what} of {name_of(fun)}: argnums={self.argnums} names an argument twice{at()}")
        return places

    def picked(self, trees: Any) -> Any:
        """What belongs to the chosen arguments: one tree, or a tuple of them when several can be chosen."""
        return trees[0] if self.single else trees


def partial_of(
    fun: Callable[..., Any], places: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> Callable[..., Any]:
    """A function of the arguments at those places alone."""

    def partial(*chosen: Any) -> Any:
        given = list(args)
        for i, x in zip(places, chosen, strict=True):
            given[i] = x
        return fun(*given, **kwargs)

    return partial


def at() -> str:
    """`` at file.py:12 (in f)``: the user's line, for a message."""
    return where_text(user_line())


def defined_at(fun: Callable[..., Any]) -> str:
    """`` (defined at file.py:12)``, where the source of a function is known."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    return "" if code is None else f" (defined at {code.co_filename}:{code.co_firstlineno})"


def definition_text(fun: Callable[..., Any]) -> str:
    """Return the line ``f is defined at file.py:12.``, with a line break in front; nothing where it is not known."""
    place = defined_at(fun)
    return f"\n{name_of(fun)} is {place[2:-1]}." if place else ""


def place_text(code: Any, lasti: int) -> str:
    """`` at file.py:12 (in f)`` for an equation's place in the source."""
    return where_text(locate(code, lasti))


def kind_of(value: Any) -> str:
    """What a message calls something that a function returned."""
    if value is None:
        return "None"
    if isinstance(value, (Tracer, ArrayImpl, KeyArray)):
        return "an array"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")


def require_callable(what: str, fun: Any) -> None:
    """Raise TypeError for something that cannot be called."""
    if not callable(fun):
        raise TypeError(f"{what} takes a function, got {fun!r} of type {type(fun).__name__}{at()}")


def leaf_name(structure: Any, places: Sequence[int], index: int) -> str:
    """What a user calls leaf ``index`` of a tuple of arguments at those places: ``argument 0['w'][1]``."""
    path = tree.leaves_with_path(structure.unflatten(range(structure.num_leaves)))[index][0]
    return f"argument {places[path[0].idx]}{tree.keystr(path[1:])}"


def require_differentiable(
    what: str,
    fun: Callable[..., Any],
    operands: Sequence[Any],
    structure: Any,
    places: Sequence[int],
    *,
    holomorphic: bool,
    allow_int: bool = False,
    only_real: bool = False,
) -> None:
    """Raise TypeError naming the first leaf of the chosen arguments that cannot be differentiated."""
    for index, x in enumerate(operands):
        try:
            dtype = aval_of(x).dtype
        except TypeError:
            name = leaf_name(structure, places, index)
            raise not_an_array(x, f"{name} of {name_of(fun)}, to be differentiated,") from None
        complaint = _complaint(dtype, holomorphic, allow_int, only_real)
        if complaint:
            name = f"{leaf_name(structure, places, index)} of {name_of(fun)}"
            shown = "float0" if dtype == float0 else dtype.name
            more = "" if is_differentiable(dtype) else see("grad-of-integers")
            said, _, fix = complaint.format(name=name, dtype=shown).partition("\n")
            raise TypeError(compose_message(f"{what} {said}", fix) + more)


def _complaint(dtype: Any, holomorphic: bool, allow_int: bool, only_real: bool) -> str | None:
    if holomorphic:
        return None if dtype.kind == "c" else "with holomorphic=True takes complex inputs, but {name} has dtype {dtype}"
    if not is_differentiable(dtype):
        if allow_int and dtype != float0:
            return None
        return (
            "takes inputs of floating-point type, but {name} has dtype {dtype}.\n"
            "Pass a floating-point number (3.0 for 3, x.astype(float) for an array), or differentiate with respect to "
            "another argument (argnums)." + ("" if only_real else " allow_int=True gives zeros of dtype float0 for it.")
        )
    if only_real and dtype.kind == "c":
        return "of a complex argument ({name}) needs holomorphic=True; for functions that are not, use jvp"
    return None


def require_result_dtype(what: str, fun: Callable[..., Any], dtype: Any, holomorphic: bool) -> None:
    """Raise TypeError unless results of that dtype can be differentiated: real ones, complex ones if holomorphic."""
    place = defined_at(fun)
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(
                f"{what} with holomorphic=True takes a function with a complex result, but {name_of(fun)}{place} "
                f"returned {dtype.name}{at()}"
            )
    elif not is_floating(dtype):
        fix = "pass holomorphic=True if it is, else use vjp" if dtype.kind == "c" else "for other results use vjp"
        raise TypeError(
            f"{what} takes a function with a real floating-point result, but {name_of(fun)}{place} returned "
            f"{dtype.name}{at()}: {fix}"
        )
