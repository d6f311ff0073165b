"""SciPy functions on arrays that can be traced, differentiated, batched and compiled.

The names are listed in ``__init__.pyi``.
"""

from ..names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
