"""Reader of XLA's buffer assignment: the buffers of a module and how long each is live."""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
