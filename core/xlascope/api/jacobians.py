"""Whole matrices of derivatives: jacfwd, jacrev, hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..operations import shapes
from ..trace.values import aval_of
from .differentiation import check_inputs, jvp, vjp
from .naming import named_after
from .vectorization import vmap


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function, one column at a time: for functions with few inputs and many outputs.

    For an argument of shape A and a result of shape R it has shape R + A; trees of them where the result or argument
    are trees.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """

    @named_after(fun, "jacfwd")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _of_arguments(fun, argnums, args, kwargs)
        operands, in_structure = tree.flatten(chosen)
        check_inputs(fun, "jacfwd", [operands], [0], True)

        def push(*tangents: Any) -> Any:
            return jvp(partial, chosen, in_structure.unflatten(tangents), has_aux=has_aux)

        basis = _basis(operands)
        out_axes = (None, -1, None) if has_aux else (None, -1)
        result, columns, *aux = vmap(push, in_axes=0, out_axes=out_axes)(*basis)
        jacobian_tree = tree.map(lambda column: _split(column, operands, in_structure, -1, argnums), columns)
        del result
        return (jacobian_tree, aux[0]) if has_aux else jacobian_tree

    return jacobian_of


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function, one row at a time: for functions with many inputs and few outputs; see
    :func:`jacfwd`.
    """

    @named_after(fun, "jacrev")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _of_arguments(fun, argnums, args, kwargs)
        check_inputs(fun, "jacrev", [tree.leaves(chosen)], [0], True)
        value, pullback, *aux = vjp(partial, *chosen, has_aux=has_aux)
        results, out_structure = tree.flatten(value)
        rows = vmap(lambda *cts: pullback(out_structure.unflatten(cts)), in_axes=0)(*_basis(results))
        per_argument = tree.map(lambda row: _pieces(row, results, 0), rows)
        inner = tree.structure([0] * len(results))
        by_result = tree.transpose(tree.structure(rows), inner, per_argument)
        by_result = [tuple(part) for part in by_result]
        found = out_structure.unflatten([part[0] if isinstance(argnums, int) else part for part in by_result])
        return (found, aux[0]) if has_aux else found

    return jacobian_of


jacobian = jacrev


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The matrix of second derivatives of a function with a scalar result.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.hessian(lambda x: x[0] * x[0] * x[1])(jnp.array([1.0, 2.0])))
    [[4. 2.]
     [2. 0.]]
    """
    return jacfwd(jacrev(fun, argnums, has_aux), argnums, has_aux)


def _of_arguments(
    fun: Callable[..., Any], argnums: int | Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the chosen arguments alone, and their values."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def partial(*chosen: Any) -> Any:
        given = list(args)
        for i, x in zip(numbers, chosen, strict=True):
            given[i] = x
        return fun(*given, **kwargs)

    return partial, tuple(args[i] for i in numbers)


def _basis(operands: Sequence[Any]) -> list[Any]:
    """The unit changes of all operands' elements: for each operand an array with a leading axis over all of them."""
    avals = [aval_of(x) for x in operands]
    total = sum(aval.size for aval in avals)
    arrays, start = [], 0
    for aval in avals:
        block = np.zeros((total, aval.size), aval.dtype)
        block[start : start + aval.size] = np.eye(aval.size, dtype=aval.dtype)
        arrays.append(block.reshape((total, *aval.shape)))
        start += aval.size
    return arrays


def _pieces(x: Any, operands: Sequence[Any], axis: int) -> list[Any]:
    """An array cut along an axis into one piece per operand, the axis unfolded to the operand's shape."""
    pieces, start = [], 0
    shape = aval_of(x).shape
    place = axis % len(shape)
    for operand in operands:
        aval = aval_of(operand)
        part = shapes.slice_in_dim(x, start, start + aval.size, place)
        pieces.append(shapes.reshape(part, (*shape[:place], *aval.shape, *shape[place + 1 :])))
        start += aval.size
    return pieces


def _split(column: Any, operands: Sequence[Any], structure: Any, axis: int, argnums: Any) -> Any:
    found = structure.unflatten(_pieces(column, operands, axis))
    return found[0] if isinstance(argnums, int) else found
