"""Who calls a function of arrays: the user, or a function of the library.

The settings ``numpy_rank_promotion`` and ``numpy_dtype_promotion`` are about the user's operations. What a function of
the library does with its operands inside is its own matter.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Final

from ..runtime.boot import numpy_dtype_promotion, numpy_rank_promotion

#: The settings within functions of the library.
PROMOTING: Final[dict[Any, Any]] = {numpy_rank_promotion: "allow", numpy_dtype_promotion: "standard"}

_PACKAGE = __name__.partition(".")[0] + "."
#: What stands between the user and a function that is called: wrappers and transformations.
_BETWEEN = tuple(_PACKAGE + name for name in ("api.", "control.", "operations.", "transforms.", "trace.", "xla."))
#: Modules of elementwise functions, and of those that join arrays: they call each other with what they were given.
_ELEMENTWISE = frozenset(
    f"{_PACKAGE}numpy.{name}"
    for name in (
        *("array_api", "array_methods", "float_parts", "integers", "joining", "logic", "methods", "promotion"),
        *("together", "transcendental", "ufunc_objects", "ufuncs", "universal", "updates"),
    )
)
#: Other functions that hand on what they were given.
_HANDING_ON = frozenset(
    (f"{_PACKAGE}numpy.{module}", function)
    for module, function in (("indexing_tools", "where"), ("reductions", "clip"), ("reductions", "_clip"))
)


def is_called_by_library() -> bool:
    """Whether a strict setting holds, and the caller of our caller is a function of the library."""
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
