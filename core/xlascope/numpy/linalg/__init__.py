"""Linear algebra with NumPy's names: norms, products, factorizations, systems of equations.

The names are in ``__init__.pyi``. All functions take batches of matrices, whose last two axes are rows and
columns, and can be differentiated, batched and compiled. Integers become floats; float16 and bfloat16 have to
be converted. Singular matrices give infinities and NaN rather than errors, since values are not known while a
program is traced.
"""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
