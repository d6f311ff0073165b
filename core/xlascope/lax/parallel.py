"""Collectives: operations across all examples along a named axis, inside of the function that is mapped over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import tree
from ..dtypes import dtype_kind, is_differentiable
from ..errors import see
from ..operations import collectives, exchanges, reductions
from ..operations.arithmetic import div
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.integer_arguments import is_several, whole_number, whole_numbers
from ..operations.operand_values import PYTHON_SCALAR_TYPES, dtype_of, shape_of
from ..operations.shapes import reduce_sum
from ..operations.varying_axes import make_varying
from ..trace.bind import bind1
from ..trace.operand_coercion import pass_through
from ..trace.source import compose_message, user_line, where_text
from ..trace.state import STATE


class _NamedAxes(NamedTuple):
    """Axes of a collective: the named ones, which are bound here, with their sizes, and axes of the operand itself."""

    names: tuple[Hashable, ...]
    sizes: tuple[int, ...]
    positions: tuple[int, ...] = ()
    groups: collectives.Groups = None

    @property
    def example_count(self) -> int:
        return math.prod(self.sizes)

    @property
    def group_size(self) -> int | None:
        """Return the number of examples that a collective combines; None where it differs from group to group."""
        sizes = {self.example_count} if self.groups is None else set(map(len, self.groups))
        return sizes.pop() if len(sizes) == 1 else None


def _resolve_axes(caller: str, axis_name: Any, positions: bool = False, groups: Any = None) -> _NamedAxes:
    """Return the axes that a user names; raises NameError for a name that is not bound here, TypeError for no name.

    ``axis_name`` is a name or a sequence of names. With ``positions`` integers among them are axes of the operand.
    ``groups`` is the user's ``axis_index_groups``; ValueError is raised unless each example is in one of them.
    ``caller`` begins the messages.
    """
    requested = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    numbers = tuple(name for name in requested if isinstance(name, int)) if positions else ()
    names = tuple(name for name in requested if not (positions and isinstance(name, int)))
    bound = dict(STATE.axes)
    for name in names:
        if name.__hash__ is None or hasattr(name, "aval"):
            raise TypeError(f"{caller} takes the name of an axis, or several, got {name!r}{where_text(user_line())}")
        if name not in bound:
            raise _unbound_axis_error(caller, name)
    axes = _NamedAxes(names, tuple(bound[name] for name in names), numbers)
    return axes if groups is None else axes._replace(groups=_parse_groups(caller, axes, groups))


def _parse_groups(caller: str, axes: _NamedAxes, groups: Any) -> tuple[tuple[int, ...], ...]:
    """Return a user's ``axis_index_groups``; raises ValueError unless each example along the axes is in one of them."""
    what = f"axis_index_groups of {caller}"
    if not is_several(groups) or not all(map(is_several, groups)):
        raise TypeError(f"{what} is a list of lists of indices, got {groups!r}{where_text(user_line())}")
    parsed = tuple(whole_numbers(group, f"indices of {what}") for group in groups)
    if sorted(index for group in parsed for index in group) != list(range(axes.example_count)) or not all(parsed):
        names = axes.names[0] if len(axes.names) == 1 else axes.names
        raise ValueError(
            f"{what}: each index from 0 to {axes.example_count - 1}, along {names!r}, has to be in one group, got "
            f"{groups!r}{where_text(user_line())}"
        )
    return parsed


def _require_equal_groups(caller: str, axes: _NamedAxes) -> _NamedAxes:
    """Return the axes; raises ValueError for groups of different sizes, which have no common type of result."""
    if axes.group_size is None:
        raise ValueError(
            f"axis_index_groups of {caller} have to be of one size, got {axes.groups}{where_text(user_line())}"
        )
    return axes


def _require_distinct(caller: str, axes: _NamedAxes) -> _NamedAxes:
    if len(set(axes.names)) < len(axes.names):
        raise ValueError(f"{caller} names an axis twice: {axes.names}{where_text(user_line())}")
    return axes


#: Methods of arrays that do without a named axis what a collective does.
_WITHOUT_NAMED_AXIS = {"psum": "sum", "pmean": "mean", "pmax": "max", "pmin": "min"}


