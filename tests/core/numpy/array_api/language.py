"""How the special cases of the array API standard are written down here, and what an operand and a result are by it.

A case is ``kinds: result``, as ``+0 <0: -0``: for each number of the kinds left of the colon the function gives what
stands right of it. Those of complex numbers have two kinds for an operand and two results, for the real and the
imaginary part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

NAN, INF = math.nan, math.inf
_POSITIVE = [0.5, 1.0, 2.5, 3e4]
_NEGATIVE = [-x for x in _POSITIVE]
_FINITE = [*_POSITIVE, *_NEGATIVE, 0.0, -0.0]

#: What numbers are of a kind. A kind that is not here is a number itself.
KINDS: dict[str, list[float]] = {
    "nan": [NAN],
    "-nan": [-NAN],
    "inf": [INF, -INF],
    "0": [0.0, -0.0],
    "+0": [0.0],
    "-0": [-0.0],
    "any": [*_FINITE, INF, -INF, NAN],
    "number": [*_FINITE, INF, -INF],
    "finite": _FINITE,
    "nonzero": [*_POSITIVE, *_NEGATIVE],
    "other": [*_POSITIVE, *_NEGATIVE, INF, -INF],
    "pos": _POSITIVE,
    "neg": _NEGATIVE,
    ">0": [*_POSITIVE, INF],
    "<0": [*_NEGATIVE, -INF],
    ">1": [1.5, 3e4, INF],
    "<-1": [-1.5, -3e4, -INF],
    "<1": [0.5, 0.0, -0.0, -2.0, -INF],
    "|>1|": [1.5, -1.5, 3e4, -3e4, INF, -INF],
    "|<1|": [0.5, -0.5, 0.0, -0.0],
    "|1|": [1.0, -1.0],
    "not1": [0.5, 0.0, -0.0, -1.0, 2.5, INF, -INF, NAN],
    "odd>0": [1.0, 3.0, 5.0],
    "odd<0": [-1.0, -3.0, -5.0],
    "notodd>0": [2.0, 0.5, 4.0, 2.5, INF],
    "notodd<0": [-2.0, -0.5, -4.0, -2.5, -INF],
    "fraction": [0.5, -0.5, 2.5, -1.25],
    "integer": [-3.0, -1.0, 0.0, -0.0, 1.0, 2.0, 700.0],
}
_ANGLES = {
    f"{sign}{text}": (-1 if sign else 1) * value
    for sign in ("", "-")
    for text, value in (("pi", np.pi), ("pi/2", np.pi / 2), ("pi/4", np.pi / 4), ("3pi/4", 3 * np.pi / 4))
}


@dataclass(frozen=True)
class Wanted:
    """One real number of a result, and how much of it counts."""

    value: float
    #: Whether the sign may be another.
    unsigned: bool = False
    #: Whether nothing but the sign counts; that of NaN does not but for this.
    sign_alone: bool = False

    def allows(self, found: float, precision: float) -> bool:
        """Whether the number that was found is this one."""
        same_sign = math.copysign(1, found) == math.copysign(1, self.value)
        if self.sign_alone:
            return same_sign and math.isnan(found) == math.isnan(self.value)
        if math.isnan(self.value) or math.isnan(found):
            return math.isnan(self.value) and math.isnan(found)
        near = math.isclose(abs(found), abs(self.value), rel_tol=precision, abs_tol=0)
        return near and (self.unsigned or same_sign)


@dataclass(frozen=True)
class Case:
    """A sentence of the standard at one place: ``text`` says it, the operands are real numbers, or pairs of them."""

    text: str
    operands: tuple[float, ...]
    wanted: tuple[Wanted, ...]


def _numbers(kind: str) -> list[float]:
    return KINDS[kind] if kind in KINDS else [float(kind)]


def wanted(text: str, operands: tuple[float, ...]) -> Wanted:
    """What a result's text means for some operands."""
    named = {f"x{i + 1}": x for i, x in enumerate(operands)}
    if text in ("sign+", "sign-"):
        return Wanted(1.0 if text == "sign+" else -1.0, sign_alone=True)
    if text in ("+nan", "-nan"):
        return Wanted(math.copysign(NAN, -1 if text == "-nan" else 1), sign_alone=True)
    if text.startswith("~"):
        return Wanted(float(text[1:]), unsigned=True)
    if text.lstrip("-|").rstrip("|") in named:
        value = named[text.strip("-|")]
        value = abs(value) if "|" in text else value
        return Wanted(-value if text.startswith("-") else value)
    if text in ("true", "false"):
        return Wanted(float(text == "true"))
    return Wanted(_ANGLES[text] if text in _ANGLES else float(text))


def cases(table: str) -> Iterator[Case]:
    """The cases of one function of real numbers."""
    for row in filter(None, (part.strip() for part in table.split(";"))):
        kinds, result = row.split(":")
        for operands in itertools.product(*map(_numbers, kinds.split())):
            yield Case(row, operands, (wanted(result.strip(), operands),))


def complex_cases(table: str) -> Iterator[Case]:
    """The cases of one function of complex numbers; an operand is two numbers."""
    for row in filter(None, (part.strip() for part in table.split(";"))):
        kinds, result = row.split(":")
        for operands in itertools.product(*map(_numbers, kinds.split())):
            yield Case(row, operands, _complex_result(result.strip(), operands))


def _complex_result(text: str, operands: tuple[float, ...]) -> tuple[Wanted, ...]:
    if "cis" not in text:
        return tuple(wanted(part, operands) for part in text.split())
    size, _, less = text.partition("*cis")
    angle, factor = operands[1], float(size)
    parts = factor * math.cos(angle), factor * math.sin(angle)
    return Wanted(parts[0] + float(less or 0)), Wanted(parts[1])
