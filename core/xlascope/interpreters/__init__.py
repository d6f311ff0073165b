"""Registration of rules for custom primitives: ad, batching, mlir."""

from ..names import explain_missing as _explain_missing
from . import ad as ad
from . import batching as batching
from . import mlir as mlir

_explain_missing(__name__)
