"""Functions whose interfaces may still change."""

from ..api.callbacks import io_callback as io_callback
from ..names import explain_missing as _explain_missing

_explain_missing(__name__)
