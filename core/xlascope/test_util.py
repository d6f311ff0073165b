"""Checks of derivatives by numerical differences, for tests."""

from .api.checking import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
