"""Calls of functions whose arguments have to fit together: one function a drawing, found by the function's name."""

from . import (
    choices,
    control,
    linear_algebra,
    pictures,
    products,
    random_numbers,
    scipy_linalg,
    scipy_objects,
    scipy_rooms,
    scipy_special,
    scipy_stats,
    shapes,
    slices,
    sparse,
    trees,
    windows,
)
from .declaring import EXAMPLES

__all__ = [
    "EXAMPLES",
    "choices",
    "control",
    "linear_algebra",
    "pictures",
    "products",
    "random_numbers",
    "scipy_linalg",
    "scipy_objects",
    "scipy_rooms",
    "scipy_special",
    "scipy_stats",
    "shapes",
    "slices",
    "sparse",
    "trees",
    "windows",
]
