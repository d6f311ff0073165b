"""Helpers around the library, under the names that programs for jax use."""

from ..names import explain_missing as _explain_missing
from . import colab_tpu as colab_tpu

_explain_missing(__name__)
