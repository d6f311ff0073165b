"""Arrays drawn from a seed: dtypes, shapes, values and holders, each common or odd."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .building import dtype_of
from .language import Described, array

#: How often a dtype is drawn.
DTYPES = {
    "float32": 30, "int32": 16, "bool": 6, "uint8": 5, "int8": 4, "int16": 2, "uint16": 2, "uint32": 4, "float16": 8,
    "bfloat16": 8, "complex64": 6, "float64": 4, "int64": 4, "uint64": 2, "complex128": 2,
}  # fmt: skip
#: Those that are narrower than a byte, or that NumPy does not know.
ODD_DTYPES = [
    "int4",
    "uint4",
    "int2",
    "uint2",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e8m0fnu",
    "float4_e2m1fn",
]
#: Few, so that what one call compiled serves others.
SHAPES: dict[tuple[int, ...], int] = {
    (): 10, (3,): 22, (2, 3): 28, (3, 3): 12, (0,): 6, (1, 3): 5, (2, 3, 4): 9, (2, 0, 3): 3,
}  # fmt: skip
#: Those of functions that choose among axes.
MATRICES = {shape: weight for shape, weight in SHAPES.items() if len(shape) > 1}
HOLDERS = {
    "device": 60, "numpy": 18, "list": 4, "scalar": 2, "big": 3, "strided": 3, "reversed": 1, "fortran": 2,
    "readonly": 2, "broadcast": 1, "masked": 1, "jax_array": 1, "object": 0.5, "shape_dtype": 0.3,
}  # fmt: skip
#: How many arrays of floating numbers have a NaN among others: it shows whether a function passes it on.
NAN = 0.25


class Odds:
    """Draws from tables of weights."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def weighted(self, table: dict[Any, float]) -> Any:
        weights = np.cumsum(list(table.values()))
        place = int(np.searchsorted(weights, self.rng.random() * weights[-1], side="right"))
        return list(table)[place]

    def whole(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))


def is_exact(dtype: str) -> bool:
    return dtype == "bool" or dtype.startswith(("int", "uint"))


def limits(dtype: str) -> tuple[int, int]:
    """The least and greatest integer of a dtype."""
    info = ml_dtypes.iinfo(dtype_of(dtype))
    return int(info.min), int(info.max)


def values(odds: Odds, dtype: str, count: int) -> list[Any]:
    """Entries: mostly small numbers with ties among them, sometimes a special one, sometimes nothing else."""
    style = odds.weighted({"small": 44, "smooth": 22, "some special": 24, "special": 10})
    entries = [_value(odds, dtype, style) for _ in range(count)]
    if count and not is_exact(dtype) and odds.chance(NAN):
        for place in odds.rng.permutation(count)[: odds.pick([1, 1, 2, count])]:
            entries[place] = [math.nan, entries[place][1]] if dtype.startswith("complex") else math.nan
    return entries


def _value(odds: Odds, dtype: str, style: str) -> Any:
    if dtype.startswith("complex"):
        part = dtype_of(dtype).type(0).real.dtype.name
        return [_value(odds, part, style), _value(odds, part, style)]
    special = style == "special" or (style == "some special" and odds.chance(0.3))
    if dtype == "bool":
        return odds.chance(0.5)
    if is_exact(dtype):
        low, high = limits(dtype)
        return odds.pick([low, high, 0, 1, high - 1]) if special else max(low, min(high, odds.whole(-3, 5)))
    if special:
        return odds.pick(specials(dtype))
    return (
        round(float(odds.rng.normal()) * 3, 3) if style == "smooth" else float(odds.whole(-3, 5)) / odds.pick([1, 1, 2])
    )


def specials(dtype: str) -> list[float]:
    """Zeros of both signs, infinities, NaN, the subnormal and the extreme numbers of a floating dtype."""
    info = ml_dtypes.finfo(dtype_of(dtype))
    least = [float(info.smallest_subnormal), float(info.tiny), float(info.eps)]
    most = [float(info.max), float(info.min)]
    return [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, *least, *most, -least[0]]


def drawn(odds: Odds, dtype: str, shape: Sequence[int], holder: str = "device") -> Described:
    """An array of that type with drawn entries."""
    return array(dtype, shape, values(odds, dtype, math.prod(shape)), holder)
