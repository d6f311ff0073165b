"""How exact products are, on hardware that offers a choice: what users write, and what the compiler is told."""

from __future__ import annotations

import enum
from typing import Any

from ..ir.sources import user_line, where_text
from ..runtime import boot


class Precision(enum.Enum):
    """How exact products are on hardware that offers a choice."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


#: A precision for each operand, or the name of an algorithm (``BF16_BF16_F32``); None leaves it to the compiler.
Precisions = tuple[Precision, Precision] | str | None

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
    """The precision that a product has when a user asked for ``precision``; the setting's when that is None.

    Raises ValueError, which lists what there is, for anything else.

    >>> precision_of("tensorfloat32")
    (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = boot.default_matmul_precision.value
    if precision is None or (isinstance(precision, str) and precision in boot.MATMUL_ALGORITHMS):
        return precision
    both = precision if isinstance(precision, tuple) and len(precision) == 2 else (precision, precision)
    left, right = (p if isinstance(p, Precision) else _NAMES.get(p) if isinstance(p, str) else None for p in both)
    if left is None or right is None:
        raise ValueError(
            f"there is no precision {precision!r}{where_text(user_line())}: it can be None, a lax.Precision or its "
            f"name ({', '.join(_NAMES)}), a pair of these (one for each operand), or an algorithm "
            f"({', '.join(boot.MATMUL_ALGORITHMS)})"
        )
    return left, right


def precision_config(precision: Precisions) -> str:
    """The attribute that tells the compiler how exact the operands are to be taken."""
    both = precision if isinstance(precision, tuple) else (Precision.DEFAULT, Precision.DEFAULT)
    return "[" + ", ".join(f"#stablehlo<precision {p.name}>" for p in both) + "]"


def algorithm_attribute(precision: Precisions) -> str | None:
    """The attribute for an algorithm by name: the types it multiplies and adds in, and in how many products."""
    if not isinstance(precision, str):
        return None
    left, right, sum_type, *times = precision.lower().split("_")
    count = int(times[0].removeprefix("x")) if times else 1
    return (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {left}, rhs_precision_type = {right}, "
        f"accumulation_type = {sum_type}, lhs_component_count = 1, rhs_component_count = 1, "
        f"num_primitive_operations = {count}, allow_imprecise_accumulation = false>"
    )
