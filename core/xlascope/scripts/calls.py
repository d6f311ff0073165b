"""The counters and timers of calls; imported lazily with the first program, because they load NumPy and jaxlib."""

from __future__ import annotations

from ..inspect.inspection_scope import inspecting
from ..inspect.running.profile_sampler import Sampler
from ..inspect.running.shared_calls import SharedCallRecorder
from ..inspect.time_account.accountant import Moment, TimeAccountant
from ..xla.processes.failure_state import exit_listeners
from ..xla.processes.job import current_membership

__all__ = [
    "Moment",
    "Sampler",
    "SharedCallRecorder",
    "TimeAccountant",
    "current_membership",
    "exit_listeners",
    "inspecting",
]
