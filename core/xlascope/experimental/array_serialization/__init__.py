"""Saving and loading of sharded arrays: see :mod:`.serialization`."""

from . import serialization as serialization