def _unbound_axis_error(caller: str, name: Any) -> NameError:
    names = ", ".join(repr(bound) for bound, _ in STATE.axes) or "none"
    fix = (
        f"Call it inside a function that is mapped with this name: vmap(f, axis_name={name!r}), or shard_map over a "
        f"mesh with such an axis, make_mesh((n,), ({name!r},))."
    )
    if caller in _WITHOUT_NAMED_AXIS:
        fix += f" Without a mapped axis, over all elements of an array x: x.{_WITHOUT_NAMED_AXIS[caller]}()."
    problem = f"{caller}: unbound axis name {name!r}. The names bound here: {names}."
    return NameError(compose_message(problem, fix) + see("unbound-axis-name"))


# Reductions ---------------------------------------------------------------------------------------------------------


def psum(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Sum ``x``, an array or a tree of them, over all examples along a named axis or a tuple of them.

    A Python number is multiplied by the number of examples at once: ``psum(1, "i")`` is the size of the axis. Integers
    among the axes are axes of ``x`` itself. ``axis_index_groups`` are lists of indices along the axis, in which each
    occurs once: each example gets the sum of its group. Raises NameError for an axis that no enclosing vmap binds,
    ValueError for other groups.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x: x / xs.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0])))
    [0.25 0.75]
    """
    axes = _require_distinct("psum", _resolve_axes("psum", axis_name, True, axis_index_groups))

    def sum_leaf(leaf: Any) -> Any:
        if leaf.__class__ in PYTHON_SCALAR_TYPES and not axes.positions and axes.group_size is not None:
            return leaf * axes.group_size
        if dtype_kind(dtype_of(leaf)) == "b":
            leaf = convert_element_type(leaf, np.dtype(np.int32))
        return _reduce_leaf(collectives.PSum, reduce_sum, leaf, axes)

    return tree.map(sum_leaf, x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Average ``x``, an array or a tree of them, over all examples along a named axis or a tuple of them.

    ``axis_index_groups`` are those of :func:`psum`. Raises NameError for an axis that no enclosing vmap binds.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x: x - xs.lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0])))
    [-1.  1.]
    """
    axes = _resolve_axes("pmean", axis_name, True, axis_index_groups)
    group_size: Any = psum(1, axes.names, axis_index_groups=axis_index_groups)

    def mean_leaf(leaf: Any, total: Any) -> Any:
        if total.__class__ in PYTHON_SCALAR_TYPES:
            return total / group_size
        count = group_size * math.prod(shape_of(leaf)[axis] for axis in axes.positions)
        if not is_differentiable(dtype_of(total)):
            is_wide = dtype_of(total).itemsize == 8
            total = convert_element_type(total, np.dtype(np.float64 if is_wide else np.float32))
        return div(total, to_dtype(count, dtype_of(total)) if hasattr(count, "aval") else count)

    return tree.map(mean_leaf, x, psum(x, axis_name, axis_index_groups=axis_index_groups))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Take the elementwise maximum of ``x``, an array or a tree, over all examples along named axes.

    Where several examples have the maximum, they share the derivative. ``axis_index_groups`` are those of :func:`psum`.
    Raises NameError for an axis that is not bound.
    """
    axes = _require_distinct("pmax", _resolve_axes("pmax", axis_name, True, axis_index_groups))
    reduce = reductions.ReduceMax
    return tree.map(lambda leaf: _reduce_leaf(collectives.PMax, lambda y, at: bind1(reduce(at), y), leaf, axes), x)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Take the elementwise minimum of ``x``, an array or a tree, over examples along named axes; see :func:`pmax`."""
    axes = _require_distinct("pmin", _resolve_axes("pmin", axis_name, True, axis_index_groups))
    reduce = reductions.ReduceMin
    return tree.map(lambda leaf: _reduce_leaf(collectives.PMin, lambda y, at: bind1(reduce(at), y), leaf, axes), x)


def _reduce_leaf(collective: Any, reduce: Callable[..., Any], leaf: Any, axes: _NamedAxes) -> Any:
    """Reduce an array along its positional axes, then across the named ones.

    ``reduce(array, axes)`` does the first, an operation of the class ``collective`` the second.
    """
    if axes.positions:
        leaf = reduce(leaf, tuple(_normalize_axis("a reduction", axis, len(shape_of(leaf))) for axis in axes.positions))
    if not axes.names:
        return pass_through(leaf)
    return bind1(collective(axes.names, axes.groups), _vary_between_groups(leaf, axes))


def _vary_between_groups(x: Any, axes: _NamedAxes) -> Any:
    """Return an operand; with groups as one that varies along the axes, as the result differs between groups."""
    return x if axes.groups is None else make_varying(x, STATE.checked_axes.intersection(axes.names))


