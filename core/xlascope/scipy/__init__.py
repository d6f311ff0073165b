"""SciPy functions on arrays that can be traced, differentiated, batched and compiled.

The names are listed in ``__init__.pyi``.
"""

from ..names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
