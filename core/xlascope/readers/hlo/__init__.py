"""Optimized HLO, read: what runs as a unit, for which equations, over which bytes."""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
