"""Small libraries from JAX's early years: layers (stax) and optimizers."""

from ..names import explain_missing as _explain_missing
from . import optimizers as optimizers
from . import stax as stax

_explain_missing(__name__)
