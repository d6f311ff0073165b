"""``pjit``, an older name of ``jit``."""

from ..api.compilation import jit as pjit
from ..names import explain_missing as _explain_missing

__all__ = ["pjit"]

_explain_missing(__name__)
