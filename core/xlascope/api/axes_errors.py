"""Errors for ``in_axes`` that do not fit the arguments, with values that do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..control.programs.function_names import name_of, parameter_names
from ..errors import see
from ..trace.source import compose_message
from ..trace.values import aval_of


def axes_count_error(caller: str, fun: Callable[..., Any], in_axes: Sequence[Any], count: int, part: str) -> ValueError:
    """Return the error for an ``in_axes`` whose number of entries is not ``count``, the number of arguments.

    ``caller`` is the transformation's name; ``part`` is the noun for what is mapped: example, device.
    """
    entries = f"{len(in_axes)} {'entry' if len(in_axes) == 1 else 'entries'}"
    names = parameter_names(fun, count)
    arguments = f"{count} argument{'' if count == 1 else 's'}"
    names_text = f", {_join_names(names)}" if names else ""
    caller = f"{caller} of {name_of(fun)}: in_axes has {entries}, but {name_of(fun)} gets {arguments}{names_text}."
    return ValueError(compose_message(caller, _in_axes_advice(tuple(in_axes), names, part)) + see("vmap-axes"))


def _in_axes_advice(in_axes: tuple[Any, ...], names: Sequence[str], part: str) -> str:
    """Return advice on an ``in_axes`` with an entry for each of the arguments ``names``."""
    missing = len(names) - len(in_axes)
    if missing < 0:
        shorter = in_axes[: len(names)]
        return f"Give one entry for each: in_axes={shorter!r}." if names else "Give it an argument to map over."
    all_mapped, padded = in_axes + (0,) * missing, in_axes + (None,) * missing
    note = " (in_axes=0 is the same)" if all(axis == 0 and axis is not False for axis in all_mapped) else ""
    both = "both" if len(names) == 2 else "all"
    fix = f"in_axes={all_mapped!r} maps {both}{note}"
    if all(axis is None for axis in in_axes):
        return f"{fix}."
    mapped = [name for name, axis in zip(names, in_axes, strict=False) if axis is not None]
    shared = _join_names(names[-missing:])
    return f"{fix}; in_axes={padded!r} maps {_join_names(mapped)} only and gives every {part} all of {shared}."


def missing_axis_error(caller: str, name: str, shape: Sequence[int], axis: int, fix: str) -> ValueError:
    """Return the error for an argument that does not have the axis to map over.

    ``caller`` is the call, as in ``vmap of f``; ``name`` and ``shape`` are those of the argument, ``axis`` is the
    missing axis. An empty ``fix`` stands for default advice.
    """
    shape_text = f"has shape {tuple(shape)}" if shape else "is a scalar"
    fix = fix or (f"Choose one from 0 to {len(shape) - 1}." if shape else "Give it arrays with an axis to map over.")
    return ValueError(compose_message(f"{caller}: {name} {shape_text} and has no axis {axis}.", fix) + see("vmap-axes"))


def shared_axes_advice(
    caller: str, fun: Callable[..., Any], in_axes: Sequence[Any], axes: Sequence[Any], args: Sequence[Any], parts: str
) -> str:
    """Return advice with an ``in_axes`` that fits the arguments: None for those that do not have the axis; or "".

    ``caller`` is the transformation's name, ``parts`` the noun for what is mapped (examples). ``in_axes`` has an entry
    for each of ``args``, ``axes`` one for each of their leaves and of the leaves of keyword arguments.
    """
    entries, offset = [], 0
    for entry, arg in zip(in_axes, args, strict=True):
        leaves, structure = tree.flatten(arg)
        valid = [_valid_axis(x, axis) for x, axis in zip(leaves, axes[offset : offset + len(leaves)], strict=True)]
        all_valid = valid == list(axes[offset : offset + len(leaves)])
        none_valid = all(axis is None for axis in valid)
        entries.append(entry if all_valid else None if none_valid else structure.unflatten(valid))
        offset += len(leaves)
    if entries == list(in_axes):
        return "Arguments given by name are mapped along axis 0: give it by position, with None in in_axes."
    if all(entry is None for entry in entries):
        return ""
    function = name_of(fun) if name_of(fun).isidentifier() else "f"
    return f"Share it among all {parts}: {caller}({function}, in_axes={tuple(entries)!r})."


def _valid_axis(x: Any, axis: int | None) -> int | None:
    """Return the axis if an operand has it, else None."""
    rank = len(aval_of(x).shape)
    return axis if axis is not None and -rank <= axis < rank else None


def _join_names(names: Sequence[str]) -> str:
    """Return the names as ``x, y and z``."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + list(names[-1:]))


__all__ = ["axes_count_error", "missing_axis_error", "shared_axes_advice"]
