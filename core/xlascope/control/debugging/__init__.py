"""Checks of a call's results: the origin of a NaN or an infinity, and the reuse of random keys."""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
