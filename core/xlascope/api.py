"""The transformations as users call them: jit, grad, vmap, jvp, vjp, the Jacobians, make_jaxpr, eval_shape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from . import tree
from .control.jit import Options, check_results, jit_function, operand_names
from .dtypes import canonical, float0, is_differentiable
from .ir.avals import ShapedArray, shaped, strengthened
from .ir.jaxpr import ClosedJaxpr
from .ir.markers import NOT_MAPPED, ZERO
from .operations import shapes
from .trace.jaxpr_trace import stage
from .trace.tracer import Tracer
from .trace.values import aval_of, not_an_array
from .transforms import batch as batching
from .transforms import differentiate
from .transforms.evaluate import evaluate
from .transforms.transpose import backward
from .xla import backend
from .xla.dispatch import clear, put

__all__ = [
    "ShapeDtypeStruct",
    "block_until_ready",
    "clear_caches",
    "device_get",
    "device_put",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "make_jaxpr",
    "value_and_grad",
    "vjp",
    "vmap",
]

Numbers = int | Sequence[int] | None
Names = str | Iterable[str] | None


def _numbers(value: Numbers) -> tuple[int, ...]:
    return () if value is None else (value,) if isinstance(value, int) else tuple(value)


def _strings(value: Names) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def jit(fun: Function, **options: Any) -> Function: ...
@overload
def jit(fun: None = None, **options: Any) -> Callable[[Function], Function]: ...
def jit(  # type: ignore[misc]
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
    keep_unused: bool = False,
    inline: bool = False,
    device: Any = None,
    backend: str | None = None,
) -> Any:
    """Compile ``fun`` with XLA, once for each kind of arguments it is called with.

    Arguments named by ``static_argnums`` or ``static_argnames`` are ordinary Python values (hashable), each value of
    which makes a program of its own; all others are arrays, scalars, or trees of them. ``donate_*`` lets XLA reuse
    arguments' memory. ``device`` or ``backend`` says where to run. Works as a decorator, with and without arguments.
    Raises TypeError when an argument or a result is no array.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> f = xs.jit(lambda x: jnp.sum(x * 2.0))
    >>> print(f(jnp.arange(3.0)))
    6.0
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
            device=device,
            backend=backend,
        )
    target = device if backend is None else _first_device(backend)
    options = Options(
        _numbers(static_argnums),
        _strings(static_argnames),
        _numbers(donate_argnums),
        _strings(donate_argnames),
        keep_unused,
        inline,
        target,
    )
    return jit_function(fun, options)


def _first_device(platform: str) -> Any:
    return backend.local_devices(backend=platform)[0]


# Differentiation ----------------------------------------------------------------------------------------------------


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The gradient of a function with one real scalar result.

    Returns a function of the same arguments that gives the derivative with respect to argument ``argnums`` (a tuple
    for several), a tree like that argument. With ``has_aux``, ``fun`` returns (result, anything), and so does the
    gradient. Raises TypeError when the result is no scalar or the argument has an integer type.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.grad(xs.grad(xs.grad(jnp.tanh)))(1.0))
    0.62162673
    """
    with_value = value_and_grad(fun, argnums, has_aux, holomorphic)

    @_named_after(fun, "grad")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        if has_aux:
            (_, aux), found = with_value(*args, **kwargs)
            return found, aux
        return with_value(*args, **kwargs)[1]

    return gradient


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The result of a function with one scalar result, together with its gradient; see :func:`grad`.

    >>> import xlascope as xs
    >>> value, slope = xs.value_and_grad(lambda x: x * x)(3.0)
    >>> print(value, slope)
    9.0 6.0
    """

    @_named_after(fun, "value_and_grad")
    def both(*args: Any, **kwargs: Any) -> Any:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if max(numbers) >= len(args) or min(numbers) < -len(args):
            raise TypeError(f"grad of {_name(fun)} with argnums={argnums} got only {len(args)} positional arguments")
        numbers = tuple(i % len(args) for i in numbers)
        _check_inputs(fun, "grad", [args[i] for i in numbers], numbers, holomorphic)

        def partial(*chosen: Any) -> Any:
            given = list(args)
            for i, x in zip(numbers, chosen, strict=True):
                given[i] = x
            return fun(*given, **kwargs)

        value, pullback, *aux = vjp(partial, *(args[i] for i in numbers), has_aux=has_aux)
        _check_scalar(fun, value, holomorphic)
        found = pullback(_one_like(value))
        gradient = found[0] if isinstance(argnums, int) else found
        return ((value, aux[0]) if has_aux else value), gradient

    return both


