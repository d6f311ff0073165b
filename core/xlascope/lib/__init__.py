"""Old spellings of the way to the backend."""

from . import xla_bridge as xla_bridge
