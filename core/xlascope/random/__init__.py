"""Random numbers from explicit keys: the same key always gives the same numbers, the ones JAX gives.

>>> import xlascope as xs
>>> key, data_key = xs.random.split(xs.random.key(0))
>>> x = xs.random.normal(data_key, (3,))

The names are in ``__init__.pyi``.
"""

from ..names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
