"""Looking at values while a program runs: ``debug.print`` and ``debug.callback``."""

from .api.callbacks import debug_callback as callback
from .api.callbacks import debug_print as print
from .names import explain_missing as _explain_missing

__all__ = ["callback", "print"]

_explain_missing(__name__)
