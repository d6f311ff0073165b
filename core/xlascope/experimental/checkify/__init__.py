"""Checks of values in compiled programs, whose failures are part of the programs' results.

The names are in ``__init__.pyi``.

>>> import xlascope as xs, xlascope.numpy as jnp
>>> from xlascope.experimental import checkify
>>> def f(x):
...     checkify.check(x > 0, "x is to be positive, got {x}", x=x)
...     return jnp.log(x)
>>> error, y = xs.jit(checkify.checkify(f))(-1.0)
>>> print(error.get())
x is to be positive, got -1.0 (`check` failed)
"""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
