"""Operations with JAX's names and signatures: no promotion, explicit axes.

The names are in ``__init__.pyi``; an operation ``sin`` is the function ``lax.sin`` and the handle ``lax.sin_p``.
"""

from ..names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
