"""Looking at values while a program runs: ``debug.print`` and ``debug.callback``."""

from .api.callbacks import debug_callback as callback
from .api.callbacks import debug_print as print

__all__ = ["callback", "print"]
