"""Old spellings of the way to the backend."""

from . import xla_bridge

__all__ = ["xla_bridge"]
