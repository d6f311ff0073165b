"""Helpers around the library, by the names that programs for jax have for them."""

from ..names import explain_missing as _explain_missing
from . import colab_tpu as colab_tpu

_explain_missing(__name__)
