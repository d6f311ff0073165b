"""Readers of optimized HLO: the kernels, their equations, and the bytes they move."""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
