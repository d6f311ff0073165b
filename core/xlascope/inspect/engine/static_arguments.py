"""Arguments that stay Python values where a function that is not jitted is jitted for a question about a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import tree
from ...control.jit.arguments import JitOptions
from ...control.jit.retrace_reasons import is_of_library


def options_for_call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> JitOptions:
    """Return the options with which a function can be jitted for a call: arguments that cannot be arrays are static.

    These are text, functions, types and other objects. Of this package's functions it is whole numbers as well, and
    tuples of them: axes, shapes and sizes, which are known where such a function is called in a jitted one.

    >>> import xlascope.numpy as jnp
    >>> options_for_call(jnp.sum, (np.ones(3),), {"axis": 0}).static_argnames
    ('axis',)
    >>> options_for_call(lambda x, n, how: x, (np.ones(3), 2, "fast"), {}).static_argnums
    (2,)
    """
    whole_numbers = (int, np.integer, np.bool_) if is_of_library(function) else ()
    return JitOptions(
        static_argnums=tuple(i for i, value in enumerate(args) if _is_static(value, whole_numbers)),
        static_argnames=tuple(name for name, value in kwargs.items() if _is_static(value, whole_numbers)),
    )


def _is_static(value: Any, whole_numbers: tuple[type, ...]) -> bool:
    """Return whether an argument has a hash, and nothing in it can be an operand; so may be ``whole_numbers``."""
    leaves = tree.leaves(value)
    if not leaves or not all(isinstance(leaf, whole_numbers) or not _is_operand(leaf) for leaf in leaves):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_operand(leaf: Any) -> bool:
    """Return whether a leaf is a number, an array, or what stands for one."""
    if isinstance(leaf, type):
        return False
    is_array = hasattr(leaf, "shape") and hasattr(leaf, "dtype")
    return is_array or isinstance(leaf, (bool, int, float, complex, np.generic)) or hasattr(leaf, "__jax_array__")
