"""What happened, as plain data, and who wants to know. Imports nothing of the engine and boots nothing."""

from ..names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
