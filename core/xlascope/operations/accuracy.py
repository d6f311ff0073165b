"""How exact an elementwise function is to be: what users write, and what the compiler is told."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.sources import user_line, where_text
from ..records.traits import TRANSCENDENTAL
from ..xla.mlir.builder import attribute
from .families import Unary


class AccuracyMode(enum.Enum):
    """Which of its implementations of a function the compiler takes."""

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True, init=False)
class Tolerance:
    """How far an elementwise function may be off: by ``atol`` absolutely, by ``rtol`` relative to the exact result, by
    ``ulps`` units in the last place; a bound of zero says nothing.

    The compiler takes its fastest implementation that is within the bounds; XLA's CPU compiler has one of each.
    Raises ValueError where no bound is set, or one is negative or no number.

    >>> from xlascope import lax
    >>> print(lax.exp(1.0, accuracy=lax.Tolerance(rtol=1e-3)))
    2.7182817
    """

    atol: float
    rtol: float
    ulps: int

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        given = {"atol": atol, "rtol": rtol, "ulps": ulps}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**63:
                raise ValueError(f"Tolerance takes bounds that are not negative, got {name}={value!r}")
        if int(ulps) != ulps:
            raise ValueError(f"Tolerance takes a whole number of units in the last place, got ulps={ulps!r}")
        if not any(given.values()):
            raise ValueError("Tolerance takes at least one bound that is not zero: atol, rtol or ulps")
        for name, value in (("atol", float(atol)), ("rtol", float(rtol)), ("ulps", int(ulps))):
            object.__setattr__(self, name, value)


def accuracy_of(accuracy: Any) -> Tolerance | AccuracyMode | None:
    """What a user asked for; raises TypeError for what is neither a ``Tolerance`` nor an ``AccuracyMode``."""
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
    """Elementwise on one operand, as exact as ``accuracy`` says; None leaves that to the compiler."""

    traits = TRANSCENDENTAL
    accuracy: Tolerance | AccuracyMode | None = None

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self.emitted(builder, operands, None if self.accuracy is None else _attributes(self.accuracy))

    @classmethod
    def to(cls, accuracy: Any) -> Any:
        """The operation for what a user gave as ``accuracy``."""
        return cls.instance if accuracy is None else cls(accuracy_of(accuracy))
