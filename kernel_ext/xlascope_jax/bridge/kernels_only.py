"""The bridge to an untested version of jax: it counts calls and times kernels, and replaces nothing in jax."""

from __future__ import annotations

from collections.abc import Callable

from xlascope.inspect.running.engines import register_engine
from xlascope.runtime.xla_log_level import set_xla_log_level

from .kernel_runs import KernelRuns
from .programs import ProgramRegistry


def attach() -> Callable[[], None]:
    """Watch jax from now on; return a function that stops it."""
    set_xla_log_level()
    return register_engine(KernelRuns(ProgramRegistry()))
