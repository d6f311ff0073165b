"""Why jax traced a function again: what differs from the nearest earlier call of it, in our cards' words."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from xlascope.analysis.retrace_words import (
    FIRST,
    OUTSIDE,
    SAME_STRUCTURE,
    fix_for_static,
    fix_for_types,
    how_far,
    made_again,
    shortened,
)
from xlascope.analysis.static_metadata import argument_metadata
from xlascope.ir.sources import title_of
from xlascope.recent import RecentlyUsed
from xlascope.records import Origin

from .lines import is_jax, is_users

#: Of one function, how many calls are remembered to compare with.
_MOST = 64


class Call(NamedTuple):
    """What jax keys a trace by, as far as a reader can be told: types, their names, structure, static arguments."""

    avals: tuple[Any, ...]
    names: tuple[str, ...]
    structure: Any
    static: dict[str, Any]
    surroundings: tuple[Any, ...]
    #: What the arguments given by position are called.
    arguments: tuple[str, ...] = ()


class Why(NamedTuple):
    """Why a function was traced, what would have spared it, and what it was traced for."""

    reason: str
    fix: str = ""
    origin: Origin = "again"


class Reasons:
    """Remembers the calls that were traced, and says of a new one why the earlier did not serve."""

    def __init__(self) -> None:
        self._calls: weakref.WeakKeyDictionary[Any, list[Call]] = weakref.WeakKeyDictionary()
        self._codes: RecentlyUsed[tuple[str, CodeType], int] = RecentlyUsed(4096)

    def of(self, function: Any, call: Call) -> Why:
        """Return why a call is traced, and what would have spared the trace.

        ``""`` where nothing would, and of a library's function: how that is called is not its user's to change. One of
        jax's own (``jax.random.normal``) is an operation to its user, run outside of jit.
        """
        code = _code_of(function)
        if getattr(function, "_apply_primitive", False) or (code is not None and is_jax(code.co_filename)):
            return Why(OUTSIDE, "", "operation")
        try:
            earlier = self._calls.setdefault(function, [])
        except TypeError:
            return Why(FIRST, "", "first")
        code = code if code is not None and is_users(code.co_filename) else None
        why = Why(*_differing(earlier, call)) if earlier else self._first(code)
        earlier.append(call)
        del earlier[:-_MOST]
        return why if code is not None else why._replace(fix="")

    def _first(self, code: CodeType | None) -> Why:
        if code is None:
            return Why(FIRST, "", "first")
        key = code.co_filename, code
        times = self._codes[key] = (self._codes.get(key) or 0) + 1
        if times < 2:
            return Why(FIRST, "", "first")
        place = f"{title_of(code.co_filename) or os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        return Why(*made_again(code.co_name, times, place))


def _code_of(function: Any) -> CodeType | None:
    """The code of the function behind partials and wrappers; None where there is none."""
    for _ in range(50):
        function = getattr(function, "__wrapped__", None) or getattr(function, "func", None) or function
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and not hasattr(function, "__wrapped__"):
            return code
    return None


def _differing(earlier: Sequence[Call], new: Call) -> tuple[str, str]:
    old = min(reversed(earlier), key=lambda other: _distance(other, new))
    changes = [*_changes(old, new)]
    if not changes:
        return "the earlier trace was not kept, or depended on something else that changed (a setting, a mesh)", ""
    return "; ".join(text for text, _ in changes), " ".join(dict.fromkeys(fix for _, fix in changes))


def _distance(old: Call, new: Call) -> int:
    static = sum(old.static.get(name) != value for name, value in new.static.items())
    if old.structure != new.structure or len(old.avals) != len(new.avals):
        return 1_000_000 + static
    return static + sum(how_far(a, b) for a, b in zip(old.avals, new.avals, strict=True))


def _changes(old: Call, new: Call) -> Iterator[tuple[str, str]]:
    if old.structure != new.structure or len(old.avals) != len(new.avals):
        metadata = argument_metadata(old.structure, new.structure, new.arguments)
        yield metadata or (f"the structure of the arguments changed: {_named(old.names, new.names)}", SAME_STRUCTURE)
    else:
        for name, was, now in zip(new.names, old.avals, new.avals, strict=True):
            if was != now:
                yield f"{name}: {_type(was)} → {_type(now)}", fix_for_types(was, now)
    for name, value in new.static.items():
        before = old.static.get(name)
        if before != value:
            was = shortened(repr(before)) if name in old.static else "(not given)"
            text = f"the static argument {name}: {was} → {shortened(repr(value))}"
            yield text, fix_for_static(before, value)
    for was, now in zip(old.surroundings, new.surroundings, strict=True):
        if was != now:
            yield (
                f"a setting changed: {shortened(str(was))} → {shortened(str(now))}",
                "Set it once, before the first call.",
            )


def _named(old: Sequence[str], new: Sequence[str]) -> str:
    gone, come = [each for each in old if each not in new], [each for each in new if each not in old]
    told = [*(f"{each} is new" for each in come[:3]), *(f"{each} is gone" for each in gone[:3])]
    return "; ".join(told) or "containers of another kind, or arguments given by name instead of by position"


def _type(aval: Any) -> str:
    text = str(aval.str_short(short_dtypes=True))
    return text + (" (weak)" if getattr(aval, "weak_type", False) else "")
