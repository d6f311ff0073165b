"""Values that vary along axes of a mesh: what a checked shard_map (``check_vma``) knows of them by their types.

A value that is the same on all devices and meets one that is not is used by each device for itself. So its cotangent is
the sum of theirs: :class:`PVary` is the identity, and its transpose is that sum. Only tangents need it, and derivatives
put it where it is needed; a value that does not move is lowered as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from ..ir.avals import AxisNames, ShapedArray, union_of_varying_axes, with_varying_axes
from ..ir.markers import ZERO
from ..trace.bind import bind1
from ..trace.state import STATE
from ..trace.values import aval_of
from .collectives import PSum
from .linear_operation import Linear


class PVary(Linear, name="pvary"):
    """Identity whose result, by its type, may vary along the mesh axes ``axes`` as well."""

    accepts_keys = True

    axes: tuple[Hashable, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [with_varying_axes(x, x.varying.union(self.axes)) for x in operands]

    def varying_axes(self, types: Sequence[ShapedArray]) -> AxisNames:
        return union_of_varying_axes(types).union(self.axes)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return [bind1(PSum(self.axes), *cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


def make_varying(x: Any, axes: Iterable[Hashable]) -> Any:
    """Return ``x`` with a type by which it may vary along the mesh axes ``axes``."""
    missing = missing_axes(aval_of(x), axes)
    return bind1(PVary(missing), x) if missing else x


def missing_axes(aval: ShapedArray, axes: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return those of some mesh axes along which values of a type do not vary, in the order of the mesh."""
    wanted = frozenset(axes) - aval.varying
    return tuple(name for name, _ in STATE.axes if name in wanted) if wanted else ()


def sum_over_extra_axes(aval: ShapedArray, cotangent: Any) -> Any:
    """Return the cotangent of a value of type ``aval``: the sum over mesh axes along which only the cotangent varies.

    A rule of a user's, which returns cotangents, does not say how often each device has used the value.
    """
    if cotangent is None or cotangent is ZERO:
        return cotangent
    extra = missing_axes(aval, aval_of(cotangent).varying)
    return bind1(PSum(extra), cotangent) if extra else cotangent


__all__ = ["PVary", "make_varying", "missing_axes", "sum_over_extra_axes"]
