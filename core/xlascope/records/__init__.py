"""Records: plain data about what the engine did, and subscriptions to it. Imports nothing of the engine."""

from ..names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