def _one_like(value: Any) -> Any:
    return np.ones((), aval_of(value).dtype)[()]


def _check_inputs(
    fun: Callable[..., Any], what: str, trees: Sequence[Any], numbers: Sequence[int], holomorphic: bool
) -> None:
    for number, argument in zip(numbers, trees, strict=True):
        for path, leaf in tree.leaves_with_path(argument):
            name = f"argument {number}{tree.keystr(path)}"
            try:
                dtype = aval_of(leaf).dtype
            except TypeError:
                raise not_an_array(leaf, f"{name} of {_name(fun)}, to be differentiated,") from None
            if not is_differentiable(dtype):
                raise TypeError(
                    f"{what} takes inputs of floating-point type, but {name} of {_name(fun)} has dtype {dtype.name}. "
                    "Convert it with astype(float), or differentiate with respect to another argument (argnums)."
                )
            if dtype.kind == "c" and not holomorphic:
                raise TypeError(f"{what} of a complex argument ({name} of {_name(fun)}) needs holomorphic=True")


def _check_scalar(fun: Callable[..., Any], value: Any, holomorphic: bool) -> None:
    try:
        aval = aval_of(value)
    except TypeError:
        raise TypeError(
            f"grad takes a function with one scalar result, but {_name(fun)} returned a {type(value).__name__}. "
            "Return the scalar alone, or (scalar, anything) with has_aux=True."
        ) from None
    if aval.shape:
        raise TypeError(
            f"grad takes a function with one scalar result, but {_name(fun)} returned shape {aval.shape}. "
            "Sum or average it, or use jacrev for the derivative of every element."
        )
    if not is_differentiable(aval.dtype) or (aval.dtype.kind == "c" and not holomorphic):
        raise TypeError(
            f"grad takes a function with a real floating-point result, but {_name(fun)} returned {aval.dtype.name}"
        )


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result of a function, and the function that takes its cotangent back to cotangents of the arguments.

    Returns (result, pullback), and with ``has_aux`` also what ``fun`` returned beside its result.
    ``pullback(cotangent)``, for a tree like the result, gives a tuple with one tree per argument.

    >>> import xlascope as xs
    >>> y, pullback = xs.vjp(lambda x: x * x, 3.0)
    >>> print(pullback(1.0)[0])
    6.0
    """
    operands, in_structure = tree.flatten(primals)
    results, linear, out_structure, aux = _linearized(fun, operands, in_structure, has_aux)
    avals = [aval_of(x) for x in operands]
    out_avals = [aval_of(y) for y in results]

    def pullback(cotangent: Any) -> Any:
        given = _matching(cotangent, out_structure, out_avals, f"the cotangent given to the vjp of {_name(fun)}")
        received = backward(linear.recorder, linear.inputs, linear.outputs, given)
        return in_structure.unflatten([_cotangent_array(ct, aval) for ct, aval in zip(received, avals, strict=True)])

    value = out_structure.unflatten(results)
    return (value, pullback, aux) if has_aux else (value, pullback)


def _cotangent_array(cotangent: Any, aval: ShapedArray) -> Any:
    if not is_differentiable(aval.dtype):
        return np.zeros(aval.shape, float0)
    return _as_array(cotangent, aval)


def _as_array(cotangent: Any, aval: ShapedArray) -> Any:
    value = shapes.zeros_of(strengthened(aval)) if cotangent is ZERO else cotangent
    return put(value, strengthened(aval)) if isinstance(value, (np.generic, float, complex, np.ndarray)) else value


def _linearized(
    fun: Callable[..., Any], operands: Sequence[Any], in_structure: Any, has_aux: bool
) -> tuple[list[Any], differentiate.LinearProgram, Any, Any]:
    flat, kept = _flattened(fun, in_structure, has_aux)
    results, linear = differentiate.linearize(flat, operands)
    aux = tree.map(_lowered, kept["aux"]) if has_aux else None
    return results, linear, kept["structure"], aux


def _flattened(
    fun: Callable[..., Any], in_structure: Any, has_aux: bool
) -> tuple[Callable[..., list[Any]], dict[str, Any]]:
    """A function of flat operands to flat results, and where it leaves the results' structure and what was beside."""
    kept: dict[str, Any] = {}

    def flat(*xs: Any) -> list[Any]:
        result = fun(*in_structure.unflatten(xs))
        if has_aux:
            result, kept["aux"] = _with_aux(fun, result)
        results, kept["structure"] = tree.flatten(result)
        return check_results(_name(fun), results, kept["structure"])

    return flat, kept


