"""Why a call was traced again: what differs from the nearest earlier call, and what can be done."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.sources import is_library, title_of
from ...recent import RecentlyUsed
from .signatures import Reason, Signature, shortened, structure_difference

FIRST = Reason("first call")
#: The codes of functions that have been traced, and how many function objects had them. The file is told apart as well:
#: two cells with the same text are not one loop, and equal code objects may come from two files.
_codes: RecentlyUsed[tuple[tuple[str, types.CodeType], ...], int] = RecentlyUsed(4096)


def note_function(function: Callable[..., Any]) -> None:
    """Remember that a function object is traced for the first time."""
    codes = _codes_of(function)
    if codes:
        key = tuple((code.co_filename, code) for code in codes)
        _codes[key] = (_codes.get(key) or 0) + 1


def _codes_of(function: Any) -> tuple[types.CodeType, ...]:
    """The code of a function of the user's, last; before it that of the transformations around it.

    ``grad(f)`` and ``grad(g)`` have the code of ``grad`` in common, which says nothing about a loop that makes them.
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
        # What users call is wrapped once more (`api_boundary`), all in the same code: what it wraps tells which it is.
        codes += [cell.cell_contents.__code__ for cell in function.__closure__ or () if _is_function(cell)]
        function = getattr(function, "__wrapped__", None)


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
    """Why a signature needs a trace: what differs from the nearest one of ``earlier``, the latest if several are."""
    signatures = list(earlier)[::-1]
    if not signatures:
        return _first(function)
    old = min(signatures, key=lambda other: _distance(other, new))
    changes = [
        *_changed_arguments(old, new, operand_names, parameter_names),
        *_changed_static(old, new, parameter_names),
    ]
    if not changes and (old.positional, old.named) != (new.positional, new.named):
        found = "a static argument was given by name that was given by position before, or the other way round"
        changes.append(Reason(found, "Give it the same way in every call."))
    if old.settings != new.settings:
        found = "a setting changed: " + _settings_difference(old.settings, new.settings)
        changes.append(Reason(found, "Set it once, before the first call."))
    if not changes:
        return Reason(
            "the earlier trace was not kept: the function closes over values of an enclosing transformation",
            "Pass these values as arguments.",
        )
    return Reason("; ".join(c.text for c in changes), " ".join(dict.fromkeys(c.fix for c in changes)))


def _changed_arguments(
    old: Signature,
    new: Signature,
    operand_names: Callable[[], Sequence[str]],
    parameter_names: Callable[[int], Sequence[str]],
) -> list[Reason]:
    """What differs in the arguments that are not static: their structure, or else their types."""
    if old.structure != new.structure:
        return [
            Reason(
                "the structure of the arguments changed: " + structure_difference(old, new, parameter_names),
                "Pass the same arguments in the same way (by position or by name), in the same containers.",
            )
        ]
    return [
        Reason(f"{name}: {_described(was)} → {_described(now)}", _fix_for_types(was, now))
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
            yield Reason(text, _fix_for_static(was, now))


class _NotGiven:
    def __repr__(self) -> str:
        return "(not given)"


_NOT_GIVEN = _NotGiven()


def _static_values(signature: Signature, parameter_names: Callable[[int], Sequence[str]]) -> dict[str, Any]:
    names = parameter_names(max((i for i, _ in signature.positional), default=-1) + 1)
    return {**{names[i]: static for i, static in signature.positional}, **dict(signature.named)}


def _first(function: Callable[..., Any]) -> Reason:
    codes = _codes_of(function)
    made = _codes.get(tuple((code.co_filename, code) for code in codes)) or 0
    if made < 2:
        return FIRST
    code = codes[-1]
    place = f"{title_of(code.co_filename) or code.co_filename}:{code.co_firstlineno}"
    name = code.co_name if len(codes) == 1 else f"a transformed {code.co_name}"
    return Reason(
        f"{name} is a new function object: the {_ordinal(made)} made from the code at {place}, and traces "
        "belong to function objects",
        "Define and jit the function once, outside of the loop or function that makes it, and pass what it closes over "
        "as arguments.",
    )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _distance(old: Signature, new: Signature) -> int:
    static = sum(bool(a != b) for a, b in zip(old[2:], new[2:], strict=True))
    if old.structure != new.structure:
        return 1_000_000 + static
    return static + sum(_far(a, b) for a, b in zip(old.avals, new.avals, strict=True))


def _far(a: ShapedArray, b: ShapedArray) -> int:
    if a is b:
        return 0
    return 1 + (a.dtype != b.dtype) + 2 * (a.shape != b.shape) + 4 * (len(a.shape) != len(b.shape))


def _described(aval: ShapedArray) -> str:
    return aval.str_short() + (" (weak)" if aval.weak_type else "")


def _fix_for_types(old: ShapedArray, new: ShapedArray) -> str:
    if old.shape != new.shape:
        if len(old.shape) == len(new.shape):
            return "Pad or batch the data to one shape, or expect one trace per shape."
        return "Give the argument the same number of axes in every call."
    if old.dtype != new.dtype:
        return "Convert the argument to one dtype before the call (jnp.asarray(x, dtype))."
    return "Python numbers are weak and arrays are not: pass an array in every call (jnp.asarray(x))."


def _shown(value: Any) -> str:
    return shortened(repr(value))


def _fix_for_static(old: Any, new: Any) -> str:
    old, new = getattr(old, "value", old), getattr(new, "value", new)
    if type(old) is type(new) and type(new).__eq__ is _IDENTITY and not isinstance(new, type):
        if callable(new):
            return "Pass the same function object each time: define it once instead of writing a lambda in the call."
        return (
            f"{type(new).__name__} compares by identity: define __eq__ and __hash__ (a frozen dataclass does), or pass "
            "the same object in every call."
        )
    return "Each static value has a program of its own: make the argument an ordinary one if it changes often."


_IDENTITY: Any = object.__eq__


def _settings_difference(old: Any, new: Any) -> str:
    return (
        ", ".join(f"{a!r} → {b!r}" for a, b in zip(old, new, strict=False) if a != b) or "64-bit types or random bits"
    )
