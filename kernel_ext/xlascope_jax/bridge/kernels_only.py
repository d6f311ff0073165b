"""The bridge to an untested version of jax: it counts calls and times kernels, and replaces nothing in jax."""

from __future__ import annotations

from collections.abc import Callable

from xlascope.inspect.running.runs import register_runs
from xlascope.runtime.quiet_log import quiet_log

from .kernel_runs import KernelRuns
from .programs import Programs


def stand() -> Callable[[], None]:
    """Watch jax from now on; return a function that stops it."""
    quiet_log()
    return register_runs(KernelRuns(Programs()))
