"""Elementwise comparisons, whose results are booleans without derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
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
    """Return whether x == y, elementwise."""
    return bind1(Eq.instance, *match(x, y))


class Ne(_ElementwiseComparison, name="ne"):
    """Elementwise comparison x != y."""

    direction = "NE"


def ne(x: Any, y: Any) -> Any:
    """Return whether x != y, elementwise."""
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
