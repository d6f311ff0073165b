"""For those who build on the library: its programs, operations of one's own, StableHLO."""

from . import core as core
from . import mlir as mlir
from . import operations as operations
