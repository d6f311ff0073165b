"""Functions on images of any number of axes. The names are in ``__init__.pyi``."""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
"""The public names, the one list of them."""
