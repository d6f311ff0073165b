"""Signature of a call, which its trace depends on, and descriptions of how two signatures differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...analysis.retrace_reasons import shorten
from ...cache_keys import ExactValue
from ...ir.avals import ShapedArray

if TYPE_CHECKING:
    from ...records import Origin


class TraceSignature(NamedTuple):
    """Cache key of a trace: calls of a function with equal signatures share a trace.

    ``structure`` and ``avals`` are those of the dynamic arguments, ``positional`` and ``named`` the static arguments,
    ``settings`` the settings that tracing depends on.
    """

    structure: Any
    avals: tuple[ShapedArray, ...]
    positional: tuple[tuple[int, ExactValue], ...]
    named: tuple[tuple[str, ExactValue], ...]
    settings: Any


class Reason(NamedTuple):
    """Reason for a trace or a cache miss, with advice.

    ``text`` is the reason, ``fix`` what would have avoided it (or nothing), ``origin`` the kind of reason:
    ``"first"``, ``"again"`` or another :data:`~xlascope.records.Origin`.
    """

    text: str
    fix: str = ""
    origin: Origin = "again"


def structure_difference(
    old: TraceSignature, new: TraceSignature, parameter_names: Callable[[int], Sequence[str]]
) -> str:
    """Return a description of the dynamic arguments whose structure differs between two signatures.

    ``parameter_names(n)`` returns the names of the first n positional arguments.
    """
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


def _structures(signature: TraceSignature, parameter_names: Callable[[int], Sequence[str]]) -> dict[str, str]:
    """Return the structure of each dynamic argument as text, by the argument's name."""
    args, kwargs = signature.structure.children()
    names = parameter_names(len(args.children()))
    static = {i for i, _ in signature.positional}
    structures = {names[i]: child for i, child in enumerate(args.children()) if i not in static}
    structures.update(zip(kwargs.node_data()[1], kwargs.children(), strict=True))
    return {
        name: shorten(str(structure).removeprefix("PyTreeDef(").removesuffix(")"))
        for name, structure in structures.items()
    }
