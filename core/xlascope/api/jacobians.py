"""Jacobians and Hessians: jacfwd, jacrev, hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..operations.conversion import to_dtype
from ..operations.shapes import reshape, zeros_of
from ..operations.slicing import slice_in_dim
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of, exact_result
from ..transforms import differentiate
from ..transforms.transpose import backward
from .argnames import wraps
from .differentiated_arguments import (
    DifferentiatedArguments,
    require_callable,
    require_differentiable,
    require_result_dtype,
    restrict_to_arguments,
)
from .tree_adapters import flatten_function, linearize_function
from .vectorization import vmap


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian column by column: for functions with few inputs and many outputs.

    For an argument of shape A and a result of shape R the Jacobian has shape R + A. For trees it is the
    result's tree, in which the argument's tree (a tuple of trees if ``argnums`` is a sequence) replaces each
    leaf. With ``has_aux``, ``fun`` returns a pair (result, aux), and the returned function a pair (Jacobian,
    aux). Complex arguments need ``holomorphic``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    require_callable("jacfwd", fun)
    arguments = DifferentiatedArguments("jacfwd", argnums)

    @wraps(fun, "jacfwd")
    @api_boundary
    def compute_jacobian(*args: Any, **kwargs: Any) -> Any:
        positions = arguments.resolve_positions(fun, len(args))
        operands, structure = tree.flatten(tuple([args[i] for i in positions]))
        require_differentiable("jacfwd", fun, operands, structure, positions, holomorphic=holomorphic, only_real=True)
        flat, outputs = flatten_function(restrict_to_arguments(fun, positions, args, kwargs), fun, structure, has_aux)

        def push(*tangents: Any) -> list[Any]:
            results, tangents_out = differentiate.jvp(flat, operands, tangents)
            if holomorphic:
                for y in results:
                    require_result_dtype("jacfwd", fun, aval_of(y).dtype, holomorphic)
            out_avals[:] = map(aval_of, results)
            return [zeros_of(aval_of(y)) if t is ZERO else t for t, y in zip(tangents_out, results, strict=True)]

        out_avals: list[ShapedArray] = []
        avals = [aval_of(x) for x in operands]
        columns = vmap(push, out_axes=-1)(*_basis(avals)) if operands else []
        columns = [_as_weak_as(column, aval) for column, aval in zip(columns, out_avals, strict=True)]
        rows = [structure.unflatten(_split_by_operand(column, avals, -1)) for column in columns]
        result = outputs.structure.unflatten([arguments.pick(row) for row in rows])
        return (result, outputs.unwrap_aux()) if has_aux else result

    return compute_jacobian


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian row by row: for functions with many inputs and few outputs.

    See :func:`jacfwd`. With ``allow_int``, the derivatives with respect to integer arguments are zeros of the
    arguments' own type.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jacrev(lambda x: x * jnp.sum(x))(jnp.array([1.0, 2.0])))
    [[4. 1.]
     [2. 5.]]
    """
    require_callable("jacrev", fun)
    arguments = DifferentiatedArguments("jacrev", argnums)

    @wraps(fun, "jacrev")
    @api_boundary
    def compute_jacobian(*args: Any, **kwargs: Any) -> Any:
        positions = arguments.resolve_positions(fun, len(args))
        operands, structure = tree.flatten(tuple([args[i] for i in positions]))
        require_differentiable(
            "jacrev", fun, operands, structure, positions, holomorphic=holomorphic, allow_int=allow_int
        )
        partial = restrict_to_arguments(fun, positions, args, kwargs)
        results, linear, outputs = linearize_function(partial, fun, operands, structure, has_aux)
        avals, out_avals = [aval_of(x) for x in operands], [aval_of(y) for y in results]
        for aval in out_avals:
            require_result_dtype("jacrev", fun, aval.dtype, holomorphic)

        def pull(*cotangents: Any) -> list[Any]:
            received = backward(linear.recorder, linear.inputs, linear.outputs, cotangents)
            return [zeros_of(aval) if ct is ZERO else ct for ct, aval in zip(received, avals, strict=True)]

        rows = vmap(pull)(*_basis(out_avals)) if results else []
        per_operand = [  # for each operand, its piece for each result
            _split_by_operand(_as_weak_as(row, aval), out_avals, 0) for row, aval in zip(rows, avals, strict=False)
        ]
        per_result = [structure.unflatten(pieces) for pieces in zip(*per_operand, strict=True)]
        if not per_operand:  # no operands: nothing to differentiate by, whatever the results
            per_result = [structure.unflatten([]) for _ in results]
        result = outputs.structure.unflatten([arguments.pick(pieces) for pieces in per_result])
        return (result, outputs.unwrap_aux()) if has_aux else result

    return compute_jacobian


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the second derivatives: the forward-mode Jacobian of the reverse-mode Jacobian.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.hessian(lambda x: x[0] * x[0] * x[1])(jnp.array([1.0, 2.0])))
    [[4. 2.]
     [2. 0.]]
    """
    rows = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(rows, argnums, has_aux, holomorphic)


def _as_weak_as(x: Any, aval: ShapedArray) -> Any:
    """Return a derivative weakly typed if ``aval`` is, the value that it is of the type of, else strongly typed."""
    if aval_of(x).weak_type == aval.weak_type:
        return x
    return to_dtype(x, aval.dtype, aval.weak_type)


def _basis(avals: Sequence[ShapedArray]) -> list[Any]:
    """Return the unit tangents of all elements of operands with those types, as one batch.

    For each operand it is an array with a leading axis, whose size is the number of elements of all operands.
    """
    total = sum(aval.size for aval in avals)
    arrays, start = [], 0
    for aval in avals:
        block = np.zeros((total, aval.size), aval.dtype)
        block[start : start + aval.size] = np.eye(aval.size, dtype=aval.dtype)
        shape = (total, *aval.shape)
        arrays.append(exact_result(block.reshape(shape), make_aval(shape, aval.dtype)))
        start += aval.size
    return arrays


def _split_by_operand(x: Any, avals: Sequence[ShapedArray], axis: int) -> list[Any]:
    """Return one piece of an array for each operand, from consecutive ranges of an axis, which has all their elements.

    The axis of each piece is reshaped to the operand's shape; ``avals`` are the types of the operands.
    """
    pieces, start = [], 0
    shape = aval_of(x).shape
    dimension = axis % len(shape)
    for aval in avals:
        part = slice_in_dim(x, start, start + aval.size, dimension)
        pieces.append(reshape(part, (*shape[:dimension], *aval.shape, *shape[dimension + 1 :])))
        start += aval.size
    return pieces
