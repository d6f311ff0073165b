"""Rotations in three dimensions; the names are listed in ``__init__.pyi``."""

from ....names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
"""The public names, the one list of them."""
