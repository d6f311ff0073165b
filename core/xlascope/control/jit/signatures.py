"""Signature of a call, which its trace depends on, and descriptions of how two signatures differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...analysis.retrace_words import shortened
from ...ir.avals import ShapedArray
from ...keys import Exact
from ...records import Origin


class Signature(NamedTuple):
    """Everything that a trace depends on: calls with equal signatures share a trace."""

    structure: Any
    avals: tuple[ShapedArray, ...]
    positional: tuple[tuple[int, Exact], ...]
    named: tuple[tuple[str, Exact], ...]
    settings: Any


class Reason(NamedTuple):
    """Reason for a trace, and what would have avoided it."""

    text: str
    fix: str = ""
    origin: Origin = "again"


def structure_difference(old: Signature, new: Signature, parameter_names: Callable[[int], Sequence[str]]) -> str:
    """Return a description of the arguments whose structure differs."""
    before, after = _structures(old, parameter_names), _structures(new, parameter_names)
    parts = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was is None:
            parts.append(f"{name} is new")
        elif now is None:
            parts.append(f"{name} is gone")
        elif was != now:
            parts.append(f"{name}: {was} → {now}")
    return "; ".join(parts) or "an argument was given by name that was given by position before, or the other way round"


def _structures(signature: Signature, parameter_names: Callable[[int], Sequence[str]]) -> dict[str, str]:
    """Return the structure of each dynamic argument, as text."""
    args, kwargs = signature.structure.children()
    names = parameter_names(len(args.children()))
    static = {i for i, _ in signature.positional}
    structures = {names[i]: child for i, child in enumerate(args.children()) if i not in static}
    structures.update(zip(kwargs.node_data()[1], kwargs.children(), strict=True))
    return {
        name: shortened(str(structure).removeprefix("PyTreeDef(").removesuffix(")"))
        for name, structure in structures.items()
    }
