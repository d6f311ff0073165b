"""Detection of calls that come from the library itself rather than from the user.

The settings ``numpy_rank_promotion`` and ``numpy_dtype_promotion`` apply to the user's operations. Library
functions promote their internal operands as they need.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Final

from ..runtime.boot import numpy_dtype_promotion, numpy_rank_promotion

#: Promotion settings inside library functions.
PROMOTING: Final[dict[Any, Any]] = {numpy_rank_promotion: "allow", numpy_dtype_promotion: "standard"}

_PACKAGE = __name__.partition(".")[0] + "."
#: Packages of wrappers and transformations, which stand between the user and the function that is called.
_BETWEEN = tuple(_PACKAGE + name for name in ("api.", "control.", "operations.", "transforms.", "trace.", "xla."))
#: Modules of elementwise functions and of those that join arrays, which pass the user's operands on to each other.
_ELEMENTWISE = frozenset(
    f"{_PACKAGE}numpy.{name}"
    for name in (
        *("array_api", "array_methods", "float_parts", "integers", "joining", "logic", "methods", "promotion"),
        *("together", "transcendental", "ufunc_objects", "ufuncs", "universal", "updates"),
    )
)
#: Other functions that pass the user's operands on.
_HANDING_ON = frozenset(
    (f"{_PACKAGE}numpy.{module}", function)
    for module, function in (("indexing_tools", "where"), ("reductions", "clip"), ("reductions", "_clip"))
)


def is_called_by_library() -> bool:
    """Return whether a strict promotion setting holds and the caller's caller is a library function."""
    if numpy_rank_promotion.value == "allow" and numpy_dtype_promotion.value != "strict":
        return False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(_PACKAGE):
            return False
        if not (name in _ELEMENTWISE or name.startswith(_BETWEEN) or (name, frame.f_code.co_name) in _HANDING_ON):
            return True
        frame = frame.f_back
    return False
