"""Text representations of arrays, which follow NumPy's print options."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace.values import aval_of
from .axes import whole_number

get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions


def array_repr(
    arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Return the ``repr`` of an array with the given line width and precision.

    ``suppress_small`` writes numbers without exponents. None stands for NumPy's print options.

    >>> import xlascope.numpy as jnp
    >>> jnp.array_repr(jnp.array([0.123456]), precision=2)
    'Array([0.12], dtype=float32)'
    """
    with _print_options(max_line_width, precision, suppress_small):
        return repr(_require_array(arr))


def array_str(
    a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """Return the ``str`` of an array; the arguments are those of :func:`array_repr`."""
    with _print_options(max_line_width, precision, suppress_small):
        return str(_require_array(a))


def _require_array(x: Any) -> Any:
    """Return an array unchanged; raise TypeError for any other value."""
    aval_of(x)
    if not hasattr(x, "shape"):
        raise TypeError(f"an array is printed, got {x!r} of type {type(x).__name__}; use repr or str")
    return x


def _print_options(width: Any, precision: Any, suppress: Any) -> Any:
    """Return a context manager that overrides the print options of NumPy that are not None here."""
    options: dict[str, Any] = {
        name: whole_number(number, argument)
        for name, argument, number in (("linewidth", "max_line_width", width), ("precision", "precision", precision))
        if number is not None
    }
    if suppress is not None:
        options["suppress"] = bool(suppress)
    return np.printoptions(**options)
