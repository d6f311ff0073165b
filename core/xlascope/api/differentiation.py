"""First derivatives, as users call them: grad, value_and_grad, vjp, jvp, linearize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..control.programs.function_names import definition_text
from ..errors import see
from ..ir.avals import ShapedArray
from ..operations.operand_values import typed_scalar
from ..trace.source import compose_message
from ..trace.traceback_filtering import api_boundary
from ..trace.values import aval_of, invalid_operand_error
from ..transforms import differentiate
from ..transforms.transpose import backward
from .argnames import name_of, wraps
from .differentiated_arguments import (
    DifferentiatedArguments,
    at,
    kind_of,
    leaf_name,
    require_callable,
    require_differentiable,
    require_result_dtype,
    restrict_to_arguments,
)
from .pullback import LinearSignature, Pullback
from .tangent_checks import MismatchErrors, check_tangents, tangent_namer
from .tree_adapters import derivative_array, flatten_function, linearize_function, to_operand, to_result


@api_boundary
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a function with one real scalar result.

    The returned function takes the same arguments and returns the derivative with respect to argument
    ``argnums`` (a tuple for several; negative numbers count from the end), a tree like that argument. With
    ``has_aux``, ``fun`` returns a pair (result, aux), and the returned function a pair (gradient, aux). With
    ``allow_int``, arguments of integer type have gradients of type float0; without it they raise TypeError.
    With ``holomorphic``, arguments and result are complex; without it, the gradient with respect to a complex
    argument is the conjugate of the direction of steepest ascent. Raises TypeError if the result is not a
    scalar.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.grad(xs.grad(xs.grad(jnp.tanh)))(1.0))
    0.62162673
    """
    with_value = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun, "grad")
    @api_boundary
    def compute_gradient(*args: Any, **kwargs: Any) -> Any:
        if has_aux:
            (_, aux), result = with_value(*args, **kwargs)
            return result, aux
        return with_value(*args, **kwargs)[1]

    return compute_gradient


