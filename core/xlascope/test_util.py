"""Numerical checks of derivatives, for tests."""

from .api.gradient_checks import check_grads, check_jvp, check_vjp
from .names import explain_missing as _explain_missing

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_explain_missing(__name__)
