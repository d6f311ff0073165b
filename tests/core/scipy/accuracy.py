"""Functions of scipy.special and of the distributions of scipy.stats: where they are defined, and what they are.

This file imports neither library: the functions that compute are given one. References are mpmath's, in 50 digits.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

#: How many places of its domain a function is computed at.
COUNT = 400
#: Digits of the references.
PRECISION = 50


@dataclasses.dataclass(frozen=True)
class Range:
    """The places of an operand, spread evenly over an interval or over its logarithm, by irrational steps."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False
    both_signs: bool = False

    def places(self, number: int) -> np.ndarray:
        parts = (np.arange(1, COUNT + 1) * np.sqrt([2.0, 3.0, 5.0, 7.0][number]) + 0.137) % 1
        low, high = (np.log([self.low, self.high])) if self.logarithmic else (self.low, self.high)
        found = low + (high - low) * parts
        found = np.exp(found) if self.logarithmic else found
        found = np.floor(found) if self.whole else found
        return found * np.where(np.arange(COUNT) % 2, 1, -1) if self.both_signs else found


def over(low: float, high: float) -> Range:
    """Evenly from ``low`` to ``high``."""
    return Range(low, high)


def scales(low: float, high: float, both_signs: bool = False) -> Range:
    """Evenly in the logarithm."""
    return Range(low, high, logarithmic=True, both_signs=both_signs)


def counts(low: int, high: int) -> Range:
    """Whole numbers, without the last."""
    return Range(low, high, whole=True)


@dataclasses.dataclass(frozen=True)
class Row:
    """A function, as an expression in its operands, what mpmath has for it, and where its operands are taken."""

    expression: str
    reference: Callable[..., Any]
    ranges: tuple[Range, ...]
    #: Of complex results: both parts are to have all digits, where usually their distance from the right number counts.
    parts: bool = False

    @property
    def room(self) -> str:
        """The module whose function it is."""
        return self.expression.partition(".")[0]

    def operands(self, dtype: Any) -> tuple[np.ndarray, ...]:
        """The operands in a dtype, in which their digits end."""
        return tuple(each.places(number).astype(dtype) for number, each in enumerate(self.ranges))


@functools.cache
def rows() -> dict[str, Row]:
    """All rows by their names: the expressions, and what is said of the operands where there are several."""
    from tests.core.scipy import accuracy_of_distributions, accuracy_of_special  # noqa: PLC0415 -- they use this file

    return {**accuracy_of_special.rows(), **accuracy_of_distributions.rows()}


def computed(library: Any, room: str, dtype: Any) -> dict[str, Any]:
    """What all rows of a room, "special" or "stats", come to in a library."""
    return {name: of_row(library, row, dtype) for name, row in rows().items() if row.room == room}


def of_row(library: Any, row: Row, dtype: Any) -> Any:
    """What a row comes to, in one compiled call; the error's text where it raises."""
    module = importlib.import_module(f"{library.__name__}.scipy.{row.room}")

    def function(*operands: Any) -> Any:
        names = dict(zip("abcd", operands, strict=False))
        return eval(row.expression, {row.room: module, "jnp": library.numpy, "lax": library.lax, **names})

    try:
        return np.asarray(library.jit(function)(*row.operands(dtype)))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def references(row: Row, dtype: Any) -> list[Any]:
    """The right numbers, in many digits; None where they are not numbers of the dtype or there are none."""
    import mpmath  # noqa: PLC0415 -- only this needs it

    limits = np.finfo(dtype)
    found: list[Any] = []
    with mpmath.workdps(PRECISION):
        for place in zip(*row.operands(dtype), strict=True):
            try:
                value = row.reference(*(mpmath.mpf(float(x)) for x in place))
            except (ValueError, ZeroDivisionError, mpmath.libmp.NoConvergence):
                value = None
            size = None if value is None else abs(value)
            usual = size is not None and float(limits.tiny) * 4 < size < float(limits.max) / 4
            found.append(value if usual else None)
    return found


def errors(row: Row, found: np.ndarray, wanted: Sequence[Any], dtype: Any) -> np.ndarray:
    """Relative errors in halves of the last place; infinite where one is missing, 0 where there is none to have."""
    import mpmath  # noqa: PLC0415

    half = float(np.finfo(dtype).eps) / 2
    made = np.zeros(len(wanted))
    with mpmath.workdps(PRECISION):
        for number, (x, y) in enumerate(zip(found.tolist(), wanted, strict=True)):
            if y is None:
                continue
            pairs = [(x, y)]
            if row.parts:
                pairs = [(x.real, y.real), (x.imag, y.imag)]
            made[number] = max(_error(a, b, half) for a, b in pairs)
    return made


def _error(x: Any, y: Any, half: float) -> float:
    import mpmath  # noqa: PLC0415

    z = mpmath.mpmathify(x)
    return float(abs(z - y) / abs(y) / half) if mpmath.isfinite(z) else float("inf")