@api_boundary
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes a scalar function's result and gradient; see :func:`grad`.

    >>> import xlascope as xs
    >>> value, slope = xs.value_and_grad(lambda x: x * x)(3.0)
    >>> print(value, slope)
    9.0 6.0
    """
    require_callable("grad", fun)
    arguments = DifferentiatedArguments("grad", argnums)

    @wraps(fun, "value_and_grad")
    @api_boundary
    def compute_value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        positions = arguments.resolve_positions(fun, len(args), TypeError)
        operands, structure = tree.flatten(tuple([args[i] for i in positions]))
        operands = list(map(to_operand, operands))
        require_differentiable(
            "grad", fun, operands, structure, positions, holomorphic=holomorphic, allow_int=allow_int
        )
        partial = restrict_to_arguments(fun, positions, args, kwargs)
        results, linear, outputs = linearize_function(partial, fun, operands, structure, has_aux)
        value = outputs.structure.unflatten(map(to_result, results))
        unit = _unit_cotangent(fun, value, holomorphic)
        received = backward(linear.recorder, linear.inputs, linear.outputs, [unit])
        cotangents = [derivative_array(ct, aval_of(x)) for ct, x in zip(received, operands, strict=True)]
        gradient = arguments.pick(structure.unflatten(cotangents))
        return ((value, outputs.unwrap_aux()) if has_aux else value), gradient

    return compute_value_and_gradient


def _unit_cotangent(fun: Callable[..., Any], value: Any, holomorphic: bool) -> Any:
    """Return the cotangent of a scalar result, 1 in its dtype, with which the backward pass begins.

    ``fun`` is the function that returned ``value``. Raises TypeError unless that is a real scalar, complex if
    ``holomorphic``.
    """
    try:
        aval = aval_of(value)
    except TypeError:
        fix = (
            "Is a return missing?"
            if value is None
            else "Return the scalar alone, or (scalar, anything) with has_aux=True."
        )
        problem = f"grad takes a function with one scalar result, but {name_of(fun)} returned {kind_of(value)}."
        raise TypeError(compose_message(problem, fix + definition_text(fun)) + see("grad-of-non-scalar")) from None
    if aval.shape:
        problem = f"grad takes a function with one scalar result, but {name_of(fun)} returned shape {aval.shape}."
        fix = "Sum or average it, or use jacrev for the derivative of every element."
        raise TypeError(compose_message(problem, fix + definition_text(fun)) + see("grad-of-non-scalar"))
    require_result_dtype("grad", fun, aval.dtype, holomorphic)
    return typed_scalar(1, aval.dtype)


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the result of a function, and its pullback from the result's cotangent to cotangents of the arguments.

    Returns (result, pullback), and with ``has_aux`` also the auxiliary value that ``fun`` returned.
    ``pullback(cotangent)``, for a tree like the result, returns a tuple with one tree per argument; arguments of
    integer type get cotangents of type float0, and cotangents of integer results are ignored. The pullback is a
    container of its residuals: a jitted function may return it, and take it as an argument. Raises ValueError if
    a cotangent's structure, shape or dtype differs from that of the result.

    >>> import xlascope as xs
    >>> y, pullback = xs.vjp(lambda x: x * x, 3.0)
    >>> print(pullback(1.0)[0])
    6.0
    """
    value, linear, signature, aux = _linearize_call("vjp", fun, primals, has_aux)
    pullback = Pullback(signature, linear)
    return (value, pullback, aux) if has_aux else (value, pullback)


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the result of a function, and its derivative as a linear function of tangents of the arguments.

    Returns (result, derivative), and with ``has_aux`` also the auxiliary value that ``fun`` returned. The
    derivative is a container of its residuals, like the pullback of :func:`vjp`. Raises TypeError or ValueError
    if a tangent does not fit its argument.

    >>> import xlascope as xs
    >>> y, derivative = xs.linearize(lambda x: x * x, 3.0)
    >>> print(derivative(2.0))
    12.0
    """
    value, linear, signature, aux = _linearize_call("linearize", fun, primals, has_aux)
    signature.program, residuals = linear.to_program()
    derivative = tree.Partial(signature.push, residuals)
    return (value, derivative, aux) if has_aux else (value, derivative)


def _linearize_call(
    transformation: str, fun: Callable[..., Any], primals: Sequence[Any], has_aux: bool
) -> tuple[Any, differentiate.LinearProgram, LinearSignature, Any]:
    """Return the result of a function at ``primals``, its linear program, the program's signature, and aux.

    aux is None without ``has_aux``. ``transformation`` is the public function's name, for errors.
    """
    require_callable(transformation, fun)
    operands, structure = tree.flatten(tuple(primals))
    operands = list(map(to_operand, operands))
    avals = _avals(fun, operands, structure)
    results, linear, outputs = linearize_function(fun, fun, operands, structure, has_aux)
    signature = LinearSignature(fun, linear, structure, avals, outputs.structure, [aval_of(y) for y in results])
    return (
        outputs.structure.unflatten(map(to_result, results)),
        linear,
        signature,
        outputs.unwrap_aux() if has_aux else None,
    )


def _avals(fun: Callable[..., Any], operands: Sequence[Any], structure: Any) -> list[ShapedArray]:
    avals: list[ShapedArray] = []
    try:
        for x in operands:
            avals.append(aval_of(x))
    except TypeError:
        name = leaf_name(structure, range(len(structure.children())), len(avals))
        raise invalid_operand_error(x, f"{name} of {name_of(fun)}, to be differentiated,") from None
    return avals


@api_boundary
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """Return the result of a function, and its derivative in the direction of ``tangents`` (trees like ``primals``).

    Returns (result, tangent), and with ``has_aux`` also the auxiliary value that ``fun`` returned. Tangents of
    integer values are of type float0, both in ``tangents`` and in the result. Raises TypeError if structures or
    dtypes of primals and tangents differ, ValueError if shapes do.

    >>> import xlascope as xs
    >>> y, dy = xs.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> print(y, dy)
    9.0 6.0
    """
    require_callable("jvp", fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "jvp takes primals and tangents as tuples or lists with one entry per argument, "
            f"got {type(primals).__name__} and {type(tangents).__name__}{at()}"
        )
    operands, given_structure = tree.flatten(primals)
    operands = list(map(to_operand, operands))
    structure = given_structure if type(primals) is tuple else tree.structure(tuple(primals))
    avals = _avals(fun, operands, structure)
    name = tangent_namer(lambda: f"the jvp of {name_of(fun)}")
    tangent_leaves = check_tangents(tangents, given_structure, avals, name, MismatchErrors())
    flat, outputs = flatten_function(fun, fun, structure, has_aux)
    results, tangents_out = differentiate.jvp(flat, operands, tangent_leaves)
    change = outputs.structure.unflatten(
        [derivative_array(t, aval_of(y)) for t, y in zip(tangents_out, results, strict=True)]
    )
    value = outputs.structure.unflatten(map(to_result, results))
    return (value, change, outputs.unwrap_aux()) if has_aux else (value, change)
