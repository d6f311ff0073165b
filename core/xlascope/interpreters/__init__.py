"""Where rules for primitives of one's own are registered: ad, batching, mlir."""

from . import ad as ad
from . import batching as batching
from . import mlir as mlir
