"""Accuracy of elementwise functions: the user's argument and the compiler's attribute."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.user_frames import user_line, where_text
from ..records.traits import TRANSCENDENTAL
from ..xla.mlir.builder import attribute
from .elementwise import Unary


class AccuracyMode(enum.Enum):
    """Accuracy requested of the compiler: its most accurate implementation of a function, or its default one."""

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True, init=False)
class Tolerance:
    """Bounds on the error of an elementwise function.

    ``atol`` bounds the absolute error, ``rtol`` the error relative to the exact result, ``ulps`` the error in units in
    the last place; a bound of zero sets no limit. The compiler takes its fastest implementation that is within the
    bounds; XLA's CPU compiler has only one implementation of each function. Raises ValueError if no bound is set, or if
    one is negative or not a number.

    >>> from xlascope import lax
    >>> print(lax.exp(1.0, accuracy=lax.Tolerance(rtol=1e-3)))
    2.7182817
    """

    atol: float
    rtol: float
    ulps: int

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        bounds = {"atol": atol, "rtol": rtol, "ulps": ulps}
        for name, value in bounds.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**63:
                raise ValueError(f"Tolerance takes bounds that are not negative, got {name}={value!r}")
        if int(ulps) != ulps:
            raise ValueError(f"Tolerance takes a whole number of units in the last place, got ulps={ulps!r}")
        if not any(bounds.values()):
            raise ValueError("Tolerance takes at least one bound that is not zero: atol, rtol or ulps")
        for name, value in (("atol", float(atol)), ("rtol", float(rtol)), ("ulps", int(ulps))):
            object.__setattr__(self, name, value)


def accuracy_of(accuracy: Any) -> Tolerance | AccuracyMode | None:
    """Return a valid ``accuracy`` argument unchanged.

    Raises TypeError unless it is a ``Tolerance``, an ``AccuracyMode`` or None.
    """
    if accuracy is None or isinstance(accuracy, (Tolerance, AccuracyMode)):
        return accuracy
    raise TypeError(
        f"accuracy is a lax.Tolerance(atol, rtol, ulps), a lax.AccuracyMode or None, got {accuracy!r}"
        + where_text(user_line())
    )


def _attributes(accuracy: Tolerance | AccuracyMode) -> dict[str, Any]:
    if isinstance(accuracy, Tolerance):
        bounds = f"atol = {accuracy.atol:.16e}, rtol = {accuracy.rtol:.16e}, ulps = {accuracy.ulps}, "
        mode = "TOLERANCE"
    else:
        bounds, mode = "", accuracy.name
    text = f"#stablehlo.result_accuracy<{bounds}mode = #stablehlo.result_accuracy_mode<{mode}>>"
    return {"result_accuracy": attribute(text)}


class Accurate(Unary):
    """Base of elementwise operations on one operand with a requested accuracy.

    ``accuracy`` is a ``Tolerance`` or an ``AccuracyMode``; None leaves it to the compiler.
    """

    traits = TRANSCENDENTAL
    accuracy: Tolerance | AccuracyMode | None = None

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self.emit_hlo(builder, operands, None if self.accuracy is None else _attributes(self.accuracy))

    @classmethod
    def with_accuracy(cls, accuracy: Any) -> Any:
        """Return the operation with the accuracy that a user requested.

        ``accuracy`` is a ``Tolerance``, an ``AccuracyMode`` or None; raises TypeError for anything else.
        """
        return cls.instance if accuracy is None else cls(accuracy_of(accuracy))
