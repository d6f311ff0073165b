"""Loops built from others: map, which runs slice by slice, and associative_scan, which computes all prefixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..api import vmap
from ..control.flow.loop_api import scan
from ..control.programs.function_names import name_of
from ..control.programs.values import operand_aval
from ..operations.integer_arguments import whole_number
from ..operations.shapes import expand_dims, reshape
from ..operations.slicing import concatenate, rev, slice_in_dim
from ..trace.operand_coercion import pass_through
from ..trace.source import user_line, where_text
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of


class _MapBody:
    """Function of one slice, wrapped as the body of a scan without a carry."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.user_function = function
        self.__name__ = name_of(function)

    def __call__(self, carry: None, x: Any) -> tuple[None, Any]:
        return None, self.user_function(x)


class _BatchedMapBody(_MapBody):
    """Function of one slice, wrapped as the body of a scan without a carry over batches of slices."""

    def __call__(self, carry: None, x: Any) -> tuple[None, Any]:
        return None, vmap(self.user_function)(x)


@api_boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply ``f`` to each slice of ``xs`` along its leading axis, one after the other, and stack the results.

    With ``batch_size`` (None and 0 mean none), that many slices are vectorized in each step, which in time and memory
    lies between a loop and :func:`xlascope.vmap`. Raises ValueError where the leading axes have different sizes.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.lax.map(lambda x: x * x, jnp.arange(3.0)))
    [0. 1. 4.]
    """
    if not callable(f):
        raise TypeError(f"lax.map takes a function of one slice, got {f!r}{where_text(user_line())}")
    batch_size = 0 if batch_size is None else whole_number(batch_size, "batch_size")
    if batch_size == 0:
        return scan(_MapBody(f), None, xs)[1]
    if batch_size < 1:
        raise ValueError(f"lax.map takes a positive batch_size, got {batch_size}{where_text(user_line())}")
    leaves, structure = tree.flatten(xs)
    sizes = {operand_aval("an operand of lax.map", x).shape[:1] for x in leaves}
    if len(sizes) != 1 or () in sizes:
        raise ValueError(
            f"lax.map takes arrays with leading axes of one size, got {sorted(sizes)}{where_text(user_line())}"
        )
    ((size,),) = sizes
    rounds, remainder = divmod(size, batch_size)
    if not rounds:
        return vmap(f)(xs)
    batches = [
        reshape(part, (rounds, batch_size, *aval_of(x).shape[1:]))
        for x in leaves
        for part in [slice_in_dim(x, 0, rounds * batch_size, 0)]
    ]
    _, stacked = scan(_BatchedMapBody(f), None, structure.unflatten(batches))
    joined = tree.map(lambda y: reshape(y, (rounds * batch_size, *aval_of(y).shape[2:])), stacked)
    if not remainder:
        return joined
    last = vmap(f)(structure.unflatten([slice_in_dim(x, rounds * batch_size, size, 0) for x in leaves]))
    return tree.map(lambda a, b: concatenate([a, b], 0), joined, last)


@api_boundary
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Compute all prefixes of an associative operation: result i is ``fn`` of elements 0 to i.

    ``fn`` takes two trees like ``elems`` and combines them elementwise along ``axis`` (all pairs at once). It is
    called a logarithmic number of times, each on half as much (Blelloch, "Prefix Sums and Their Applications", 1990),
    so that an accelerator can do it in parallel. Raises TypeError or ValueError where the operands do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.lax.associative_scan(jnp.add, jnp.arange(1, 5)))
    [ 1  3  6 10]
    """
    if not callable(fn):
        raise TypeError(f"associative_scan takes a function of two operands, got {fn!r}{where_text(user_line())}")
    leaves, structure = tree.flatten(elems)
    avals = [operand_aval("an operand of associative_scan", x) for x in leaves]
    ranks = {a.ndim for a in avals}
    if 0 in ranks or any(not -r <= axis < r for r in ranks):
        raise ValueError(
            f"associative_scan along axis {axis} of operands of ranks {sorted(ranks)}{where_text(user_line())}"
        )
    axes = [axis % a.ndim for a in avals]
    sizes = {a.shape[i] for a, i in zip(avals, axes, strict=True)}
    if len(sizes) > 1:
        raise ValueError(
            f"associative_scan takes operands of one size along axis {axis}, got {sorted(sizes)}"
            + where_text(user_line())
        )
    xs = [rev(x, (i,)) for x, i in zip(leaves, axes, strict=True)] if reverse else leaves

    def combine(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        return tree.leaves(fn(structure.unflatten(first), structure.unflatten(second)))

    prefixes = _scan_prefixes(combine, xs, axes) if sizes and sizes != {0} else [pass_through(x) for x in xs]
    if reverse:
        prefixes = [rev(y, (i,)) for y, i in zip(prefixes, axes, strict=True)]
    return structure.unflatten(prefixes)


def _scan_prefixes(combine: Callable[..., list[Any]], xs: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    """Compute the prefixes of arrays: combine neighbours, recurse for the odd positions, and derive the even ones.

    ``xs`` are arrays, each with its scan axis in ``axes``, of one size along these. ``combine`` takes two lists of
    such arrays and combines them elementwise.
    """
    size = aval_of(xs[0]).shape[axes[0]]
    if size < 2:
        return [pass_through(x) for x in xs]
    odd = _scan_prefixes(
        combine, combine(_slice_every(xs, axes, 0, size - 1, 2), _slice_every(xs, axes, 1, size, 2)), axes
    )
    first = _slice_every(xs, axes, 0, 1, 1)
    if size == 2:
        even = first
    else:
        before = odd if size % 2 else _slice_every(odd, axes, 0, size // 2 - 1, 1)
        later = combine(before, _slice_every(xs, axes, 2, size, 2))
        even = [concatenate([a, b], i) for a, b, i in zip(first, later, axes, strict=True)]
    return [_interleave(a, b, i) for a, b, i in zip(even, odd, axes, strict=True)]


def _slice_every(xs: Sequence[Any], axes: Sequence[int], start: int, stop: int, step: int) -> list[Any]:
    return [slice_in_dim(x, start, stop, i, step) for x, i in zip(xs, axes, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Interleave the elements of two arrays along ``axis``: ``even`` comes first and may have one element more."""
    shape = aval_of(odd).shape
    size, extra = shape[axis], aval_of(even).shape[axis] - shape[axis]
    pairs = concatenate([expand_dims(x, (axis + 1,)) for x in (slice_in_dim(even, 0, size, axis), odd)], axis + 1)
    interleaved = reshape(pairs, (*shape[:axis], 2 * size, *shape[axis + 1 :]))
    return concatenate([interleaved, slice_in_dim(even, size, size + 1, axis)], axis) if extra else interleaved