# Exchanges ----------------------------------------------------------------------------------------------------------


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Gather the operands of all examples along a named axis into every example.

    They lie along a new axis at ``axis``; with ``tiled`` they are concatenated along the existing axis. With
    ``axis_index_groups``, those of :func:`psum` and all of one size, each example gets the operands of its group.
    ``to`` is accepted for compatibility with JAX. Raises NameError for an axis that is not bound.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x: xs.lax.all_gather(x, "i"), axis_name="i")(jnp.arange(2)))
    [[0 1]
     [0 1]]
    """
    axes = _resolve_exchange("all_gather", axis_name, axis_index_groups)

    def gather_leaf(leaf: Any) -> Any:
        at = _normalize_axis("all_gather", axis, len(shape_of(leaf)) + (not tiled))
        gather = exchanges.AllGather(axes.names, axes.sizes, at, tiled, axes.groups)
        return bind1(gather, _vary_between_groups(leaf, axes))

    return tree.map(gather_leaf if axes.names else pass_through, x)


def _resolve_exchange(caller: str, axis_name: Any, groups: Any) -> _NamedAxes:
    """Return the axes of an exchange, like :func:`_resolve_axes`, each named once, with groups of one size."""
    return _require_equal_groups(caller, _require_distinct(caller, _resolve_axes(caller, axis_name, False, groups)))


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> Any:
    """Sum over all examples along a named axis; example i keeps index i of the sum along ``scatter_dimension``.

    That axis has the size of the named one and is removed; with ``tiled`` each example keeps a block of it. With
    ``axis_index_groups``, those of :func:`psum` and all of one size, the sum of a group is divided among its examples,
    in their order. Raises NameError for an axis that is not bound, ValueError for sizes that do not fit.
    """
    axes = _resolve_exchange("psum_scatter", axis_name, axis_index_groups)

    def scatter_leaf(leaf: Any) -> Any:
        at = _normalize_axis("psum_scatter", scatter_dimension, len(shape_of(leaf)))
        scatter = exchanges.ReduceScatter(axes.names, axes.sizes, at, tiled, axes.groups)
        return bind1(scatter, _vary_between_groups(leaf, axes))

    return tree.map(scatter_leaf, x)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> Any:
    """Transpose across examples: example i gets index i along ``split_axis`` of every example's ``x``.

    What it gets lies in the order of the examples along ``concat_axis``. The split axis has the size of the named one
    and is removed, and ``concat_axis`` is a new axis; with ``tiled`` the axis is cut into blocks, which are
    concatenated along an existing one. With ``axis_index_groups``, those of :func:`psum` and all of one size, the
    examples of a group exchange among themselves. Raises NameError for an axis that is not bound, ValueError for sizes
    that do not fit.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x: xs.lax.all_to_all(x, "i", 0, 0), axis_name="i")(jnp.array([[1, 2], [3, 4]])))
    [[1 3]
     [2 4]]
    """
    axes = _resolve_exchange("all_to_all", axis_name, axis_index_groups)

    def exchange_leaf(leaf: Any) -> Any:
        rank = len(shape_of(leaf))
        at, to = _normalize_axis("all_to_all", split_axis, rank), _normalize_axis("all_to_all", concat_axis, rank)
        exchange = exchanges.AllToAll(axes.names, axes.sizes, at, to, tiled, axes.groups)
        return bind1(exchange, _vary_between_groups(leaf, axes))

    return tree.map(exchange_leaf, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send operands from example to example: ``perm`` holds pairs (source, target).

    An example that is not a target gets zeros. Raises NameError for an axis that is not bound, ValueError for a
    source or target that does not exist or is repeated.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x: xs.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(jnp.array([5, 6, 7])))
    [0 5 6]
    """
    axes = _require_distinct("ppermute", _resolve_axes("ppermute", axis_name))
    pairs = _parse_pairs(perm)
    for role, indices in (("sources", [s for s, _ in pairs]), ("targets", [t for _, t in pairs])):
        if len(set(indices)) < len(indices) or not all(0 <= i < axes.example_count for i in indices):
            raise ValueError(
                f"ppermute: the {role} {indices} have to be different numbers from 0 to "
                f"{axes.example_count - 1}, since "
                f"{axis_name!r} has size {axes.example_count}{where_text(user_line())}"
            )
    return tree.map(lambda leaf: bind1(exchanges.PPermute(axes.names, axes.sizes, pairs), leaf), x)


