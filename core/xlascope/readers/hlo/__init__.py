"""Readers of optimized HLO: the kernels, their equations, and the bytes they move."""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