def _with_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True {_name(fun)} has to return a pair (result, aux), it returned {type(result).__name__}"
        )
    return result[0], result[1]


def _lowered(x: Any) -> Any:
    """The value inside a tracer of a differentiation that has ended."""
    while x.__class__ is differentiate.JVPTracer and not x._trace.alive:
        x = x.primal
    return x


def _matching(given: Any, structure: Any, avals: Sequence[ShapedArray], what: str) -> list[Any]:
    leaves, found = tree.flatten(given)
    if found != structure:
        raise TypeError(f"{what} has structure {found}, expected {structure}")
    matched = []
    for x, aval in zip(leaves, avals, strict=True):
        if not is_differentiable(aval.dtype):
            matched.append(ZERO)
            continue
        got = aval_of(x)
        if got.shape != aval.shape:
            raise ValueError(f"{what} has shape {got.shape}, expected {aval.shape}")
        if got.dtype != aval.dtype:
            if not got.weak_type and hasattr(x, "dtype"):
                raise TypeError(f"{what} has dtype {got.dtype.name}, expected {aval.dtype.name}")
            x = np.asarray(x, aval.dtype)[()]
        elif not hasattr(x, "aval"):
            x = np.asarray(x, aval.dtype)[()]
        matched.append(x)
    return matched


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The result of a function and its change when the arguments move by ``tangents`` (trees like ``primals``).

    >>> import xlascope as xs
    >>> y, dy = xs.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> print(y, dy)
    9.0 6.0
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes primals and tangents as tuples or lists with one entry per argument")
    operands, in_structure = tree.flatten(tuple(primals))
    avals = [aval_of(x) for x in operands]
    moves = _matching(tuple(tangents), in_structure, avals, f"the tangent given to the jvp of {_name(fun)}")
    flat, kept = _flattened(fun, in_structure, has_aux)
    results, moved = differentiate.jvp(flat, operands, moves)
    out = kept["structure"]
    tangent = out.unflatten([_tangent_array(t, y) for t, y in zip(moved, results, strict=True)])
    value = out.unflatten(results)
    return (value, tangent, tree.map(_lowered, kept["aux"])) if has_aux else (value, tangent)


def _tangent_array(tangent: Any, value: Any) -> Any:
    aval = aval_of(value)
    if not is_differentiable(aval.dtype):
        return np.zeros(aval.shape, float0)
    return _as_array(tangent, aval)


