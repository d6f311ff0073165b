"""Statistics of an array of any size, read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from ...records import ValueStatistics
from .host_array import HostArray, to_numbers

#: The exponents that a histogram tells apart, as those of the twins: 2**-127 (and less) to 2**127 (and more).
MIN_EXPONENT, MAX_EXPONENT = -127, 127
#: The number of elements from which a histogram is of every so many of them.
MAX_HISTOGRAM_ELEMENTS, HISTOGRAM_STRIDE = 1 << 16, 8
#: The largest magnitude whose square is summed in float64.
MAX_SQUARED = 1e150
#: The number of distinct keys that are counted at most.
MAX_DISTINCT_KEYS = 1 << 20

Position = tuple[int, ...]


@dataclass(frozen=True)
class ArrayFacts:
    """Statistics of an array, and where its remarkable elements are.

    ``statistics`` has counts of elements (of complex numbers, of parts), and numbers about the finite ones; of integers
    and booleans they are exact integers. ``first_nan``, ``first_inf`` and ``largest`` (the largest finite magnitude)
    are indices, None where there is no such element. ``distinct_keys`` is the number of different keys of an array of
    keys, None if they are too many to compare.
    """

    statistics: ValueStatistics
    first_nan: Position | None = None
    first_inf: Position | None = None
    largest: Position | None = None
    distinct_keys: int | None = None


def measure_array(array: HostArray) -> ArrayFacts:
    """Return the statistics of an array; it is read in pieces, so that memory is bounded, 8 MB, whatever its size."""
    if array.kind == "key":
        keys = ValueStatistics(array.size // array.shape[-1], 0, 0, 0, 0, 0, None, None, None, None)
        return ArrayFacts(keys, distinct_keys=_count_distinct(array))
    sums = _Sums(_smallest_normal(array), HISTOGRAM_STRIDE if array.size > MAX_HISTOGRAM_ELEMENTS else 1)
    for first, values in array.iterate_chunks():
        sums.add(first, to_numbers(values))
    first_nan, first_inf, largest = (
        _unravel(number, array) for number in (sums.first_nan, sums.first_inf, sums.largest_at)
    )
    return ArrayFacts(sums.statistics(), first_nan, first_inf, largest)


def _unravel(number: int | None, array: HostArray) -> Position | None:
    return None if number is None else tuple(map(int, np.unravel_index(number, array.shape)))


def _count_distinct(array: HostArray) -> int | None:
    """Return the number of different keys, None if there are too many."""
    words = array.shape[-1]
    if array.size > words * MAX_DISTINCT_KEYS:
        return None
    keys: set[bytes] = set()
    for _, values in array.iterate_chunks(words * max(1, MAX_DISTINCT_KEYS // 16)):
        keys.update(row.tobytes() for row in values.reshape(-1, words))
    return len(keys)


def _smallest_normal(array: HostArray) -> float:
    """Return the smallest normal magnitude of a floating-point or complex dtype; 0 for others."""
    if array.kind not in ("float", "complex"):
        return 0.0
    dtype = array.physical_dtype
    real = np.dtype(f"float{4 * dtype.itemsize}") if array.kind == "complex" else dtype
    return float(ml_dtypes.finfo(real).smallest_normal)  # type: ignore[no-untyped-call]


@dataclass
class _Sums:
    """Sums over the elements of an array, filled piece by piece."""

    smallest_normal: float
    stride: int
    elements: int = 0
    zeros: int = 0
    subnormals: int = 0
    nans: int = 0
    infs: int = 0
    negatives: int = 0
    finite: int = 0
    total: Any = 0
    squares: Any = 0.0
    minimum: Any = None
    maximum: Any = None
    first_nan: int | None = None
    first_inf: int | None = None
    largest: Any = -1
    largest_at: int | None = None
    exponents: Any = field(default_factory=lambda: np.zeros(MAX_EXPONENT - MIN_EXPONENT + 1, np.int64))

    def add(self, first: int, values: Any) -> None:
        """Add a flat piece, whose first element has the number ``first`` in the array."""
        for part in _parts(values):
            self.elements += part.size
            finite = self._add_special(first, part) if part.dtype.kind == "f" else part
            self._add_finite(finite)
            self._add_exponents(part, -first % self.stride)
        self._add_largest(first, values)

    def _add_special(self, first: int, part: Any) -> Any:
        """Count NaN and infinity; return the finite elements."""
        is_finite = np.isfinite(part)
        if np.count_nonzero(is_finite) == part.size:
            return part
        is_nan = np.isnan(part)
        nans = int(np.count_nonzero(is_nan))
        is_inf = ~(is_finite | is_nan)
        infs = int(np.count_nonzero(is_inf))
        self.negatives += int(np.count_nonzero(is_inf & (part < 0)))
        if nans:
            number = first + int(is_nan.argmax())
            self.first_nan = number if self.first_nan is None else min(number, self.first_nan)
        if infs:
            number = first + int(is_inf.argmax())
            self.first_inf = number if self.first_inf is None else min(number, self.first_inf)
        self.nans, self.infs = self.nans + nans, self.infs + infs
        return part[is_finite]

    def _add_finite(self, values: Any) -> None:
        if not values.size:
            return
        self.finite += values.size
        low, high = values.min().item(), values.max().item()
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)
        if low < 0:
            self.negatives += int(np.count_nonzero(values < 0))
        self._add_small(values, low, high)
        wide = values.astype(np.float64)
        self.total += float(wide.sum()) if values.dtype.kind == "f" else _exact_sum(values)
        if max(-low, high) > MAX_SQUARED:
            wide = wide.astype(np.longdouble)
        with np.errstate(over="ignore"):  # where long doubles are no longer than others
            self.squares += np.square(wide, out=wide).sum()  # not np.dot, whose threads wait for each other

    def _add_small(self, values: Any, low: Any, high: Any) -> None:
        """Count zeros and subnormal numbers; ``low`` and ``high`` are the bounds of the values."""
        if low > self.smallest_normal or high < -self.smallest_normal:
            return
        if not self.smallest_normal:
            self.zeros += values.size - int(np.count_nonzero(values))
            return
        small = np.abs(values) < self.smallest_normal
        count = int(np.count_nonzero(small))
        if count:
            nonzero = int(np.count_nonzero(values[small]))
            self.zeros, self.subnormals = self.zeros + count - nonzero, self.subnormals + nonzero

    def _add_largest(self, first: int, values: Any) -> None:
        """Find the largest finite magnitude; its first element where there are several."""
        if values.dtype.kind == "b":
            return
        if values.dtype.kind == "f" and max(self.maximum or 0, -(self.minimum or 0)) <= self.largest:
            return  # the bounds so far, this piece included, are no larger
        magnitude = float_magnitude(values) if values.dtype.kind in "fc" else _integer_magnitude(values)
        if values.dtype.kind in "fc":
            magnitude = np.where(np.isfinite(magnitude), magnitude, -1)
        number = int(magnitude.argmax())
        largest = magnitude[number].item()
        if largest > self.largest:
            self.largest, self.largest_at = largest, first + number

    def _add_exponents(self, part: Any, start: int) -> None:
        if part.dtype.kind != "f":
            return
        sample = part[start :: self.stride]
        sample = sample[np.isfinite(sample) & (sample != 0)]
        exponents = np.frexp(sample)[1] - 1
        if self.smallest_normal:  # subnormals have the exponent below that of the smallest normal number
            exponents = np.maximum(exponents, np.frexp(self.smallest_normal)[1] - 2)
        bins = np.clip(exponents, MIN_EXPONENT, MAX_EXPONENT) - MIN_EXPONENT
        self.exponents += np.bincount(bins, minlength=len(self.exponents))

    def statistics(self) -> ValueStatistics:
        """Return the statistics of what was added."""
        count = self.finite
        return ValueStatistics(
            elements=self.elements,
            zeros=self.zeros,
            subnormals=self.subnormals,
            nans=self.nans,
            infs=self.infs,
            negatives=self.negatives,
            minimum=self.minimum,
            maximum=self.maximum,
            mean=self.total / count if count else None,
            root_mean_square=float(np.sqrt(self.squares / count)) if count else None,
            exponents=tuple((MIN_EXPONENT + int(i), int(self.exponents[i])) for i in np.flatnonzero(self.exponents)),
        )


def _parts(values: Any) -> Iterator[Any]:
    """Yield real and imaginary part of complex numbers, other numbers as they are, booleans as integers."""
    if values.dtype.kind == "c":
        yield values.real
        yield values.imag
    else:
        yield values.view(np.uint8) if values.dtype.kind == "b" else values


def float_magnitude(values: Any) -> Any:
    """Return magnitudes of real or complex numbers; those of finite complex numbers are finite, as wide as needed.

    >>> float(float_magnitude(np.array([3e38 + 3e38j], np.complex64))[0])
    4.2426...e+38
    """
    if values.dtype.kind != "c":
        return np.abs(values)
    with np.errstate(over="ignore"):
        magnitude = np.abs(values)
    if not np.any(np.isinf(magnitude) & np.isfinite(values)):
        return magnitude
    return np.abs(values.astype(np.complex128 if values.dtype.itemsize == 8 else np.clongdouble))


def _exact_sum(values: Any) -> int:
    """Return the sum of integers, exact where it does not fit 64 bits either."""
    if values.dtype.itemsize < 8:
        return int(values.sum(dtype=np.int64))
    half = np.uint64(32) if values.dtype.kind == "u" else np.int64(32)
    high = values >> half
    return (int(high.sum()) << 32) + int((values - (high << half)).sum())


def _integer_magnitude(values: Any) -> Any:
    """Return magnitudes of integers; that of the smallest int64 fits uint64."""
    if values.dtype.kind == "u":
        return values
    wide = values.astype(np.int64)
    return np.where(wide < 0, (-(wide + 1)).astype(np.uint64) + np.uint64(1), wide.astype(np.uint64))
