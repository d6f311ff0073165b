"""MLIR's Python modules, for lowering rules."""

from ...xla.mlir.jax_mlir_api import ir as ir
from ...xla.mlir.jax_mlir_api import passmanager as passmanager
from . import dialects as dialects
