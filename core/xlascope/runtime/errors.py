"""Class of the errors that jaxlib itself raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib import _jax

from . import boot  # noqa: F401  (jaxlib's states come before the rest of it)

if TYPE_CHECKING:

    class JaxRuntimeError(RuntimeError):
        """Error of the compiler or of a running program."""

else:
    JaxRuntimeError = _jax.JaxRuntimeError

__all__ = ["JaxRuntimeError"]
