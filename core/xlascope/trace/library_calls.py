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
LIBRARY_PROMOTION_SETTINGS: Final[dict[Any, Any]] = {numpy_rank_promotion: "allow", numpy_dtype_promotion: "standard"}

_PACKAGE = __name__.partition(".")[0] + "."
#: Packages of wrappers and transformations, which stand between the user and the function that is called.
_TRANSPARENT_PACKAGES = tuple(
    _PACKAGE + name for name in ("api.", "control.", "operations.", "transforms.", "trace.", "xla.")
)
#: Modules of elementwise functions and of those that join arrays, which pass the user's operands on to each other.
_ELEMENTWISE_MODULES = frozenset(
    f"{_PACKAGE}numpy.{name}"
    for name in (
        *("array_api", "array_methods", "direct_operations", "float_parts", "integers", "joining", "logic", "methods"),
        *(
            "number_arguments",
            "promotion",
            "jit_wrapped",
            "transcendental",
            "ufunc_class",
            "ufuncs",
            "ufunc_attributes",
            "updates",
        ),
    )
)
#: Other functions that pass the user's operands on.
_TRANSPARENT_FUNCTIONS = frozenset(
    (f"{_PACKAGE}numpy.{module}", function)
    for module, function in (("index_construction", "where"), ("reductions", "clip"), ("reductions", "_clip"))
) | {(f"{_PACKAGE}lax.device_argument", "on_device")}


def is_called_by_library() -> bool:
    """Return whether a strict promotion setting is on and the function that asks was called by the library.

    Wrappers, transformations and elementwise functions in between are skipped: they pass on the operands of
    their callers.
    """
    if numpy_rank_promotion.value == "allow" and numpy_dtype_promotion.value != "strict":
        return False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(_PACKAGE):
            return False
        if not (
            name in _ELEMENTWISE_MODULES
            or name.startswith(_TRANSPARENT_PACKAGES)
            or (name, frame.f_code.co_name) in _TRANSPARENT_FUNCTIONS
        ):
            return True
        frame = frame.f_back
    return False
