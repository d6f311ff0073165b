"""Reader of XLA's buffer assignment: the buffers of a module and how long each is live."""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
