"""Between the user's functions of trees and the interpreters' functions of flat operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.programs.values import check_results
from ..dtypes import float0, is_differentiable
from ..ir.avals import ShapedArray, strengthened
from ..ir.markers import ZERO
from ..operations.conversion import convert_element_type
from ..operations.shapes import zeros_of
from ..trace.gate import array_of, opened, unchanged
from ..transforms import differentiate
from ..transforms.jvp_trace import JVPTracer
from ..xla.arrays.transfers import put
from .arguments import at, defined_at, kind_of
from .naming import name_of


class Kept:
    """What a function of trees leaves beside its flat results: their structure, and what it returned as aux."""

    __slots__ = ("aux", "structure")

    structure: Any
    aux: Any

    def lowered_aux(self) -> Any:
        """The aux without the tracers of a differentiation that has ended."""
        return tree.map(_lowered, self.aux)


def flattened(
    fun: Callable[..., Any], named: Callable[..., Any], in_structure: Any, has_aux: bool
) -> tuple[Callable[..., list[Any]], Kept]:
    """A function of flat operands to flat results, for messages named like ``named``; and what it leaves beside."""
    kept = Kept()

    def flat(*xs: Any) -> list[Any]:
        result = fun(*in_structure.unflatten(xs))
        if has_aux:
            result, kept.aux = _with_aux(named, result)
        results, kept.structure = tree.flatten(result)
        return check_results(name_of(named), results, kept.structure)

    return flat, kept


def linearized(
    fun: Callable[..., Any], named: Callable[..., Any], operands: Sequence[Any], in_structure: Any, has_aux: bool
) -> tuple[list[Any], differentiate.LinearProgram, Kept]:
    """The flat results of a function of trees, its recorded linear program, and what it left beside."""
    flat, kept = flattened(fun, named, in_structure, has_aux)
    results, linear = differentiate.linearize(flat, operands)
    return results, linear, kept


def _with_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True {name_of(fun)}{defined_at(fun)} has to return a pair (result, aux), it returned "
            f"{kind_of(result)}{at()}"
        )
    return result[0], result[1]


def _lowered(x: Any) -> Any:
    """The value inside a tracer of a differentiation that has ended."""
    while x.__class__ is JVPTracer and not x._trace.alive:
        x = x.primal
    return x


def derivative_array(value: Any, aval: ShapedArray) -> Any:
    """A tangent or cotangent as users get it: an array of the type it belongs to, float0 for integers.

    Inside of derivatives no type is weak; the derivative by a Python number gives way to other types as that does.
    """
    if not is_differentiable(aval.dtype):
        return np.zeros(aval.shape, float0)
    found = as_array(value, aval)
    return convert_element_type(found, aval.dtype, weak_type=True) if aval.weak_type else found


def as_array(value: Any, aval: ShapedArray) -> Any:
    """A value as users get it: an array where it is a number still, zeros of that type for ZERO."""
    aval = strengthened(aval)
    if value is ZERO:
        value = zeros_of(aval)
    return put(value, aval) if isinstance(value, (np.generic, int, float, complex, np.ndarray)) else value


def taken(x: Any) -> Any:
    """A flat argument as transformations take it: what can change later is copied, a scalar stays one."""
    return array_of(x) if isinstance(x, np.ndarray) and x.dtype != float0 else opened(x)


def given(x: Any) -> Any:
    """A flat result as users get it: never what NumPy holds. While a function is traced a scalar stays one."""
    return x if getattr(x, "dtype", None) == float0 else unchanged(x)
