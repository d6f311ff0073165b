"""Explanation of retracing: the difference from the nearest earlier call, and advice."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...analysis.retrace_words import FIRST as FIRST_CALL
from ...analysis.retrace_words import SAME_STRUCTURE, fix_for_static, fix_for_types, how_far, made_again, shortened
from ...analysis.static_metadata import argument_metadata
from ...ir.avals import ShapedArray
from ...ir.sources import is_library, title_of
from ...recent import RecentlyUsed
from ..programs.names import number_of_arguments
from .signatures import Reason, Signature, structure_difference

FIRST = Reason(FIRST_CALL, "", "first")
#: The codes of functions that have been traced, and the number of function objects with them. The key has the file as
#: well: two cells with the same text are not one loop, and equal code objects may come from two files.
_codes: RecentlyUsed[tuple[tuple[str, types.CodeType], ...], int] = RecentlyUsed(4096)


def note_function(function: Callable[..., Any]) -> None:
    """Record that a function object is traced for the first time."""
    codes = _codes_of(function)
    if codes:
        key = tuple((code.co_filename, code) for code in codes)
        _codes[key] = (_codes.get(key) or 0) + 1


def _codes_of(function: Any) -> tuple[types.CodeType, ...]:
    """Return the code of a user's function, after the codes of the transformations around it.

    ``grad(f)`` and ``grad(g)`` share the code of ``grad``, which does not indicate a loop that creates functions.
    Empty if no code of the user's is found.
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


def reason_of(
    function: Callable[..., Any],
    earlier: Iterable[Signature],
    new: Signature,
    operand_names: Callable[[], Sequence[str]],
    parameter_names: Callable[[int], Sequence[str]],
) -> Reason:
    """Return why a signature needs a trace: the difference from the nearest, latest signature of ``earlier``.

    There is no fix for functions of the library, such as the one that draws the numbers of `random.normal`.
    """
    signatures = list(earlier)[::-1]
    if not signatures:
        return _first(function)
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
    old: Signature,
    new: Signature,
    operand_names: Callable[[], Sequence[str]],
    parameter_names: Callable[[int], Sequence[str]],
) -> list[Reason]:
    """Return the differences in dynamic arguments: in their structure, or else in their types."""
    if old.structure != new.structure:
        names = parameter_names(number_of_arguments(new.structure))
        metadata = argument_metadata(old.structure, new.structure, names)
        if metadata is not None:
            return [Reason(*metadata)]
        return [
            Reason(
                "the structure of the arguments changed: " + structure_difference(old, new, parameter_names),
                SAME_STRUCTURE,
            )
        ]
    return [
        Reason(f"{name}: {_described(was)} → {_described(now)}", fix_for_types(was, now))
        for name, was, now in zip(operand_names(), old.avals, new.avals, strict=True)
        if was is not now
    ]


def _changed_static(
    old: Signature, new: Signature, parameter_names: Callable[[int], Sequence[str]]
) -> Iterator[Reason]:
    before, after = _static_values(old, parameter_names), _static_values(new, parameter_names)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, _NOT_GIVEN), after.get(name, _NOT_GIVEN)
        if was != now:
            text = f"the static argument {name}: {_shown(was)} → {_shown(now)}"
            yield Reason(text, fix_for_static(getattr(was, "value", was), getattr(now, "value", now)))


class _NotGiven:
    def __repr__(self) -> str:
        return "(not given)"


_NOT_GIVEN = _NotGiven()


def _static_values(signature: Signature, parameter_names: Callable[[int], Sequence[str]]) -> dict[str, Any]:
    names = parameter_names(max((i for i, _ in signature.positional), default=-1) + 1)
    return {**{names[i]: static for i, static in signature.positional}, **dict(signature.named)}


def _first(function: Callable[..., Any]) -> Reason:
    codes = _codes_of(function)
    count = _codes.get(tuple((code.co_filename, code) for code in codes)) or 0
    if count < 2:
        return FIRST
    code = codes[-1]
    location = f"{title_of(code.co_filename) or code.co_filename}:{code.co_firstlineno}"
    name = code.co_name if len(codes) == 1 else f"a transformed {code.co_name}"
    return Reason(*made_again(name, count, location))


def _distance(old: Signature, new: Signature) -> int:
    static = sum(bool(a != b) for a, b in zip(old[2:], new[2:], strict=True))
    if old.structure != new.structure:
        return 1_000_000 + static
    return static + sum(how_far(a, b) for a, b in zip(old.avals, new.avals, strict=True))


def _described(aval: ShapedArray) -> str:
    return aval.str_short() + (" (weak)" if aval.weak_type else "")


def _shown(value: Any) -> str:
    return shortened(repr(value))


def _settings_difference(old: Any, new: Any) -> str:
    return (
        ", ".join(f"{a!r} → {b!r}" for a, b in zip(old, new, strict=False) if a != b) or "64-bit types or random bits"
    )
