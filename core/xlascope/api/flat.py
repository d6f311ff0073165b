"""Adapters between users' functions of trees and the interpreters' functions of flat operands."""

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
    """Outputs of a function of trees besides its flat results: their structure, and aux."""

    __slots__ = ("aux", "structure")

    structure: Any
    aux: Any

    def lowered_aux(self) -> Any:
        """Return the aux without tracers of a differentiation that has ended."""
        return tree.map(_lowered, self.aux)


def flattened(
    fun: Callable[..., Any], named_function: Callable[..., Any], in_structure: Any, has_aux: bool
) -> tuple[Callable[..., list[Any]], Kept]:
    """Return a function from flat operands to flat results, and the object that receives its structure and aux.

    Messages name the function ``named_function``.
    """
    outputs = Kept()

    def flat_function(*xs: Any) -> list[Any]:
        result = fun(*in_structure.unflatten(xs))
        if has_aux:
            result, outputs.aux = _with_aux(named_function, result)
        results, outputs.structure = tree.flatten(result)
        return check_results(name_of(named_function), results, outputs.structure)

    return flat_function, outputs


def linearized(
    fun: Callable[..., Any],
    named_function: Callable[..., Any],
    operands: Sequence[Any],
    in_structure: Any,
    has_aux: bool,
) -> tuple[list[Any], differentiate.LinearProgram, Kept]:
    """Return the flat results of a function of trees, its linear program, and its structure and aux."""
    flat, outputs = flattened(fun, named_function, in_structure, has_aux)
    results, linear = differentiate.linearize(flat, operands)
    return results, linear, outputs


def _with_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True {name_of(fun)}{defined_at(fun)} has to return a pair (result, aux), it returned "
            f"{kind_of(result)}{at()}"
        )
    return result[0], result[1]


def _lowered(x: Any) -> Any:
    """Return the value inside a tracer of a differentiation that has ended."""
    while x.__class__ is JVPTracer and not x._trace.alive:
        x = x.primal
    return x


def derivative_array(value: Any, aval: ShapedArray) -> Any:
    """Return a tangent or cotangent as an array of the type it belongs to, float0 for integers.

    Types are never weak during differentiation; the derivative with respect to a Python number becomes weak here,
    as that number is.
    """
    if not is_differentiable(aval.dtype):
        return np.zeros(aval.shape, float0)
    array = as_array(value, aval)
    return convert_element_type(array, aval.dtype, weak_type=True) if aval.weak_type else array


def as_array(value: Any, aval: ShapedArray) -> Any:
    """Return a value as an array of a type: a number is converted, ZERO becomes zeros."""
    aval = strengthened(aval)
    if value is ZERO:
        value = zeros_of(aval)
    return put(value, aval) if isinstance(value, (np.generic, int, float, complex, np.ndarray)) else value


def taken(x: Any) -> Any:
    """Convert a flat argument to an operand: mutable NumPy arrays are copied, scalars remain scalars."""
    return array_of(x) if isinstance(x, np.ndarray) and x.dtype != float0 else opened(x)


def given(x: Any) -> Any:
    """Convert a flat result for the user: NumPy values become arrays, but scalars remain scalars during tracing."""
    return x if getattr(x, "dtype", None) == float0 else unchanged(x)
