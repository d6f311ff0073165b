"""Arrays shared with other libraries: they read ours without a copy; imports from the CPU are copied."""

from .names import explain_missing as _explain_missing
from .numpy.external_arrays import import_dlpack as from_dlpack
from .numpy.external_arrays import is_supported_dtype as is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]

_explain_missing(__name__)