def linearize(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The result of a function, and the linear function from changes of the arguments to the change of the result.

    >>> import xlascope as xs
    >>> y, derivative = xs.linearize(lambda x: x * x, 3.0)
    >>> print(derivative(2.0))
    12.0
    """
    operands, in_structure = tree.flatten(primals)
    results, linear, out_structure, _ = _linearized(fun, operands, in_structure, False)
    program, residuals = linear.program()
    avals = [aval_of(x) for x in operands]

    def derivative(*tangents: Any) -> Any:
        given = _matching(tangents, in_structure, avals, f"the tangent given to the linearized {_name(fun)}")
        moving = [t for t, x in zip(given, linear.inputs, strict=True) if x is not ZERO]
        moved = iter(evaluate(program, *residuals, *moving))
        out = [next(moved) if t is not ZERO else ZERO for t in linear.outputs]
        return out_structure.unflatten([_tangent_array(t, y) for t, y in zip(out, results, strict=True)])

    return out_structure.unflatten(results), derivative


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of a function, one column at a time: for functions with few inputs and many outputs.

    For an argument of shape A and a result of shape R it has shape R + A; trees of them where the result or argument
    are trees.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """

    @_named_after(fun, "jacfwd")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _of_arguments(fun, argnums, args, kwargs)
        operands, in_structure = tree.flatten(chosen)
        _check_inputs(fun, "jacfwd", [operands], [0], True)

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

    @_named_after(fun, "jacrev")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _of_arguments(fun, argnums, args, kwargs)
        _check_inputs(fun, "jacrev", [tree.leaves(chosen)], [0], True)
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


# Vectorization ------------------------------------------------------------------------------------------------------


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Callable[..., Any]:
    """Apply ``fun`` to all examples along an axis at once.

    ``in_axes`` says for each argument which axis to map over (an integer, None for none, or a tree of these that is a
    prefix of the argument); ``out_axes`` where the mapped axis goes in the results. Raises ValueError when nothing is
    mapped, when the sizes of the mapped axes differ, or when the axes do not fit the arguments.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.vmap(lambda x, y: x * y, in_axes=(0, None))(jnp.arange(3.0), 2.0))
    [0. 2. 4.]
    """
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    @_named_after(fun, "vmap")
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap of {_name(fun)}: in_axes has {len(in_axes)} entries, but there are {len(args)} arguments"
            )
        operands, structure = tree.flatten((args, kwargs))
        names = operand_names(fun, structure)
        per_argument = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        axes = [
            *_spread("in_axes", per_argument, args),
            *_spread("in_axes", 0, kwargs),
        ]
        axes = [_checked_axis(fun, name, x, axis) for name, x, axis in zip(names, operands, axes, strict=True)]
        size = _batch_size(fun, operands, axes, names, axis_size)
        kept: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given, named = structure.unflatten(xs)
            results, out = tree.flatten(fun(*given, **named))
            kept.append(out)
            return check_results(_name(fun), results, out)

        results, found = batching.batch(flat, operands, axes)
        wanted = _spread("out_axes", out_axes, kept[0].unflatten(range(len(results))))
        placed = [_placed(fun, y, a, w, size) for y, a, w in zip(results, found, wanted, strict=True)]
        return kept[0].unflatten(placed)

    return mapped


def _spread(what: str, axes: Any, whole: Any) -> list[Any]:
    """One axis for each leaf of ``whole``, from a tree of axes that is a prefix of it."""
    spread: list[Any] = []

    def is_axis(x: Any) -> bool:
        return x is None or isinstance(x, int)

    leaves, structure = tree.flatten(axes, is_leaf=is_axis)
    try:
        parts = structure.flatten_up_to(whole)
    except ValueError as error:
        raise ValueError(
            f"vmap: {what} does not fit: it has to be a prefix of the tree it speaks of. {error}"
        ) from None
    for axis, part in zip(leaves, parts, strict=True):
        if not is_axis(axis):
            raise TypeError(f"vmap: {what} holds {axis!r}; its leaves are integers or None")
        spread.extend([axis] * len(tree.leaves(part)))
    return spread


def _checked_axis(fun: Callable[..., Any], name: str, x: Any, axis: int | None) -> Any:
    if axis is None:
        return NOT_MAPPED
    try:
        shape = aval_of(x).shape
    except TypeError:
        raise not_an_array(x, f"argument {name} of {_name(fun)}, to be mapped,") from None
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"vmap of {_name(fun)} was asked to map axis {axis} of argument {name}, whose shape is {shape}. "
            "Use in_axes=None for arguments that all examples share."
        )
    return axis % len(shape)


def _batch_size(
    fun: Callable[..., Any], operands: Sequence[Any], axes: Sequence[Any], names: Sequence[str], given: int | None
) -> int:
    sizes = {name: aval_of(x).shape[a] for name, x, a in zip(names, operands, axes, strict=True) if a is not NOT_MAPPED}
    if given is not None:
        sizes["axis_size"] = given
    if not sizes:
        raise ValueError(f"vmap of {_name(fun)} needs at least one mapped argument: in_axes has only None")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise ValueError(f"vmap of {_name(fun)}: the mapped axes have different sizes: {listed}")
    return int(next(iter(sizes.values())))


