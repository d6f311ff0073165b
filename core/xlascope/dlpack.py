"""Arrays shared with other libraries, without a copy where they are on the same device."""

from .names import explain_missing as _explain_missing
from .numpy.sharing import is_supported_dtype as is_supported_dtype
from .numpy.sharing import shared as from_dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]

_explain_missing(__name__)
