"""A row of the table: a function of arrays, and the operands it is tested with."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

#: The allowed error by dtype, relative to the largest number of a result or to 1.
RELATIVE_TOLERANCE = {"float32": 2e-5, "complex64": 4e-5, "float16": 4e-3, "bfloat16": 4e-2, "float8_e4m3fn": 0.3}
FLOATS = ("float32", "float16", "bfloat16")
NUMBERS = ("float32", "bfloat16", "complex64", "int32")
INTEGERS = ("int32", "uint8")


class Operand(NamedTuple):
    """Shape and range of an operand that is drawn at random.

    ``dtype`` is None if it is the test case's; ``elements`` are fixed elements instead of random ones.
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    dtype: str | None = None
    elements: Any = None

    def make(self, random: np.random.Generator, dtype: str) -> np.ndarray[Any, Any]:
        """Draw the operand with a generator; ``dtype`` is the test case's."""
        operand_dtype = to_dtype(self.dtype or dtype)
        if self.elements is not None:
            return np.asarray(self.elements).astype(operand_dtype)
        if operand_dtype.kind == "b":
            return random.integers(0, 2, self.shape).astype(bool)
        if operand_dtype.kind in "iu":
            low = max(int(self.low), 0) if operand_dtype.kind == "u" else int(self.low)
            return random.integers(low, int(self.high) + 1, self.shape).astype(operand_dtype)
        samples = random.uniform(self.low, self.high, self.shape)
        if operand_dtype.kind == "c":
            samples = samples + 0.5j * random.uniform(self.low, self.high, self.shape)
        return np.asarray(samples).astype(operand_dtype)


class Case(NamedTuple):
    """Test case: a function of arrays with its operands, in one dtype.

    ``derive`` and ``batch`` say whether its gradient and its batching are tested. ``tolerance`` is the allowed error,
    relative to the largest number of a result or to 1. ``oracle`` is the NumPy function that gives the same values
    (None if there is none).
    """

    name: str
    function: Callable[..., Any]
    operands: Sequence[Operand]
    dtype: str
    derive: bool
    batch: bool
    tolerance: float
    oracle: Callable[..., Any] | None

    def make(self, example: int = 0) -> list[np.ndarray[Any, Any]]:
        """Draw the operands of an example by its number; they are the same each time."""
        random = np.random.default_rng([zlib.crc32(self.name.encode()), example])
        return [operand.make(random, self.dtype) for operand in self.operands]


def cases_of(
    name: str,
    function: Callable[..., Any],
    *operands: Operand,
    dtypes: Sequence[str] = ("float32",),
    derive: bool = True,
    batch: bool = True,
    tolerance: float = 1.0,
    oracle: Callable[..., Any] | None = None,
) -> Iterator[Case]:
    """Yield a test case of a function for each dtype.

    ``operands`` are drawn at random for each case. ``tolerance`` multiplies that of the dtype; ``oracle`` is NumPy's
    function, which the values are compared with. ``derive`` and ``batch`` say whether gradients and batching are
    tested as well.
    """
    for dtype in dtypes:
        smooth = derive and dtype in ("float32", "complex64")
        allowed = tolerance * RELATIVE_TOLERANCE.get(dtype, 2e-5)
        yield Case(f"{name} {dtype}", function, operands, dtype, smooth, batch and bool(operands), allowed, oracle)


def uniform(*shape: int, low: float = -2.0, high: float = 2.0) -> Operand:
    """Return an operand of the row's dtype with elements between ``low`` and ``high``."""
    return Operand(shape, low, high)


def indices(*shape: int, high: int, low: int = 0) -> Operand:
    """Return an operand of int32 indices from ``low`` to ``high``, both included."""
    return Operand(shape, low, high, "int32")


def booleans(*shape: int) -> Operand:
    """Return an operand of truth values."""
    return Operand(shape, dtype="bool")


def bits(*shape: int) -> Operand:
    """Return an operand of random uint32 numbers of all bit patterns."""
    return Operand(shape, 0, 2**32 - 1, "uint32")


def constant(value: Any, dtype: str | None = None) -> Operand:
    """Return an operand of these elements."""
    return Operand(np.shape(value), dtype=dtype, elements=value)


def distinct(*shape: int) -> Operand:
    """Return an operand of elements that are all different, in mixed order."""
    count = int(np.prod(shape))
    return constant((np.random.default_rng(7).permutation(count).reshape(shape) - count / 2) / 2)


def to_dtype(name: str) -> np.dtype[Any]:
    """Return the dtype of a name, including those of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))
