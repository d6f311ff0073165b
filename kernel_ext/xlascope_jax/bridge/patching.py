"""Putting functions of ours in the place of jax's, and jax's own back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Place(NamedTuple):
    """An attribute of a module or class of jax that holds a function."""

    owner: Any
    name: str


class Patches:
    """What was replaced. Undoing puts jax's own objects back, but where somebody else has put his there since."""

    def __init__(self) -> None:
        self._made: list[tuple[Place, Any, Any]] = []

    def replace(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """Let ``wrap(original)`` stand where the original does."""
        original = getattr(owner, name)
        ours = wrap(original)
        setattr(owner, name, ours)
        self._made.append((Place(owner, name), original, ours))

    def undo(self) -> None:
        """Put everything back."""
        while self._made:
            place, original, ours = self._made.pop()
            if getattr(place.owner, place.name) is ours:
                setattr(place.owner, place.name, original)
