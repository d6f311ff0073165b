"""Inspection of a function without computing it: make_jaxpr, eval_shape, ShapeDtypeStruct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.programs.function_names import operand_names
from ..control.programs.values import check_results
from ..ir.avals import ShapedArray, ShapeDtypeStruct
from ..ir.jaxpr import ClosedJaxpr
from ..trace.jaxpr_trace import stage
from ..trace.operand_coercion import aval_from_attributes
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of, is_value
from .argnames import ArgNums, name_of, to_argnums, wraps


def abstract(x: Any) -> ShapedArray:
    """Return the abstract value of an argument: an array, a scalar, or any object with a shape and a dtype."""
    described_aval = None if x.__class__ is np.ndarray or is_value(x) else aval_from_attributes(x)
    return aval_of(x) if described_aval is None else described_aval


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: ArgNums = None, return_shape: bool = False
) -> Callable[..., Any]:
    """Return a function that returns the jaxpr of ``fun`` for its arguments without running it.

    The arguments are arrays, scalars, or objects with a shape and a dtype, such as ShapeDtypeStruct, or trees
    of them. With ``return_shape`` it returns a pair: the jaxpr, and a tree like the result with shapes and
    dtypes.

    >>> import xlascope as xs
    >>> xs.make_jaxpr(lambda x: x * 2.0)(1.0)
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    static = to_argnums(static_argnums)

    @wraps(fun, "make_jaxpr")
    @api_boundary
    def trace_call(*args: Any, **kwargs: Any) -> Any:
        program, shape = trace_program(fun, args, kwargs, static)
        return (program, shape) if return_shape else program

    return trace_call


def trace_program(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int] = ()
) -> tuple[ClosedJaxpr, Any]:
    """Return the closed jaxpr of a call, and a tree like its result with a ShapeDtypeStruct for each array.

    ``static`` are the positions of static arguments.
    """
    dynamic = [None if i in static else x for i, x in enumerate(args)]
    operands, structure = tree.flatten((tuple(dynamic), kwargs))
    structures: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        positional_or_none, keyword = structure.unflatten(xs)
        positional = [args[i] if i in static else x for i, x in enumerate(positional_or_none)]
        results, out_structure = tree.flatten(fun(*positional, **keyword))
        structures.append(out_structure)
        return check_results(name_of(fun), results, out_structure)

    program = stage(flat, [abstract(x) for x in operands], name_of(fun), lambda: operand_names(fun, structure))
    shapes_out = [ShapeDtypeStruct(a.shape, a.dtype, a.weak_type) for a in program.out_avals]
    return program, structures[0].unflatten(shapes_out)


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return a tree like the result of ``fun`` with shapes and dtypes in place of arrays, without computing it.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.eval_shape(jnp.sin, xs.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    return trace_program(fun, args, kwargs)[1]
