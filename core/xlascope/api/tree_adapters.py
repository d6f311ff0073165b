"""Adapters between users' functions of trees and the interpreters' functions of flat operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.programs.function_names import defined_at
from ..control.programs.values import check_results
from ..dtypes import float0, is_differentiable
from ..ir.avals import ShapedArray, strip_weak_type
from ..ir.jaxpr import Literal
from ..ir.markers import ZERO
from ..operations.conversion import to_dtype
from ..operations.shapes import zeros_of
from ..trace.operand_coercion import pass_through, to_array, unwrap_operand
from ..transforms import differentiate
from ..transforms.jvp_trace import JVPTracer
from ..xla.arrays.transfers import put_on_device
from .argnames import name_of
from .differentiated_arguments import at, kind_of


class FunctionOutputs:
    """Outputs of a function of trees besides its flat results, set when it is called: their structure, and aux."""

    __slots__ = ("aux", "structure")

    structure: Any
    aux: Any

    def unwrap_aux(self) -> Any:
        """Return the aux with the primal values in place of tracers of a differentiation that has ended."""
        return tree.map(_unwrap_tracer, self.aux)


def flatten_function(
    fun: Callable[..., Any], named_function: Callable[..., Any], in_structure: Any, has_aux: bool
) -> tuple[Callable[..., list[Any]], FunctionOutputs]:
    """Return ``fun`` as a function from flat operands to flat results, and the object that gets its structure and aux.

    ``in_structure`` is that of the tuple of arguments. With ``has_aux``, ``fun`` returns a pair (result,
    aux). Messages name the function ``named_function``.
    """
    outputs = FunctionOutputs()

    def flat_function(*xs: Any) -> list[Any]:
        result = fun(*in_structure.unflatten(xs))
        if has_aux:
            result, outputs.aux = _split_aux(named_function, result)
        results, outputs.structure = tree.flatten(result)
        return check_results(name_of(named_function), results, outputs.structure)

    return flat_function, outputs


def linearize_function(
    fun: Callable[..., Any],
    named_function: Callable[..., Any],
    operands: Sequence[Any],
    in_structure: Any,
    has_aux: bool,
) -> tuple[list[Any], differentiate.LinearProgram, FunctionOutputs]:
    """Return the flat results of a function of trees, its linear program, and the object with structure and aux.

    ``operands`` are the leaves of the arguments; the other parameters are those of :func:`flatten_function`.
    """
    flat, outputs = flatten_function(fun, named_function, in_structure, has_aux)
    results, linear = differentiate.linearize(flat, operands)
    return results, linear, outputs


def _split_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    """Return the two elements of the pair (result, aux) that a function returned; raise TypeError for anything else."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True {name_of(fun)}{defined_at(fun)} has to return a pair (result, aux), it returned "
            f"{kind_of(result)}{at()}"
        )
    return result[0], result[1]


def _unwrap_tracer(x: Any) -> Any:
    """Return the primal value inside tracers of differentiations that have ended; other values as they are."""
    while x.__class__ is JVPTracer and not x._trace.alive:
        x = x.primal
    return x


def derivative_array(value: Any, aval: ShapedArray) -> Any:
    """Return a tangent or cotangent of a value of type ``aval`` as an array; of dtype float0 for an integer.

    Types are never weak during differentiation; the derivative with respect to a Python number becomes weak
    here, as that number is.
    """
    if not is_differentiable(aval.dtype):
        return np.zeros(aval.shape, float0)
    array = as_array(value, aval)
    return to_dtype(array, aval.dtype, weak_type=True) if aval.weak_type else array


def as_array(value: Any, aval: ShapedArray) -> Any:
    """Return a value as an array of type ``aval``, without weak type: a number is converted, ZERO becomes zeros."""
    aval = strip_weak_type(aval)
    if value is ZERO:
        value = zeros_of(aval)
    if value.__class__ is Literal:
        value = value.val
    return put_on_device(value, aval) if isinstance(value, (np.generic, int, float, complex, np.ndarray)) else value


def to_operand(x: Any) -> Any:
    """Convert a flat argument to an operand: NumPy arrays, which are mutable, are copied; scalars stay scalars."""
    return to_array(x) if isinstance(x, np.ndarray) and x.dtype != float0 else unwrap_operand(x)


def to_result(x: Any) -> Any:
    """Convert a flat result for the user: NumPy values become arrays, except for scalars during tracing."""
    return x if getattr(x, "dtype", None) == float0 else pass_through(x)
