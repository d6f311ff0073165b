"""MLIR's Python modules, as lowering rules use them."""

from ...xla.mlir.emitting import ir as ir
from ...xla.mlir.emitting import passmanager as passmanager
from . import dialects as dialects
