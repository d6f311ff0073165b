"""MLIR's Python modules, as lowering rules use them."""

from ...xla.emitting import ir as ir
from ...xla.emitting import passmanager as passmanager
from . import dialects as dialects
