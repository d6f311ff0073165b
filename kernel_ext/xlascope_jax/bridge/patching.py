"""Replacement of jax's functions by wrappers, and its reversal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class PatchedAttribute(NamedTuple):
    """Attribute of a jax module or class that holds a function."""

    owner: Any
    name: str


class PatchSet:
    """Set of replaced attributes, which :meth:`undo` restores, except where other code has replaced them since."""

    def __init__(self) -> None:
        self._applied: list[tuple[PatchedAttribute, Any, Any]] = []

    def replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """Replace the attribute ``name`` of ``owner`` by ``wrap(original)``, and remember the original."""
        original = getattr(owner, name)
        replacement = wrap(original)
        setattr(owner, name, replacement)
        self._applied.append((PatchedAttribute(owner, name), original, replacement))

    def undo(self) -> None:
        """Restore all original functions."""
        while self._applied:
            attribute, original, replacement = self._applied.pop()
            if getattr(attribute.owner, attribute.name) is replacement:
                setattr(attribute.owner, attribute.name, original)