def _placed(fun: Callable[..., Any], y: Any, axis: Any, wanted: int | None, size: int) -> Any:
    if wanted is None:
        if axis is not NOT_MAPPED:
            raise ValueError(
                f"vmap of {_name(fun)}: out_axes is None for a result that differs from example to example"
            )
        return y
    front = shapes.mapped_in_front(y, axis, size)
    return shapes.moveaxis(front, 0, wanted % len(aval_of(front).shape))


# Looking ------------------------------------------------------------------------------------------------------------


class ShapeDtypeStruct:
    """A shape and a dtype without values, to trace with."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, weak_type: bool = False) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def abstract(x: Any) -> ShapedArray:
    """The abstract value of an argument to trace with: of an array, a scalar, or anything with a shape and a dtype."""
    if isinstance(x, ShapeDtypeStruct):
        return shaped(x.shape, canonical(x.dtype), x.weak_type)
    return aval_of(x)


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: Numbers = None, return_shape: bool = False
) -> Callable[..., Any]:
    """A function that gives the jaxpr of ``fun`` for its arguments without running it.

    The arguments are arrays, scalars, ShapeDtypeStructs, or trees of them.

    >>> import xlascope as xs
    >>> xs.make_jaxpr(lambda x: x * 2.0)(1.0)
    { lambda ; a:f32[]. let
        b:f32[] = mul a 2.0:f32[]
      in (b,) }
    """
    static = _numbers(static_argnums)

    @_named_after(fun, "make_jaxpr")
    def traced(*args: Any, **kwargs: Any) -> Any:
        program, shape = trace_program(fun, args, kwargs, static)
        return (program, shape) if return_shape else program

    return traced


def trace_program(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int] = ()
) -> tuple[ClosedJaxpr, Any]:
    """The program of a call, and a tree like its result with shapes and dtypes."""
    dynamic = [None if i in static else x for i, x in enumerate(args)]
    operands, structure = tree.flatten((tuple(dynamic), kwargs))
    kept: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        given, named = structure.unflatten(xs)
        positional = [args[i] if i in static else x for i, x in enumerate(given)]
        results, out = tree.flatten(fun(*positional, **named))
        kept.append(out)
        return check_results(_name(fun), results, out)

    program = stage(flat, [abstract(x) for x in operands], _name(fun), lambda: operand_names(fun, structure))
    shapes_out = [ShapeDtypeStruct(a.shape, a.dtype, a.weak_type) for a in program.out_avals]
    return program, kept[0].unflatten(shapes_out)


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A tree like the result of ``fun`` with shapes and dtypes in place of arrays; nothing is computed.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.eval_shape(jnp.sin, xs.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    return trace_program(fun, args, kwargs)[1]


def device_put(x: Any, device: Any = None) -> Any:
    """A tree of arrays on a device: the given one, to which they are then committed, or the default one."""
    return tree.map(lambda leaf: leaf if isinstance(leaf, Tracer) else put(leaf, aval_of(leaf), device), x)


def device_get(x: Any) -> Any:
    """A tree of NumPy arrays with the values of a tree of arrays."""
    return tree.map(np.asarray, x)


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree have been computed; returns the tree."""
    for leaf in tree.leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def clear_caches() -> None:
    """Forget compiled single operations; jitted functions forget theirs with ``f.clear_cache()``."""
    clear()


def _name(fun: Any) -> str:
    return getattr(fun, "__name__", None) or type(fun).__name__


def _named_after(fun: Callable[..., Any], what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: carry over the name and the documentation of the function that is transformed."""

    def named(made: Callable[..., Any]) -> Callable[..., Any]:
        made = functools.wraps(fun, updated=())(made) if hasattr(fun, "__name__") else made
        made.__doc__ = f"{what} of {_name(fun)}. {getattr(fun, '__doc__', None) or ''}".strip()
        return made

    return named
