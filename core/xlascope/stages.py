"""The stages of a jitted call, under JAX's module name: what ``f.trace``, ``f.lower`` and ``compile`` give."""

from .control.jit.stages import ArgInfo, Compiled, Lowered, Traced
from .xla.dispatch import PjitFunction as Wrapped

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]
