"""Explicit sharding: shardings as parts of types, and functions in which XLA, or these types, determine them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import tree
from ..control.parallel.sharding_constraints import with_sharding_constraint
from ..ir.avals import ShapedArray
from ..ir.user_frames import user_line, where_text
from ..operations.sharding_constraints import drop_explicit_sharding
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of
from ..xla.sharding.meshes import AxisType, Mesh, PartitionSpec, require_mesh, set_mesh
from ..xla.sharding.named_shardings import MultiDeviceSharding
from .argnames import wraps
from .compilation import jit
from .tree_adapters import to_operand


def typeof(x: Any) -> ShapedArray:
    """Return the type of an array or a tracer: shape, dtype, and sharding along explicit axes of a mesh.

    Raises TypeError for a value that is not an array.

    >>> import xlascope as xs
    >>> xs.typeof(xs.numpy.ones((2, 3)))
    ShapedArray(float32[2,3])
    """
    return aval_of(to_operand(x))


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Return a tree of arrays with the shardings ``out_shardings``, a tree that is a prefix of it.

    Leaves of ``out_shardings`` are NamedShardings, or PartitionSpecs over the current mesh. Along explicit
    axes the types of the results have these shardings. Raises ValueError for a shape that cannot be cut like
    this.

    >>> import xlascope as xs
    >>> mesh = xs.make_mesh((1,), ("i",))
    >>> xs.typeof(xs.sharding.reshard(xs.numpy.ones((2, 3)), xs.NamedSharding(mesh, xs.P("i"))))
    ShapedArray(float32[2@i,3])
    """
    return with_sharding_constraint(xs, out_shardings)


@api_boundary
def auto_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None
) -> Callable[..., Any]:
    """Return ``f`` as a function in which XLA determines shardings, whatever the types of its arguments say.

    ``out_sharding`` is the sharding of its results: a PartitionSpec or a NamedSharding, or a tree of them
    that is a prefix of the result; it may also be given in each call. ``axes`` must be all axes of the
    current mesh. Raises TypeError without any ``out_sharding``, NotImplementedError if ``axes`` are only some
    of the mesh's axes.

    >>> import xlascope as xs
    >>> mesh = xs.make_mesh((1,), ("i",))
    >>> x = xs.device_put(xs.numpy.ones((2, 3)), xs.NamedSharding(mesh, xs.P("i")))
    >>> gram = xs.sharding.auto_axes(lambda x: x.T @ x, out_sharding=xs.NamedSharding(mesh, xs.P()))
    >>> xs.typeof(gram(x))
    ShapedArray(float32[3,3])
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    compiled = jit(functools.partial(_call_with_free_sharding, f))

    @wraps(f, "auto_axes")
    @api_boundary
    def call_with_auto_axes(*args: Any, out_sharding: Any = out_sharding) -> Any:
        if out_sharding is None:
            raise TypeError(f"auto_axes needs out_sharding, here or at the call: how its results lie{_here()}")
        operands = tree.map(to_operand, args)
        mesh = _find_mesh(operands, out_sharding)
        _check_axes("auto_axes", mesh, axes)
        with set_mesh(_with_axis_type(mesh, AxisType.Auto)):
            results = compiled(*operands)
        with set_mesh(mesh):
            return reshard(results, out_sharding)

    return call_with_auto_axes


@api_boundary
def explicit_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None
) -> Callable[..., Any]:
    """Return ``f`` as a function in which types have shardings along the axes of the current mesh.

    ``in_sharding`` is the sharding of its arguments: PartitionSpecs, or a tuple of trees that are prefixes of
    the arguments; it may also be given in each call. ``axes`` must be all axes of the current mesh. Raises
    TypeError without any ``in_sharding``, RuntimeError without a current mesh, NotImplementedError if
    ``axes`` are only some of the mesh's axes.

    >>> import xlascope as xs
    >>> with xs.set_mesh(xs.make_mesh((1,), ("i",), (xs.sharding.AxisType.Auto,))):
    ...     show = xs.sharding.explicit_axes(lambda x: print(xs.typeof(x)), in_sharding=xs.P("i"))
    ...     show(xs.numpy.ones(4))
    ShapedArray(float32[4@i])
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @wraps(f, "explicit_axes")
    @api_boundary
    def call_with_explicit_axes(*args: Any, in_sharding: Any = in_sharding) -> Any:
        if in_sharding is None:
            raise TypeError(f"explicit_axes needs in_sharding, here or at the call: how its arguments lie{_here()}")
        mesh = require_mesh("explicit_axes")
        _check_axes("explicit_axes", mesh, axes)
        with set_mesh(_with_axis_type(mesh, AxisType.Explicit)):
            results = f(*reshard(args, in_sharding))
        return tree.map(lambda x: drop_explicit_sharding(to_operand(x)), results)

    return call_with_explicit_axes


def _call_with_free_sharding(function: Callable[..., Any], *args: Any) -> Any:
    return function(*tree.map(drop_explicit_sharding, args))


def _find_mesh(args: Any, out_sharding: Any) -> Mesh:
    """Return the mesh of ``out_sharding``, else that of the type of an argument, else the current one."""
    for leaf in tree.leaves(out_sharding, is_leaf=lambda x: isinstance(x, MultiDeviceSharding | PartitionSpec)):
        if hasattr(leaf, "mesh"):
            return leaf.mesh  # type: ignore[no-any-return]
    for leaf in tree.leaves(args):
        explicit = aval_of(leaf).explicit
        if explicit is not None:
            return explicit.mesh  # type: ignore[no-any-return]
    return require_mesh("auto_axes")


def _with_axis_type(mesh: Mesh, kind: AxisType) -> Mesh:
    return mesh.update(axis_types=(kind,) * len(mesh.axis_names))


def _check_axes(name: str, mesh: Mesh, axes: Any) -> None:
    names = {axes} if isinstance(axes, str) else set(axes or ())
    if names and names != set(mesh.axis_names):
        raise NotImplementedError(
            f"{name}: axes are some of those of {mesh}{_here()}; leave them out, and all are meant. Another mesh, with "
            "AxisType.Auto where types are to say nothing, has axes of both kinds"
        )


def _here() -> str:
    return where_text(user_line())


__all__ = ["auto_axes", "explicit_axes", "reshard", "typeof"]
