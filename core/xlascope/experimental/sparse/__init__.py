"""Sparse arrays, BCOO and BCSR, and functions for them; the names are in ``__init__.pyi``."""

from ...names import make_lazy_attributes
from . import operators as _operators  # noqa: F401  (methods and operators are set by it)

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