def _parse_pairs(perm: Any) -> tuple[tuple[int, int], ...]:
    pairs = [whole_numbers(pair, "pairs (source, target) of ppermute") for pair in perm] if is_several(perm) else [()]
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError(f"ppermute takes pairs (source, target), got {perm!r}{where_text(user_line())}")
    return tuple((source, target) for source, target in pairs)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permute the operands: example i gets that of example ``perm[i]``.

    Raises NameError for an axis that is not bound, ValueError when ``perm`` is not a permutation of its examples.
    """
    axes = _resolve_axes("pshuffle", axis_name)
    perm = whole_numbers(perm, "numbers of perm of pshuffle")
    if sorted(perm) != list(range(axes.example_count)):
        raise ValueError(
            f"pshuffle: {list(perm)} is no permutation of 0 to {axes.example_count - 1}, since {axis_name!r} has size "
            f"{axes.example_count}{where_text(user_line())}"
        )
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> Any:
    """Exchange the named axis and axis ``axis`` of ``x``, which has the same size: ``all_to_all`` with one axis."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Broadcast the operand of example ``source`` to all examples along a named axis.

    Raises NameError for an axis that is not bound, ValueError when there is no such example.
    """
    axes = _require_distinct("pbroadcast", _resolve_axes("pbroadcast", axis_name))
    source = whole_number(source, "source of pbroadcast")
    if not 0 <= source < axes.example_count:
        raise ValueError(
            f"pbroadcast: there is no example {source} along {axis_name!r}, which has size {axes.example_count}"
            f"{where_text(user_line())}"
        )
    return tree.map(lambda leaf: bind1(exchanges.PBroadcast(axes.names, axes.sizes, source), leaf), x)


# Index and size -----------------------------------------------------------------------------------------------------


def axis_index(axis_name: Any) -> Any:
    """Return the index of the example along a named axis; along a tuple of them in row-major order.

    Raises NameError for an axis that is not bound.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x: x * xs.lax.axis_index("i"), axis_name="i")(jnp.ones(3)))
    [0. 1. 2.]
    """
    axes = _require_distinct("axis_index", _resolve_axes("axis_index", axis_name))
    if not axes.names:
        return pass_through(0)
    return make_varying(bind1(exchanges.AxisIndex(axes.names, axes.sizes)), STATE.checked_axes.intersection(axes.names))


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Return ``x``, an array or a tree of them, with types by which the arrays vary along axes of a mesh.

    Inside of a ``shard_map`` with ``check_vma``, types say along which of its axes values may differ from device to
    device. The derivative by a value that does not vary is the sum of those of all devices; by ``pcast(x, axis_name,
    to="varying")`` each device has its own. ``axis_name`` is a name or a tuple of names. Without ``check_vma`` nothing
    changes. Raises NameError for an axis that is not bound, and ValueError for another ``to``.

    >>> import xlascope as xs
    >>> from xlascope import P
    >>> mesh = xs.make_mesh((1,), ("i",))
    >>> def of_own_shard(w, x):
    ...     return xs.grad(lambda w: (w * x).sum())(xs.lax.pcast(w, "i", to="varying"))[None]
    >>> f = xs.shard_map(of_own_shard, mesh=mesh, in_specs=(P(), P("i")), out_specs=P("i"))
    >>> print(f(2.0, xs.numpy.arange(3.0)))
    [3.]
    """
    if to != "varying":
        raise ValueError(f"pcast takes to='varying', got {to!r}{where_text(user_line())}")
    axes = _require_distinct("pcast", _resolve_axes("pcast", axis_name))
    checked = STATE.checked_axes.intersection(axes.names)
    return tree.map(lambda leaf: make_varying(leaf, checked), x)


def axis_size(axis_name: Any) -> int:
    """Return the number of examples along a named axis, or along a tuple of them, as a Python integer.

    Raises NameError for an axis that is not bound.
    """
    return _resolve_axes("axis_size", axis_name).example_count


def _normalize_axis(caller: str, axis: int, rank: int) -> int:
    """Return an axis counted from the front of ``rank`` axes; raises ValueError if it is out of range.

    ``caller`` begins the message.
    """
    axis = whole_number(axis, f"the axis of {caller}")
    if not -rank <= axis < rank:
        raise ValueError(f"{caller} along axis {axis}, where there are {rank} axes{where_text(user_line())}")
    return axis % rank
