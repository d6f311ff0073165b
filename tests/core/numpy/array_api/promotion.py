"""In which dtype operands meet by the array API standard: its tables, which are about dtypes of one kind.

What meets in no dtype of the standard (uint64 and signed integers), and kinds that are mixed, it leaves open.
"""

from __future__ import annotations

import itertools
from typing import Any

_SIGNED, _UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
_FLOATING = {
    ("float32", "float32"): "float32",
    ("float32", "float64"): "float64",
    ("float32", "complex64"): "complex64",
    ("float32", "complex128"): "complex128",
    ("float64", "float64"): "float64",
    ("float64", "complex64"): "complex128",
    ("float64", "complex128"): "complex128",
    ("complex64", "complex64"): "complex64",
    ("complex64", "complex128"): "complex128",
    ("complex128", "complex128"): "complex128",
}


def _bits(name: str) -> int:
    return int(name.lstrip("uint"))


def _integers() -> dict[tuple[str, str], str]:
    found = {}
    for names in (_SIGNED, _UNSIGNED):
        found |= {(x, y): max(x, y, key=_bits) for x, y in itertools.product(names, names)}
    for x, y in itertools.product(_SIGNED, _UNSIGNED[:3]):
        found[x, y] = x if _bits(x) > _bits(y) else f"int{2 * _bits(y)}"
    return found


def table() -> dict[tuple[str, str], str]:
    """The dtype in which each pair meets, in both orders."""
    half = {("bool", "bool"): "bool"} | _integers() | _FLOATING
    return half | {(y, x): dtype for (x, y), dtype in half.items()}


#: Python's numbers, and the dtypes of arrays with which they meet in the array's dtype.
SCALARS: list[tuple[Any, str]] = [
    (True, "bool"),
    (1, "int uint float complex"),
    (1.5, "float complex"),
    (1j, "complex"),
]
