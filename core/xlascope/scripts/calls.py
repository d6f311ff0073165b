"""The counters and timers of calls; imported lazily with the first program, because they load NumPy and jaxlib."""

from __future__ import annotations

from ..inspect.inspection_scope import inspecting
from ..inspect.running.profile_sampler import Sampler
from ..inspect.time_account.accountant import Moment, TimeAccountant

__all__ = ["Moment", "Sampler", "TimeAccountant", "inspecting"]
