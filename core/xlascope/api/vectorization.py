"""vmap, as users call it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.programs.function_names import operand_names
from ..control.programs.tree_prefixes import broadcast_prefix_leaves
from ..control.programs.values import check_results
from ..dtypes import float0
from ..errors import see
from ..ir.markers import NOT_MAPPED
from ..operations.shapes import mapped_in_front, moveaxis, squeeze
from ..operations.slicing import slice_in_dim
from ..trace.operand_coercion import PYTHON_SCALARS
from ..trace.source import compose_message, user_line, where_text
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of, invalid_operand_error
from ..transforms import batch as batching
from .argnames import name_of, wraps
from .axes_errors import axes_count_error, missing_axis_error, shared_axes_advice
from .tree_adapters import to_operand, to_result


@api_boundary
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | tuple[Hashable, ...] | None = None,
) -> Callable[..., Any]:
    """Return a function that applies ``fun`` to all examples along an axis at once.

    ``in_axes`` is the axis to map over for each argument (an integer, None for none, or a tree of these that
    is a prefix of the argument); ``out_axes`` is the position of the mapped axis in the results. With an
    ``axis_name``, ``fun`` can use the collectives of ``lax`` across the examples (``lax.psum(x,
    axis_name)``). ``axis_size`` is needed if no argument is mapped. ``spmd_axis_name`` is the axis of a mesh
    over which the examples are sharded; it has no effect. Calls raise ValueError if nothing is mapped, if the
    sizes of the mapped axes differ, or if the axes do not fit the arguments.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x, y: x * y, in_axes=(0, None))(jnp.arange(3.0), 2.0))
    [0. 2. 4.]
    >>> print(xs.vmap(lambda x: x / xs.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0])))
    [0.25 0.75]
    """
    del spmd_axis_name
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_arguments(fun, in_axes, axis_name)

    @wraps(fun, "vmap")
    @api_boundary
    def apply_mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise axes_count_error("vmap", fun, in_axes, len(args), "example")
        operands, structure = tree.flatten((args, kwargs))
        operands = list(map(to_operand, operands))
        names = operand_names(fun, structure)
        per_argument = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        axes = [
            *_broadcast_axes(fun, "in_axes", per_argument, args),
            *_broadcast_axes(fun, "in_axes", 0, kwargs),
        ]
        axes = [
            _check_in_axis(
                fun, name, x, axis, lambda: shared_axes_advice("vmap", fun, per_argument, axes, args, "examples")
            )
            for name, x, axis in zip(names, operands, axes, strict=True)
        ]
        size = _batch_size(fun, operands, axes, names, axis_size)
        out_structures: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            positional, keyword = structure.unflatten(xs)
            results, out_structure = tree.flatten(fun(*positional, **keyword))
            out_structures.append(out_structure)
            return check_results(name_of(fun), results, out_structure)

        axis = None if axis_name is None else (axis_name, size)
        results, out_batch_axes = batching.batch(flat, operands, axes, axis)
        requested_axes = _broadcast_axes(fun, "out_axes", out_axes, out_structures[0].unflatten(range(len(results))))
        shared_results = [
            i
            for i, (a, w) in enumerate(zip(out_batch_axes, requested_axes, strict=True))
            if w is None and a is not NOT_MAPPED
        ]
        if shared_results and size and batching.are_independent_of_batch(flat, operands, axes, axis, shared_results):
            # a user's rule returns all its results batched, even those that are equal for all examples
            results = [
                _first_example(y, a) if i in shared_results else y
                for i, (y, a) in enumerate(zip(results, out_batch_axes, strict=True))
            ]
            out_batch_axes = [NOT_MAPPED if i in shared_results else a for i, a in enumerate(out_batch_axes)]
        moved_results = [
            _move_to_out_axis(fun, y, a, w, size)
            for y, a, w in zip(results, out_batch_axes, requested_axes, strict=True)
        ]
        # A number that is the same for every example stays one, as in JAX.
        return out_structures[0].unflatten(
            [y if y.__class__ in PYTHON_SCALARS else to_result(y) for y in moved_results]
        )

    return apply_mapped


def _check_arguments(fun: Any, in_axes: Any, axis_name: Any) -> None:
    """Raise TypeError for options of vmap that are invalid whatever the arguments are."""
    if not callable(fun):
        raise TypeError(f"vmap takes a function, got {fun!r} of type {type(fun).__name__}")
    if isinstance(in_axes, bool) or not (in_axes is None or isinstance(in_axes, int) or type(in_axes) is tuple):
        raise TypeError(
            f"vmap of {name_of(fun)}: in_axes is an integer, None, or a tuple with an entry for each argument, "
            f"got {in_axes!r}"
        )
    if isinstance(axis_name, (int, tuple)) or not isinstance(axis_name, Hashable):
        raise TypeError(
            f"vmap of {name_of(fun)}: axis_name is one name, such as a string, got {axis_name!r}. In collectives "
            "integers mean axes of the operand itself and tuples several names: nest one vmap for each name"
        )


def _broadcast_axes(fun: Callable[..., Any], name: str, axes: Any, full_tree: Any) -> list[Any]:
    """Return one axis or None for each leaf of ``full_tree``, from ``axes``, a tree of these that is a prefix of it.

    ``name`` is the option's name for errors; raises TypeError for a leaf that is neither an integer nor None.
    """

    def is_axis(x: Any) -> bool:
        return x is None or (isinstance(x, int) and not isinstance(x, bool))

    leaf_axes = broadcast_prefix_leaves(f"vmap of {name_of(fun)}", name, axes, full_tree, is_axis, _here)
    for axis in tree.leaves(axes, is_leaf=is_axis):
        if not is_axis(axis):
            raise TypeError(f"vmap of {name_of(fun)}: {name} holds {axis!r}; its leaves are integers or None")
    return leaf_axes


def _check_in_axis(fun: Callable[..., Any], name: str, x: Any, axis: int | None, way: Callable[[], str]) -> Any:
    """Return the nonnegative axis to map over for a leaf, ``NOT_MAPPED`` for None.

    Raises TypeError if the leaf is not an array, ValueError, with the advice ``way()``, if it does not have
    the axis.
    """
    if axis is None:
        return NOT_MAPPED
    try:
        shape = aval_of(x).shape
    except TypeError:
        raise invalid_operand_error(x, f"argument {name} of {name_of(fun)}, to be mapped,") from None
    if not -len(shape) <= axis < len(shape):
        raise missing_axis_error(f"vmap of {name_of(fun)}", name, shape, axis, way())
    return axis % len(shape)


def _batch_size(
    fun: Callable[..., Any], operands: Sequence[Any], axes: Sequence[Any], names: Sequence[str], axis_size: int | None
) -> int:
    """Return the number of examples; raise ValueError if it is unknown or the sizes of mapped axes differ.

    ``names`` are the names of the operands for messages; ``axis_size`` is the user's, or None.
    """
    sizes = {name: aval_of(x).shape[a] for name, x, a in zip(names, operands, axes, strict=True) if a is not NOT_MAPPED}
    if axis_size is not None:
        sizes["axis_size"] = axis_size
    if not sizes:
        raise ValueError(
            f"vmap of {name_of(fun)} needs at least one mapped argument, or an axis_size: nothing says how many "
            f"examples there are{_here()}"
        )
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        axis_texts = {
            name: f"axis {a} of shape {aval_of(x).shape}" for name, x, a in zip(names, operands, axes, strict=True)
        }
        first = {size: name for name, size in reversed(sizes.items()) if name in axis_texts}
        mapped = "; ".join(f"{name} is mapped along {axis_texts[name]}" for name in sorted(first.values()))
        problem = f"vmap of {name_of(fun)}: the mapped axes have different sizes: {listed}."
        fix = "Choose axes of one size (in_axes=...), and None for an argument that all examples share."
        if mapped:
            fix = f"{mapped[0].upper() if mapped.startswith('axis') else mapped[0]}{mapped[1:]}. {fix}"
        raise ValueError(compose_message(problem, fix) + see("vmap-axes"))
    return int(next(iter(sizes.values())))


def _first_example(y: Any, axis: int) -> Any:
    """Return the first example of a batch of results, which lie along ``axis``."""
    if isinstance(y, np.ndarray):
        return np.take(y, 0, axis)
    return squeeze(slice_in_dim(y, 0, 1, axis), (axis,))


def _move_to_out_axis(fun: Callable[..., Any], y: Any, axis: Any, target: int | None, size: int) -> Any:
    """Return a result with its batch axis moved from ``axis`` to ``target``; broadcast it if it has none.

    ``target`` is the entry of ``out_axes`` for it, ``size`` the number of examples. Raises ValueError if the
    result has no such axis, or if it is None for a result that differs between examples.
    """
    if target is None:
        if axis is not NOT_MAPPED:
            raise ValueError(
                f"vmap of {name_of(fun)}: out_axes is None for a result that differs from example to example" + _here()
            )
        return y
    if axis == target:
        return y
    if aval_of(y).dtype == float0:  # no operation takes float0: create it anew, equal for all examples
        front: Any = np.zeros((size, *aval_of(y).shape), float0)
    else:
        front = mapped_in_front(y, axis, size)
    rank = len(aval_of(front).shape)
    if not -rank <= target < rank:
        raise ValueError(
            f"vmap of {name_of(fun)}: out_axes puts the mapped axis at {target} of a result of {rank} axes, it included"
            + _here()
        )
    move: Any = np.moveaxis if isinstance(front, np.ndarray) else moveaxis
    return move(front, 0, target % rank)


def _here() -> str:
    """Return the end of a message about axes: the user's line, and a link to the documentation."""
    return where_text(user_line()) + see("vmap-axes")
