"""Precision of products on hardware that offers a choice: the user's argument and the compiler's attribute."""

from __future__ import annotations

import enum
from typing import Any

from ..ir.user_frames import user_line, where_text
from ..runtime import boot
from .dot_algorithms import DotAlgorithm, DotAlgorithmPreset, preset_of_algorithm


class Precision(enum.Enum):
    """Precision of products on hardware that offers several."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


#: A precision for each operand, or an algorithm; None leaves it to the compiler.
Precisions = tuple[Precision, Precision] | DotAlgorithmPreset | None

_NAMES = {
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


def precision_of(precision: Any) -> Precisions:
    """Return the precision that a user's argument ``precision`` stands for; None means the setting.

    Raises ValueError, which lists the valid values, for anything else.

    >>> precision_of("tensorfloat32")
    (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = boot.default_matmul_precision.value
    if precision is None or isinstance(precision, DotAlgorithmPreset):
        return precision
    if isinstance(precision, DotAlgorithm):
        return preset_of_algorithm(precision)
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    both = precision if isinstance(precision, tuple) and len(precision) == 2 else (precision, precision)
    lhs, rhs = (p if isinstance(p, Precision) else _NAMES.get(p) if isinstance(p, str) else None for p in both)
    if lhs is None or rhs is None:
        raise ValueError(
            f"there is no precision {precision!r}{where_text(user_line())}: it can be None, a lax.Precision or its "
            f"name ({', '.join(_NAMES)}), a pair of these (one for each operand), or an algorithm: a "
            f"lax.DotAlgorithm, a lax.DotAlgorithmPreset or its name ({', '.join(boot.MATMUL_ALGORITHMS)})"
        )
    return lhs, rhs


def pair_of(precision: Precisions) -> tuple[Precision, Precision] | None:
    """Return the precisions of the two operands; None if the compiler or an algorithm determines them."""
    return None if isinstance(precision, DotAlgorithmPreset) else precision


def precision_config(precision: Precisions) -> str:
    """Return the text of StableHLO's attribute ``precision_config`` with the operands' precisions."""
    both = pair_of(precision) or (Precision.DEFAULT, Precision.DEFAULT)
    return "[" + ", ".join(f"#stablehlo<precision {p.name}>" for p in both) + "]"
