"""Types for annotations of functions that take arrays: ``def norm(x: ArrayLike) -> Array``."""

from typing import Any, Protocol, TypeAlias, Union

import numpy as np

from .names import explain_missing as _explain_missing
from .trace.array import Array

__all__ = ["ArrayLike", "DTypeLike"]


class _HasDtype(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...


#: What functions take where they take an array: one of xlascope, one of NumPy, or a number. Lists are none.
ArrayLike: TypeAlias = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007  for isinstance

#: What functions take where they take a dtype.
DTypeLike: TypeAlias = Union[str, type[Any], np.dtype, _HasDtype]  # noqa: UP007

_explain_missing(__name__)
