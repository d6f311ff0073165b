"""How arrays are printed: NumPy's settings hold for ours."""

from __future__ import annotations

from typing import Any

import numpy as np

get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions


def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None) -> str:
    """The text that ``repr`` gives."""
    return repr(arr)


def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None) -> str:
    """The text that ``str`` gives."""
    return np.array_str(np.asarray(a), max_line_width, precision)
