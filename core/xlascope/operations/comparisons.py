"""Elementwise comparisons, whose results are booleans without derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..key_types import KeyType
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute
from .elementwise import Binary, stretch_values
from .operand_values import match


class _ElementwiseComparison(Binary):
    """Base of comparisons of two operands; ``direction`` is StableHLO's name of the comparison."""

    direction: ClassVar[str]
    kinds = "bifc"

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (z,) = super().abstract_eval(operands)
        return [make_aval(z.shape, np.dtype("bool"))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        direction = attribute(f"#stablehlo<comparison_direction {self.direction}>")
        return builder.emit(  # type: ignore[no-any-return]
            "stablehlo.compare", stretch_values(builder, operands), {"comparison_direction": direction}
        )

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    derivative_right = derivative_left


class Eq(_ElementwiseComparison, name="eq"):
    """Elementwise comparison x == y."""

    direction = "EQ"


def eq(x: Any, y: Any) -> Any:
    """Return whether x == y, elementwise; for keys, whether they are the same."""
    if _are_keys_of_one_type(x, y):
        return KEY_COMPARISONS["eq"](x, y)
    return bind1(Eq.instance, *match(x, y))


#: The comparisons of typed keys, "eq" and "ne", which are by their words; ``random_keys.py`` installs them.
KEY_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {}


def _are_keys_of_one_type(x: Any, y: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype.__class__ is KeyType and getattr(y, "dtype", None) is dtype


class Ne(_ElementwiseComparison, name="ne"):
    """Elementwise comparison x != y."""

    direction = "NE"


def ne(x: Any, y: Any) -> Any:
    """Return whether x != y, elementwise; for keys, whether they differ."""
    if _are_keys_of_one_type(x, y):
        return KEY_COMPARISONS["ne"](x, y)
    return bind1(Ne.instance, *match(x, y))


class Lt(_ElementwiseComparison, name="lt"):
    """Elementwise comparison x < y."""

    direction = "LT"
    kinds = "bif"


def lt(x: Any, y: Any) -> Any:
    """Return whether x < y, elementwise."""
    return bind1(Lt.instance, *match(x, y))


class Le(_ElementwiseComparison, name="le"):
    """Elementwise comparison x <= y."""

    direction = "LE"
    kinds = "bif"


def le(x: Any, y: Any) -> Any:
    """Return whether x <= y, elementwise."""
    return bind1(Le.instance, *match(x, y))


class Gt(_ElementwiseComparison, name="gt"):
    """Elementwise comparison x > y."""

    direction = "GT"
    kinds = "bif"


def gt(x: Any, y: Any) -> Any:
    """Return whether x > y, elementwise."""
    return bind1(Gt.instance, *match(x, y))


class Ge(_ElementwiseComparison, name="ge"):
    """Elementwise comparison x >= y."""

    direction = "GE"
    kinds = "bif"


def ge(x: Any, y: Any) -> Any:
    """Return whether x >= y, elementwise."""
    return bind1(Ge.instance, *match(x, y))
