"""Inspection of values while a program runs (``print``, ``log``, ``callback``), and of shardings."""

from .api.callbacks import debug_callback as callback
from .api.callbacks import debug_log as log
from .api.callbacks import debug_print as print
from .api.sharding_visualization import inspect_array_sharding, visualize_array_sharding, visualize_sharding
from .names import explain_missing as _explain_missing

__all__ = ["callback", "inspect_array_sharding", "log", "print", "visualize_array_sharding", "visualize_sharding"]

_explain_missing(__name__)
