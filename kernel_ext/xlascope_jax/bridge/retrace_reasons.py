"""The reason why jax traced a function again: how the call differs from the most similar earlier one."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from xlascope.analysis.retrace_reasons import (
    FIRST_CALL,
    OUTSIDE_JIT,
    SAME_STRUCTURE_FIX,
    explain_new_function,
    shorten,
    suggest_fix_for_static,
    suggest_fix_for_types,
    type_distance,
)
from xlascope.analysis.static_metadata import argument_metadata
from xlascope.ir.user_frames import title_of
from xlascope.lru_cache import LRUCache
from xlascope.records import Origin

from .source_lines import is_jax_file, is_user_file

#: The maximum number of calls of one function remembered for comparison.
_MAX_REMEMBERED_CALLS = 64


class TraceKey(NamedTuple):
    """Observable part of jax's trace cache key of one call.

    ``avals`` and ``names`` are those of the array arguments, ``structure`` is their treedef, ``static`` has the
    static arguments by name, and ``surroundings`` are settings such as the mesh.
    """

    avals: tuple[Any, ...]
    names: tuple[str, ...]
    structure: Any
    static: dict[str, Any]
    surroundings: tuple[Any, ...]
    #: The names of the positional arguments.
    arguments: tuple[str, ...] = ()


class TraceReason(NamedTuple):
    """Reason of a trace, how to avoid it (``""`` if there is no way), and its origin: first, again, or an operation."""

    reason: str
    fix: str = ""
    origin: Origin = "again"


class RetraceExplainer:
    """Traced calls of each function, with which new ones are compared to explain a retrace.

    They are stored until the function is garbage-collected, the last ``_MAX_REMEMBERED_CALLS`` of each.
    """

    def __init__(self) -> None:
        self._calls: weakref.WeakKeyDictionary[Any, list[TraceKey]] = weakref.WeakKeyDictionary()
        self._definition_counts: LRUCache[tuple[str, CodeType], int] = LRUCache(4096)

    def explain(self, function: Any, key: TraceKey) -> TraceReason:
        """Return why a call of ``function`` is traced, and how to avoid it; the call is stored for later comparisons.

        The fix is ``""`` if there is none, and for functions of libraries, whose calls the user cannot change. A
        jitted function of jax itself (``jax.random.normal``) counts as an operation run outside of jit.
        """
        code = _code_of(function)
        if getattr(function, "_apply_primitive", False) or (code is not None and is_jax_file(code.co_filename)):
            return TraceReason(OUTSIDE_JIT, "", "operation")
        try:
            earlier = self._calls.setdefault(function, [])
        except TypeError:
            return TraceReason(FIRST_CALL, "", "first")
        code = code if code is not None and is_user_file(code.co_filename) else None
        trace_reason = TraceReason(*_explain_difference(earlier, key)) if earlier else self._explain_first_trace(code)
        earlier.append(key)
        del earlier[:-_MAX_REMEMBERED_CALLS]
        return trace_reason if code is not None else trace_reason._replace(fix="")

    def _explain_first_trace(self, code: CodeType | None) -> TraceReason:
        if code is None:
            return TraceReason(FIRST_CALL, "", "first")
        key = code.co_filename, code
        times = self._definition_counts[key] = (self._definition_counts.get(key) or 0) + 1
        if times < 2:
            return TraceReason(FIRST_CALL, "", "first")
        location = f"{title_of(code.co_filename) or os.path.basename(code.co_filename)}:{code.co_firstlineno}"
        return TraceReason(*explain_new_function(code.co_name, times, location))


def _code_of(function: Any) -> CodeType | None:
    """Return the code of the function behind partials and wrappers, or None if there is none."""
    for _ in range(50):
        function = getattr(function, "__wrapped__", None) or getattr(function, "func", None) or function
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and not hasattr(function, "__wrapped__"):
            return code
    return None


def _explain_difference(earlier: Sequence[TraceKey], new: TraceKey) -> tuple[str, str]:
    """Return the reason of a retrace, and how to avoid it: the changes from the most similar earlier call.

    ``earlier`` are the keys of the function's earlier traces, oldest first; ``new`` is that of the retrace.
    """
    old = min(reversed(earlier), key=lambda call: _distance(call, new))
    changes = [*_iter_changes(old, new)]
    if not changes:
        return "the earlier trace was not kept, or depended on something else that changed (a setting, a mesh)", ""
    return "; ".join(text for text, _ in changes), " ".join(dict.fromkeys(fix for _, fix in changes))


def _distance(old: TraceKey, new: TraceKey) -> int:
    """Return how much two calls differ: 0 for no difference; arguments of other structures count most."""
    static = sum(old.static.get(name) != value for name, value in new.static.items())
    if old.structure != new.structure or len(old.avals) != len(new.avals):
        return 1_000_000 + static
    return static + sum(type_distance(a, b) for a, b in zip(old.avals, new.avals, strict=True))


def _iter_changes(old: TraceKey, new: TraceKey) -> Iterator[tuple[str, str]]:
    """Yield (change, fix) for each difference between two calls: structure, types, static arguments, settings."""
    if old.structure != new.structure or len(old.avals) != len(new.avals):
        metadata = argument_metadata(old.structure, new.structure, new.arguments)
        yield metadata or (
            f"the structure of the arguments changed: {_describe_name_changes(old.names, new.names)}",
            SAME_STRUCTURE_FIX,
        )
    else:
        for name, was, now in zip(new.names, old.avals, new.avals, strict=True):
            if was != now:
                yield f"{name}: {_format_type(was)} → {_format_type(now)}", suggest_fix_for_types(was, now)
    for name, value in new.static.items():
        before = old.static.get(name)
        if before != value:
            was = shorten(repr(before)) if name in old.static else "(not given)"
            text = f"the static argument {name}: {was} → {shorten(repr(value))}"
            yield text, suggest_fix_for_static(before, value)
    for was, now in zip(old.surroundings, new.surroundings, strict=True):
        if was != now:
            yield (
                f"a setting changed: {shorten(str(was))} → {shorten(str(now))}",
                "Set it once, before the first call.",
            )


def _describe_name_changes(old: Sequence[str], new: Sequence[str]) -> str:
    removed, added = [name for name in old if name not in new], [name for name in new if name not in old]
    parts = [*(f"{name} is new" for name in added[:3]), *(f"{name} is gone" for name in removed[:3])]
    return "; ".join(parts) or "containers of another kind, or arguments given by name instead of by position"


def _format_type(aval: Any) -> str:
    text = str(aval.str_short(short_dtypes=True))
    return text + (" (weak)" if getattr(aval, "weak_type", False) else "")
