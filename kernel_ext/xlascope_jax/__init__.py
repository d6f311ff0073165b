"""Watching jax's own programs: the same records that xlascope's engine makes, so that the same eyes see them.

This package imports nothing of jax until the user's program has. :func:`install` may come before ``import jax`` or
after; what it returns undoes it, and jax's own functions are in their places again.
"""

from __future__ import annotations

from .watching import TRIED, install

__all__ = ["TRIED", "install"]
