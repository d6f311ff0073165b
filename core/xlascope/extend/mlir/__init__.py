"""MLIR's Python modules, for lowering rules."""

from ...xla.mlir.emitting import ir as ir
from ...xla.mlir.emitting import passmanager as passmanager
from . import dialects as dialects
