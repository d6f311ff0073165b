"""Checks of a call's results: the origin of a NaN or an infinity, and the reuse of random keys."""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
