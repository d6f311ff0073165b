"""What counts and times calls: loaded when there is a program, since it loads NumPy and jaxlib."""

from __future__ import annotations

from ..inspect.quiet import inspecting
from ..inspect.running.live import Sampler

__all__ = ["Sampler", "inspecting"]
