"""The bridge to a jax whose ways are not known: calls are counted and kernels timed, and nothing of jax is touched."""

from __future__ import annotations

from collections.abc import Callable

from xlascope.inspect.running.runs import register_runs
from xlascope.runtime.quiet_log import quiet_log

from .kernel_runs import KernelRuns
from .programs import Programs


def stand() -> Callable[[], None]:
    """Watch from now on; returns what ends that."""
    quiet_log()
    return register_runs(KernelRuns(Programs()))
