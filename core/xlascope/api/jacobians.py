"""Whole matrices of derivatives: jacfwd, jacrev, hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..ir.avals import ShapedArray
from ..ir.markers import ZERO
from ..operations.shapes import reshape, zeros_of
from ..operations.slicing import slice_in_dim
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of
from ..transforms import differentiate
from ..transforms.transpose import backward
from .arguments import Chosen, partial_of, require_callable, require_differentiable, require_result_dtype
from .flat import flattened, linearized
from .naming import named_after
from .vectorization import vmap


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of a function, one column at a time: for functions with few inputs and many outputs.

    For an argument of shape A and a result of shape R it has shape R + A. For trees it is the result's tree with the
    argument's tree (a tuple of them if ``argnums`` is a sequence) in the place of each leaf. With ``has_aux``, ``fun``
    returns (result, anything), and so does the Jacobian. Complex arguments need ``holomorphic``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    require_callable("jacfwd", fun)
    chosen = Chosen("jacfwd", argnums)

    @named_after(fun, "jacfwd")
    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        places = chosen.places(fun, len(args))
        operands, structure = tree.flatten(tuple([args[i] for i in places]))
        require_differentiable("jacfwd", fun, operands, structure, places, holomorphic=holomorphic, only_real=True)
        flat, kept = flattened(partial_of(fun, places, args, kwargs), fun, structure, has_aux)

        def push(*moves: Any) -> list[Any]:
            results, moved = differentiate.jvp(flat, operands, moves)
            if holomorphic:
                for y in results:
                    require_result_dtype("jacfwd", fun, aval_of(y).dtype, holomorphic)
            return [zeros_of(aval_of(y)) if t is ZERO else t for t, y in zip(moved, results, strict=True)]

        avals = [aval_of(x) for x in operands]
        columns = vmap(push, out_axes=-1)(*_basis(avals)) if operands else []
        rows = [structure.unflatten(_pieces(column, avals, -1)) for column in columns]
        found = kept.structure.unflatten([chosen.picked(row) for row in rows])
        return (found, kept.lowered_aux()) if has_aux else found

    return jacobian_of


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of a function, one row at a time: for functions with many inputs and few outputs; see
    :func:`jacfwd`. With ``allow_int``, the derivatives with respect to integer arguments are zeros of their type.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jacrev(lambda x: x * jnp.sum(x))(jnp.array([1.0, 2.0])))
    [[4. 1.]
     [2. 5.]]
    """
    require_callable("jacrev", fun)
    chosen = Chosen("jacrev", argnums)

    @named_after(fun, "jacrev")
    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        places = chosen.places(fun, len(args))
        operands, structure = tree.flatten(tuple([args[i] for i in places]))
        require_differentiable("jacrev", fun, operands, structure, places, holomorphic=holomorphic, allow_int=allow_int)
        partial = partial_of(fun, places, args, kwargs)
        results, linear, kept = linearized(partial, fun, operands, structure, has_aux)
        avals, out_avals = [aval_of(x) for x in operands], [aval_of(y) for y in results]
        for aval in out_avals:
            require_result_dtype("jacrev", fun, aval.dtype, holomorphic)

        def pull(*cotangents: Any) -> list[Any]:
            received = backward(linear.recorder, linear.inputs, linear.outputs, cotangents)
            return [zeros_of(aval) if ct is ZERO else ct for ct, aval in zip(received, avals, strict=True)]

        rows = vmap(pull)(*_basis(out_avals)) if results else []
        per_operand = [_pieces(row, out_avals, 0) for row in rows]  # for each operand, its piece for each result
        per_result = [structure.unflatten(pieces) for pieces in zip(*per_operand, strict=True)]
        if not per_operand:  # no operands: nothing to differentiate by, whatever the results
            per_result = [structure.unflatten([]) for _ in results]
        found = kept.structure.unflatten([chosen.picked(pieces) for pieces in per_result])
        return (found, kept.lowered_aux()) if has_aux else found

    return jacobian_of


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The second derivatives of a function: the Jacobian, forward, of its Jacobian, backward.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.hessian(lambda x: x[0] * x[0] * x[1])(jnp.array([1.0, 2.0])))
    [[4. 2.]
     [2. 0.]]
    """
    rows = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(rows, argnums, has_aux, holomorphic)


def _basis(avals: Sequence[ShapedArray]) -> list[Any]:
    """The unit changes of all operands' elements: for each operand an array with a leading axis over all of them."""
    total = sum(aval.size for aval in avals)
    arrays, start = [], 0
    for aval in avals:
        block = np.zeros((total, aval.size), aval.dtype)
        block[start : start + aval.size] = np.eye(aval.size, dtype=aval.dtype)
        arrays.append(block.reshape((total, *aval.shape)))
        start += aval.size
    return arrays


def _pieces(x: Any, avals: Sequence[ShapedArray], axis: int) -> list[Any]:
    """An array cut along an axis into one piece per operand, the axis unfolded to the operand's shape."""
    pieces, start = [], 0
    shape = aval_of(x).shape
    place = axis % len(shape)
    for aval in avals:
        part = slice_in_dim(x, start, start + aval.size, place)
        pieces.append(reshape(part, (*shape[:place], *aval.shape, *shape[place + 1 :])))
        start += aval.size
    return pieces
