"""Records: plain data about what the engine did, and subscriptions to it. Imports nothing of the engine."""

from ..names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
