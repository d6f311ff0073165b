"""closure_convert and custom_gradient: functions whose closed-over values become arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tree
from ...dtypes import is_differentiable
from ...ir.jaxpr import ClosedJaxpr
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import TracerBase
from ...trace.values import aval_of
from ...transforms.evaluate import evaluate_jaxpr
from ..programs.function_names import copy_function_metadata, name_of
from ..programs.function_staging import stage_body
from ..programs.values import operand_aval
from .custom_rule_function import is_pair
from .custom_vjp import custom_vjp


@api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``fun`` as a function of its arguments and of the traced floating-point values that it closes over.

    Returns (function, values): ``function(*args, *values)`` equals ``fun(*args)`` for arguments of the types of
    ``example_args``. With it, a rule of custom_jvp or custom_vjp can take as arguments the values that it must not
    close over.

    >>> import xlascope as xs
    >>> def slope(x):
    ...     converted, hoisted = xs.closure_convert(lambda y: x * y, 1.0)
    ...     return converted(3.0, *hoisted)
    >>> print(xs.grad(slope)(2.0))
    3.0
    """
    operands, structure = tree.flatten(example_args)
    avals = [operand_aval(f"an argument of {name_of(fun)}", x) for x in operands]
    program, out_structure = stage_body(fun, structure, avals)
    hoisted = [isinstance(c, TracerBase) and is_differentiable(c.dtype) for c in program.consts]
    values = [c for c, is_hoisted in zip(program.consts, hoisted, strict=True) if is_hoisted]

    @copy_function_metadata(fun)
    def call_converted(*args: Any) -> Any:
        count = len(args) - len(values)
        operand_values, args_structure = tree.flatten(args[:count])
        if args_structure != structure:
            raise TypeError(
                f"the converted {name_of(fun)} takes arguments of structure {structure} and then the values it closes "
                f"over, it got {args_structure}{here()}"
            )
        remaining_values = iter(args[count:])
        consts = [
            next(remaining_values) if is_hoisted else c for c, is_hoisted in zip(program.consts, hoisted, strict=True)
        ]
        return out_structure.unflatten(evaluate_jaxpr(program.jaxpr, consts, operand_values))

    return call_converted, values


class _ClosureConvertedPullback:
    """Pullback of a custom_gradient function, as a pytree whose leaves are the values that it closes over.

    ``program`` maps the result's cotangents to the leaves of the arguments' cotangents, ``consts`` are its constants,
    ``structure`` is the structure of the arguments' cotangents.
    """

    def __init__(self, program: ClosedJaxpr, consts: Any, structure: Any) -> None:
        self.program = program
        self.consts = consts
        self.structure = structure


tree.register_pytree_node(
    _ClosureConvertedPullback,
    lambda p: (p.consts, (p.program, p.structure)),
    lambda aux, consts: _ClosureConvertedPullback(aux[0], consts, aux[1]),
)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that returns its result and its pullback, which becomes the function's derivative.

    The pullback takes the cotangent of the result and returns those of the arguments. The decorated function returns
    the result alone.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.custom_gradient
    ... def f(x):
    ...     return x ** 2, lambda g: g * 10.0
    >>> print(f(3.0), xs.grad(f)(3.0))
    9.0 10.0
    """

    def check_pair(returned: Any) -> Any:
        if not is_pair(returned) or not callable(returned[1]):
            raise TypeError(
                f"{name_of(fun)}, a custom_gradient function, has to return its result and the function that takes the "
                f"result's cotangent to the arguments' cotangents{here()}"
            )
        return returned

    @custom_vjp
    @copy_function_metadata(fun)
    def differentiable_function(*args: Any, **kwargs: Any) -> Any:
        return check_pair(fun(*args, **kwargs))[0]

    def forward(*args: Any) -> tuple[Any, _ClosureConvertedPullback]:
        result, pullback = check_pair(fun(*args))
        leaves, out = tree.flatten(result)
        cotangent_structures: list[Any] = []

        def flat(*cotangents: Any) -> list[Any]:
            cotangent_leaves, structure = tree.flatten(_as_tuple(pullback(out.unflatten(cotangents))))
            cotangent_structures.append(structure)
            return cotangent_leaves

        program = stage(flat, [aval_of(y) for y in leaves], name_of(fun))
        return result, _ClosureConvertedPullback(program, list(program.consts), cotangent_structures[0])

    def backward(pullback: _ClosureConvertedPullback, cotangent: Any) -> Any:
        cotangent_leaves = evaluate_jaxpr(pullback.program.jaxpr, pullback.consts, tree.leaves(cotangent))
        return pullback.structure.unflatten(cotangent_leaves)

    differentiable_function.defvjp(forward, backward)
    return differentiable_function


def _as_tuple(cotangents: Any) -> tuple[Any, ...]:
    return tuple(cotangents) if isinstance(cotangents, (tuple, list)) else (cotangents,)
