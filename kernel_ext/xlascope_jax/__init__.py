"""Records of jax's own programs: the same records that xlascope's engine makes, for the same tools.

Nothing of jax is imported until the user's program imports it. :func:`install` can be called before or after
``import jax``; the function it returns restores jax's own functions.
"""

from __future__ import annotations

from .watching import TRIED, install

__all__ = ["TRIED", "install"]
