"""Old spellings of backend access."""

from ..names import explain_missing as _explain_missing
from . import xla_bridge as xla_bridge

_explain_missing(__name__)
