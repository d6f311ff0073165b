"""Stages of a jitted call, under JAX's module name: the results of ``f.trace``, ``f.lower`` and ``compile``."""

from .control.jit.stages import ArgInfo as ArgInfo
from .control.jit.stages import Compiled as Compiled
from .control.jit.stages import Lowered as Lowered
from .control.jit.stages import Traced as Traced
from .names import explain_missing as _explain_missing
from .xla.execution.call_cache import PjitFunction

Wrapped = PjitFunction

_explain_missing(__name__)
