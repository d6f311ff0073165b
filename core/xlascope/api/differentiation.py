"""Derivatives as users ask for them: grad, value_and_grad, vjp, jvp, linearize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..control.jit import check_results
from ..dtypes import float0, is_differentiable
from ..ir.avals import ShapedArray, strengthened
from ..ir.markers import ZERO
from ..operations import shapes
from ..trace.values import aval_of, not_an_array
from ..transforms import differentiate
from ..transforms.evaluate import evaluate
from ..transforms.transpose import backward
from ..xla.dispatch import put
from .naming import name_of, named_after


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

    @named_after(fun, "grad")
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

    @named_after(fun, "value_and_grad")
    def both(*args: Any, **kwargs: Any) -> Any:
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if max(numbers) >= len(args) or min(numbers) < -len(args):
            raise TypeError(f"grad of {name_of(fun)} with argnums={argnums} got only {len(args)} positional arguments")
        numbers = tuple(i % len(args) for i in numbers)
        check_inputs(fun, "grad", [args[i] for i in numbers], numbers, holomorphic)

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


def check_inputs(
    fun: Callable[..., Any], what: str, trees: Sequence[Any], numbers: Sequence[int], holomorphic: bool
) -> None:
    """Raise TypeError naming the first leaf that cannot be differentiated."""
    for number, argument in zip(numbers, trees, strict=True):
        for path, leaf in tree.leaves_with_path(argument):
            name = f"argument {number}{tree.keystr(path)}"
            try:
                dtype = aval_of(leaf).dtype
            except TypeError:
                raise not_an_array(leaf, f"{name} of {name_of(fun)}, to be differentiated,") from None
            if not is_differentiable(dtype):
                raise TypeError(
                    f"{what} takes inputs of floating-point type, but {name} of {name_of(fun)} has dtype {dtype.name}. "
                    "Convert it with astype(float), or differentiate with respect to another argument (argnums)."
                )
            if dtype.kind == "c" and not holomorphic:
                raise TypeError(f"{what} of a complex argument ({name} of {name_of(fun)}) needs holomorphic=True")


def _check_scalar(fun: Callable[..., Any], value: Any, holomorphic: bool) -> None:
    try:
        aval = aval_of(value)
    except TypeError:
        raise TypeError(
            f"grad takes a function with one scalar result, but {name_of(fun)} returned a {type(value).__name__}. "
            "Return the scalar alone, or (scalar, anything) with has_aux=True."
        ) from None
    if aval.shape:
        raise TypeError(
            f"grad takes a function with one scalar result, but {name_of(fun)} returned shape {aval.shape}. "
            "Sum or average it, or use jacrev for the derivative of every element."
        )
    if not is_differentiable(aval.dtype) or (aval.dtype.kind == "c" and not holomorphic):
        raise TypeError(
            f"grad takes a function with a real floating-point result, but {name_of(fun)} returned {aval.dtype.name}"
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
        given = _matching(cotangent, out_structure, out_avals, f"the cotangent given to the vjp of {name_of(fun)}")
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
        return check_results(name_of(fun), results, kept["structure"])

    return flat, kept


def _with_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True {name_of(fun)} has to return a pair (result, aux), it returned {type(result).__name__}"
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
    moves = _matching(tuple(tangents), in_structure, avals, f"the tangent given to the jvp of {name_of(fun)}")
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
        given = _matching(tangents, in_structure, avals, f"the tangent given to the linearized {name_of(fun)}")
        moving = [t for t, x in zip(given, linear.inputs, strict=True) if x is not ZERO]
        moved = iter(evaluate(program, *residuals, *moving))
        out = [next(moved) if t is not ZERO else ZERO for t in linear.outputs]
        return out_structure.unflatten([_tangent_array(t, y) for t, y in zip(out, results, strict=True)])

    return out_structure.unflatten(results), derivative
