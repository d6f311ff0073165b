"""The compiler's plan of memory: which arrays it keeps a place for, and how long each is needed."""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
