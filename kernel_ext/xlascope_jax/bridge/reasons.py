"""The reason why jax traced a function again: how the call differs from the most similar earlier one."""

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

#: The maximum number of calls of one function remembered for comparison.
_MOST = 64


class Call(NamedTuple):
    """The observable part of jax's trace cache key: types, their names, structure, static arguments and settings."""

    avals: tuple[Any, ...]
    names: tuple[str, ...]
    structure: Any
    static: dict[str, Any]
    surroundings: tuple[Any, ...]
    #: The names of the positional arguments.
    arguments: tuple[str, ...] = ()


class Why(NamedTuple):
    """The reason of a trace, how to avoid it, and its origin."""

    reason: str
    fix: str = ""
    origin: Origin = "again"


class Reasons:
    """The traced calls of each function, compared with new ones to explain a retrace."""

    def __init__(self) -> None:
        self._calls: weakref.WeakKeyDictionary[Any, list[Call]] = weakref.WeakKeyDictionary()
        self._codes: RecentlyUsed[tuple[str, CodeType], int] = RecentlyUsed(4096)

    def of(self, function: Any, key: Call) -> Why:
        """Return why a call is traced, and how to avoid it.

        The fix is ``""`` if there is none, and for functions of libraries, whose calls the user cannot
        change. A jitted function of jax itself (``jax.random.normal``) counts as an operation run outside of
        jit.
        """
        code = _code_of(function)
        if getattr(function, "_apply_primitive", False) or (code is not None and is_jax(code.co_filename)):
            return Why(OUTSIDE, "", "operation")
        try:
            earlier = self._calls.setdefault(function, [])
        except TypeError:
            return Why(FIRST, "", "first")
        code = code if code is not None and is_users(code.co_filename) else None
        trace_reason = Why(*_differing(earlier, key)) if earlier else self._first(code)
        earlier.append(key)
        del earlier[:-_MOST]
        return trace_reason if code is not None else trace_reason._replace(fix="")

    def _first(self, code: CodeType | None) -> Why:
        if code is None:
            return Why(FIRST, "", "first")
        key = code.co_filename, code
        times = self._codes[key] = (self._codes.get(key) or 0) + 1
        if times < 2:
            return Why(FIRST, "", "first")
        location = f"{title_of(code.co_filename) or os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        return Why(*made_again(code.co_name, times, location))


def _code_of(function: Any) -> CodeType | None:
    """Return the code of the function behind partials and wrappers, or None if there is none."""
    for _ in range(50):
        function = getattr(function, "__wrapped__", None) or getattr(function, "func", None) or function
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and not hasattr(function, "__wrapped__"):
            return code
    return None


def _differing(earlier: Sequence[Call], new: Call) -> tuple[str, str]:
    old = min(reversed(earlier), key=lambda call: _distance(call, new))
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
    removed, added = [name for name in old if name not in new], [name for name in new if name not in old]
    parts = [*(f"{name} is new" for name in added[:3]), *(f"{name} is gone" for name in removed[:3])]
    return "; ".join(parts) or "containers of another kind, or arguments given by name instead of by position"


def _type(aval: Any) -> str:
    text = str(aval.str_short(short_dtypes=True))
    return text + (" (weak)" if getattr(aval, "weak_type", False) else "")
