"""Errors for axes to map over that do not fit the arguments, with the ``in_axes`` that do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..control.programs.names import name_of, parameter_names
from ..errors import see
from ..trace.source import compose_message
from ..trace.values import aval_of


def wrong_number_of_axes(
    what: str, fun: Callable[..., Any], in_axes: Sequence[Any], count: int, each: str
) -> ValueError:
    """Return the error for an ``in_axes`` with another number of entries than there are arguments.

    ``what`` is the transformation, ``each`` what runs one part: an example, a device.
    """
    entries = f"{len(in_axes)} {'entry' if len(in_axes) == 1 else 'entries'}"
    names = parameter_names(fun, count)
    arguments = f"{count} argument{'' if count == 1 else 's'}"
    listed = f", {_listed(names)}" if names else ""
    what = f"{what} of {name_of(fun)}: in_axes has {entries}, but {name_of(fun)} gets {arguments}{listed}."
    return ValueError(compose_message(what, _way_to_number(tuple(in_axes), names, each)) + see("vmap-axes"))


def _way_to_number(in_axes: tuple[Any, ...], names: Sequence[str], each: str) -> str:
    missing = len(names) - len(in_axes)
    if missing < 0:
        shorter = in_axes[: len(names)]
        return f"Give one entry for each: in_axes={shorter!r}." if names else "Give it an argument to map over."
    every, some = in_axes + (0,) * missing, in_axes + (None,) * missing
    same = " (in_axes=0 is the same)" if all(axis == 0 and axis is not False for axis in every) else ""
    both = "both" if len(names) == 2 else "all"
    fix = f"in_axes={every!r} maps {both}{same}"
    if all(axis is None for axis in in_axes):
        return f"{fix}."
    mapped = [name for name, axis in zip(names, in_axes, strict=False) if axis is not None]
    whole = _listed(names[-missing:])
    return f"{fix}; in_axes={some!r} maps {_listed(mapped)} only and gives every {each} all of {whole}."


def no_such_axis(whom: str, name: str, shape: Sequence[int], axis: int, fix: str) -> ValueError:
    """Return the error for an argument that has no such axis."""
    has = f"has shape {tuple(shape)}" if shape else "is a scalar"
    fix = fix or (f"Choose one from 0 to {len(shape) - 1}." if shape else "Give it arrays with an axis to map over.")
    return ValueError(compose_message(f"{whom}: {name} {has} and has no axis {axis}.", fix) + see("vmap-axes"))


def way_to_share(
    what: str, fun: Callable[..., Any], in_axes: Sequence[Any], axes: Sequence[Any], args: Sequence[Any], all_: str
) -> str:
    """Return the ``in_axes`` that fits the arguments: None for those without the axis to map; or nothing.

    ``in_axes`` has an entry for each argument, ``axes`` one for each leaf of theirs and of the named arguments.
    """
    entries, at = [], 0
    for entry, arg in zip(in_axes, args, strict=True):
        leaves, structure = tree.flatten(arg)
        fitting = [_fitting(x, axis) for x, axis in zip(leaves, axes[at : at + len(leaves)], strict=True)]
        is_whole = fitting == list(axes[at : at + len(leaves)])
        shared = all(axis is None for axis in fitting)
        entries.append(entry if is_whole else None if shared else structure.unflatten(fitting))
        at += len(leaves)
    if entries == list(in_axes):
        return "Arguments given by name are mapped along axis 0: give it by position, with None in in_axes."
    if all(entry is None for entry in entries):
        return ""
    function = name_of(fun) if name_of(fun).isidentifier() else "f"
    return f"Share it among all {all_}: {what}({function}, in_axes={tuple(entries)!r})."


def _fitting(x: Any, axis: int | None) -> int | None:
    rank = len(aval_of(x).shape)
    return axis if axis is not None and -rank <= axis < rank else None


def _listed(names: Sequence[str]) -> str:
    """Return ``x, y and z``."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + list(names[-1:]))


__all__ = ["no_such_axis", "way_to_share", "wrong_number_of_axes"]
