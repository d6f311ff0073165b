"""Type annotations for functions that take arrays: ``def norm(x: ArrayLike) -> Array``."""

from typing import Any, Protocol, TypeAlias, Union

import numpy as np

from .names import explain_missing as _explain_missing
from .trace.array import Array

__all__ = ["ArrayLike", "DTypeLike"]


class _HasDtype(Protocol):
    @property
    def dtype(self) -> np.dtype[Any]: ...


#: Array arguments of functions: an array of xlascope or NumPy, or a number. Lists are not included.
ArrayLike: TypeAlias = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007  for isinstance

#: Dtype arguments of functions.
DTypeLike: TypeAlias = Union[str, type[Any], np.dtype, _HasDtype]  # noqa: UP007

_explain_missing(__name__)
