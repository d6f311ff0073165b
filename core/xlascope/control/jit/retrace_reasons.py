"""Explanation of retracing: the difference from the nearest earlier call, and advice."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...analysis.retrace_reasons import (
    FIRST_CALL,
    SAME_STRUCTURE_FIX,
    explain_new_function,
    shorten,
    suggest_fix_for_static,
    suggest_fix_for_types,
    type_distance,
)
from ...analysis.static_metadata import argument_metadata
from ...ir.avals import ShapedArray
from ...ir.user_frames import is_library, title_of
from ...lru_cache import LRUCache
from ..programs.function_names import count_arguments
from .trace_signature import Reason, TraceSignature, structure_difference

FIRST_CALL_REASON = Reason(FIRST_CALL, "", "first")
#: The codes of functions that have been traced, and the number of function objects with them. The key has the file as
#: well: two cells with the same text are not one loop, and equal code objects may come from two files.
_function_counts: LRUCache[tuple[tuple[str, types.CodeType], ...], int] = LRUCache(4096)


def record_function(function: Callable[..., Any]) -> None:
    """Count a function object that is traced for the first time.

    Function objects with the same code are counted together, which shows functions that are created in a loop.
    """
    codes = _codes_of(function)
    if codes:
        key = tuple((code.co_filename, code) for code in codes)
        _function_counts[key] = (_function_counts.get(key) or 0) + 1


def _codes_of(function: Any) -> tuple[types.CodeType, ...]:
    """Return the code of a user's function, preceded by the codes of the library's transformations around it.

    The codes around it distinguish ``grad(f)`` from ``f``. Returns () if the function contains no user code.
    """
    codes: list[types.CodeType] = []
    while True:
        while hasattr(function, "func"):  # functools.partial
            function = function.func
        code = getattr(function, "__code__", None)
        if not isinstance(code, types.CodeType):
            return ()
        if not is_library[code.co_filename]:
            return (*codes, code)
        # Public functions have a wrapper (`api_boundary`) that shares one code object: use the wrapped function's code.
        codes += [cell.cell_contents.__code__ for cell in function.__closure__ or () if _is_function(cell)]
        function = getattr(function, "__wrapped__", None)


def is_of_library(function: Any) -> bool:
    """Return whether a function belongs to this package and contains no user code.

    Advice about calls of such a function would not help a user.
    """
    while hasattr(function, "func"):
        function = function.func
    return isinstance(getattr(function, "__code__", None), types.CodeType) and not _codes_of(function)


def _is_function(cell: types.CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, types.FunctionType)
    except ValueError:  # not filled yet
        return False


def explain_retrace(
    function: Callable[..., Any],
    earlier: Iterable[TraceSignature],
    new: TraceSignature,
    operand_names: Callable[[], Sequence[str]],
    parameter_names: Callable[[int], Sequence[str]],
) -> Reason:
    """Return why a signature needs a trace: its difference from the nearest of the ``earlier`` signatures.

    Of equally near ones it is the latest. ``operand_names`` returns the names of the operands, ``parameter_names(n)``
    those of the first n positional arguments. For functions of the library there is no advice.
    """
    signatures = list(earlier)[::-1]
    if not signatures:
        return _explain_first(function)
    old = min(signatures, key=lambda signature: _distance(signature, new))
    changes = [
        *_changed_arguments(old, new, operand_names, parameter_names),
        *_changed_static(old, new, parameter_names),
    ]
    if not changes and (old.positional, old.named) != (new.positional, new.named):
        text = "a static argument was given by name that was given by position before, or the other way round"
        changes.append(Reason(text, "Give it the same way in every call."))
    if old.settings != new.settings:
        text = "a setting changed: " + _settings_difference(old.settings, new.settings)
        changes.append(Reason(text, "Set it once, before the first call."))
    if not changes:
        return Reason(
            "the earlier trace was not kept: the function closes over values of an enclosing transformation",
            "Pass these values as arguments.",
        )
    fix = "" if is_of_library(function) else " ".join(dict.fromkeys(c.fix for c in changes))
    return Reason("; ".join(c.text for c in changes), fix)


def _changed_arguments(
    old: TraceSignature,
    new: TraceSignature,
    operand_names: Callable[[], Sequence[str]],
    parameter_names: Callable[[int], Sequence[str]],
) -> list[Reason]:
    """Return the differences between two signatures in dynamic arguments: in structure, or else in types.

    ``operand_names`` and ``parameter_names`` are as for :func:`explain_retrace`.
    """
    if old.structure != new.structure:
        names = parameter_names(count_arguments(new.structure))
        metadata = argument_metadata(old.structure, new.structure, names)
        if metadata is not None:
            return [Reason(*metadata)]
        return [
            Reason(
                "the structure of the arguments changed: " + structure_difference(old, new, parameter_names),
                SAME_STRUCTURE_FIX,
            )
        ]
    return [
        Reason(f"{name}: {_describe_aval(was)} → {_describe_aval(now)}", suggest_fix_for_types(was, now))
        for name, was, now in zip(operand_names(), old.avals, new.avals, strict=True)
        if was is not now
    ]


def _changed_static(
    old: TraceSignature, new: TraceSignature, parameter_names: Callable[[int], Sequence[str]]
) -> Iterator[Reason]:
    before, after = _static_values(old, parameter_names), _static_values(new, parameter_names)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, _NOT_GIVEN), after.get(name, _NOT_GIVEN)
        if was != now:
            text = f"the static argument {name}: {_format_static(was)} → {_format_static(now)}"
            yield Reason(text, suggest_fix_for_static(getattr(was, "value", was), getattr(now, "value", now)))


class _NotGiven:
    """Placeholder for a static argument that only one of two signatures has."""

    def __repr__(self) -> str:
        return "(not given)"


_NOT_GIVEN = _NotGiven()


def _static_values(signature: TraceSignature, parameter_names: Callable[[int], Sequence[str]]) -> dict[str, Any]:
    names = parameter_names(max((i for i, _ in signature.positional), default=-1) + 1)
    return {**{names[i]: static for i, static in signature.positional}, **dict(signature.named)}


def _explain_first(function: Callable[..., Any]) -> Reason:
    """Return why a function object is traced for the first time: its first call, or a new object of known code.

    Function objects that are created repeatedly from the same code, in a loop for example, are each traced.
    """
    codes = _codes_of(function)
    count = _function_counts.get(tuple((code.co_filename, code) for code in codes)) or 0
    if count < 2:
        return FIRST_CALL_REASON
    code = codes[-1]
    location = f"{title_of(code.co_filename) or code.co_filename}:{code.co_firstlineno}"
    name = code.co_name if len(codes) == 1 else f"a transformed {code.co_name}"
    return Reason(*explain_new_function(name, count, location))


def _distance(old: TraceSignature, new: TraceSignature) -> int:
    static = sum(bool(a != b) for a, b in zip(old[2:], new[2:], strict=True))
    if old.structure != new.structure:
        return 1_000_000 + static
    return static + sum(type_distance(a, b) for a, b in zip(old.avals, new.avals, strict=True))


def _describe_aval(aval: ShapedArray) -> str:
    return aval.str_short() + (" (weak)" if aval.weak_type else "")


def _format_static(value: Any) -> str:
    return shorten(repr(value))


def _settings_difference(old: Any, new: Any) -> str:
    return (
        ", ".join(f"{a!r} → {b!r}" for a, b in zip(old, new, strict=False) if a != b) or "64-bit types or random bits"
    )
