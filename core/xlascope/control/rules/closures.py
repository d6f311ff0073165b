"""Functions without what they close over: closure_convert; and custom_gradient, which needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tree
from ...dtypes import is_differentiable
from ...ir.jaxpr import ClosedJaxpr
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import Tracer
from ...trace.values import aval_of
from ...transforms.evaluate import evaluate_jaxpr
from ..programs.bodies import staged
from ..programs.names import called_as, name_of
from ..programs.values import operand_aval
from .custom_vjp import custom_vjp
from .ruled_function import is_pair


@api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """``fun`` as a function of its arguments and of the traced floating-point values that it closes over.

    Returns (function, values): ``function(*args, *values)`` equals ``fun(*args)`` for arguments of the types of
    ``example_args``. So a rule (custom_jvp, custom_vjp) can be given what it must not close over.

    >>> import xlascope as xs
    >>> def slope(x):
    ...     converted, hoisted = xs.closure_convert(lambda y: x * y, 1.0)
    ...     return converted(3.0, *hoisted)
    >>> print(xs.grad(slope)(2.0))
    3.0
    """
    operands, structure = tree.flatten(example_args)
    avals = [operand_aval(f"an argument of {name_of(fun)}", x) for x in operands]
    program, out_structure = staged(fun, structure, avals)
    hoisted = [isinstance(c, Tracer) and is_differentiable(c.dtype) for c in program.consts]
    values = [c for c, out in zip(program.consts, hoisted, strict=True) if out]

    @called_as(fun)
    def converted(*args: Any) -> Any:
        count = len(args) - len(values)
        found, own = tree.flatten(args[:count])
        if own != structure:
            raise TypeError(
                f"the converted {name_of(fun)} takes arguments of structure {structure} and then the values it closes "
                f"over, it got {own}{here()}"
            )
        given = iter(args[count:])
        consts = [next(given) if out else c for c, out in zip(program.consts, hoisted, strict=True)]
        return out_structure.unflatten(evaluate_jaxpr(program.jaxpr, consts, found))

    return converted, values


class _Pullback:
    """A backward function as a tree: the values that it closes over are its leaves."""

    def __init__(self, program: ClosedJaxpr, consts: Any, structure: Any) -> None:
        self.program = program
        self.consts = consts
        self.structure = structure


tree.register_pytree_node(
    _Pullback, lambda p: (p.consts, (p.program, p.structure)), lambda aux, consts: _Pullback(aux[0], consts, aux[1])
)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """``fun``, which returns (result, function from the result's cotangent to those of the arguments), as a function
    with that derivative. A decorator.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.custom_gradient
    ... def f(x):
    ...     return x ** 2, lambda g: g * 10.0
    >>> print(f(3.0), xs.grad(f)(3.0))
    9.0 10.0
    """

    def pair(found: Any) -> Any:
        if not is_pair(found) or not callable(found[1]):
            raise TypeError(
                f"{name_of(fun)}, a custom_gradient function, has to return its result and the function that takes the "
                f"result's cotangent to the arguments' cotangents{here()}"
            )
        return found

    @custom_vjp
    @called_as(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return pair(fun(*args, **kwargs))[0]

    def forward(*args: Any) -> tuple[Any, _Pullback]:
        result, pullback = pair(fun(*args))
        leaves, out = tree.flatten(result)
        kept: list[Any] = []

        def flat(*cotangents: Any) -> list[Any]:
            found, structure = tree.flatten(_as_tuple(pullback(out.unflatten(cotangents))))
            kept.append(structure)
            return found

        program = stage(flat, [aval_of(y) for y in leaves], name_of(fun))
        return result, _Pullback(program, list(program.consts), kept[0])

    def backward(pullback: _Pullback, cotangent: Any) -> Any:
        found = evaluate_jaxpr(pullback.program.jaxpr, pullback.consts, tree.leaves(cotangent))
        return pullback.structure.unflatten(found)

    wrapped.defvjp(forward, backward)
    return wrapped


def _as_tuple(cotangents: Any) -> tuple[Any, ...]:
    return tuple(cotangents) if isinstance(cotangents, (tuple, list)) else (cotangents,)
