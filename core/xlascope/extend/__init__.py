"""Extension API: programs, custom operations, StableHLO."""

from ..names import explain_missing as _explain_missing
from . import core as core
from . import mlir as mlir
from . import operations as operations

_explain_missing(__name__)
