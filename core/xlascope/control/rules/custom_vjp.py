"""custom_vjp: a function with a custom VJP rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...dtypes import is_differentiable
from ...ir.avals import ShapedArray
from ...ir.markers import ZERO
from ...operations.conversion import to_dtype
from ...trace.source import compose_message, here
from ...trace.values import aval_of, is_value
from ..programs.function_names import definition_text, name_of, parameter_names
from .arguments import RuleArguments
from .custom_rule_function import CustomDerivativeFunction, FlatFunction, is_pair
from .custom_vjp_call import CustomVJPCall, VJPForwardResult
from .tangents import is_zero, to_rule_tangent


class CustomVJPPrimal(NamedTuple):
    """Argument of a forward rule with ``symbolic_zeros=True``: its value, and whether it is differentiated."""

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(arguments: Any) -> Any:
    """Return the values in a tree of :class:`CustomVJPPrimal`."""
    return tree.map(lambda x: x.value, arguments, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))


class custom_vjp(CustomDerivativeFunction):  # noqa: N801  (a decorator)
    """A function with a custom VJP rule, which :meth:`defvjp` sets.

    Arguments numbered in ``nondiff_argnums`` (or named in ``nondiff_argnames``) are passed to the forward rule in
    their positions and to the backward rule in front of the others; they may be any objects.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
    >>> print(xs.grad(lambda x: 10.0 * clip_gradient(x))(3.0))
    1.0
    """

    _decorator = "custom_vjp"
    _setter = "defvjp(fwd, bwd)"

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule: ``fwd(*args)`` returns (result, residuals), ``bwd(residuals, cotangent)`` the cotangents.

        The cotangents are a tuple with one tree for each argument; None stands for zeros.

        With ``symbolic_zeros`` the forward rule gets ``CustomVJPPrimal`` (value, perturbed) for each argument, and
        zero cotangents are ``SymbolicZero`` objects. ``optimize_remat`` is accepted for JAX's sake.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros

    def _has_rule(self) -> bool:
        return self.fwd is not None and self.bwd is not None

    def _call(self, function: FlatFunction, arguments: RuleArguments, structures: list[Any]) -> CustomVJPCall:
        """Return the operation that calls the flat ``function``, with the user's two rules flattened.

        ``arguments`` are those of the call. Each run of the forward rule appends the structure of its results to
        ``structures``.
        """

        def rule(operands: Sequence[Any], nonzero: Sequence[bool]) -> VJPForwardResult:
            forward_result, structure = self._forward(arguments, operands, nonzero)
            structures.append(structure)
            return forward_result

        titles = name_of(self.fwd), name_of(self.bwd)
        return CustomVJPCall(function, rule, name_of(self.fun), None, 0, titles, self.symbolic_zeros)

    def _forward(
        self, arguments: RuleArguments, operands: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[VJPForwardResult, Any]:
        """Call the user's forward rule; return flat results, residuals and backward rule, and the results' structure.

        ``nonzero`` marks the operands that are differentiated. Raises TypeError if that includes a tracer within
        nondiff arguments, or if the rule does not return a pair.
        """
        assert self.fwd is not None
        count = len(arguments.traced)
        if any(nonzero[:count]):
            raise _non_differentiable_error(self.fun, arguments)
        traced, operands, nonzero = list(operands[:count]), operands[count:], nonzero[count:]
        arguments = arguments.replace_tracers(traced)
        rule_operands = operands = arguments.restore_defaults(operands)
        if self.symbolic_zeros:
            rule_operands = [CustomVJPPrimal(x, m) for x, m in zip(operands, nonzero, strict=True)]
        pair = self.fwd(*arguments.join(rule_operands))
        if not is_pair(pair):
            raise TypeError(
                f"the forward rule {name_of(self.fwd)} of {name_of(self.fun)} has to return (result, residuals), "
                f"it returned {type(pair).__name__}{here()}"
            )
        results, out = tree.flatten(pair[0])
        residuals, structure = tree.flatten(pair[1])
        for x in (*results, *residuals):
            aval_of(x)
        avals = [aval_of(x) for x in operands]
        out_avals = [aval_of(y) for y in results]

        def backward(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            rule_cotangents = [
                to_rule_tangent(ct, a, self.symbolic_zeros) for ct, a in zip(cotangents, out_avals, strict=True)
            ]
            call_arguments = arguments.replace_tracers(residuals[:count])
            operand_cotangents = self._backward(
                call_arguments, avals, structure.unflatten(residuals[count:]), out.unflatten(rule_cotangents)
            )
            return [*[ZERO] * count, *operand_cotangents]

        return VJPForwardResult(results, [*traced, *residuals], backward), out

    def _backward(
        self, arguments: RuleArguments, avals: Sequence[ShapedArray], residuals: Any, cotangent: Any
    ) -> list[Any]:
        """Call the user's backward rule; return the cotangent of each differentiable operand, or ZERO.

        ``avals`` are the operands' types. Raises TypeError or ValueError if structures or types do not match the
        arguments.
        """
        assert self.bwd is not None
        name = f"the backward rule {name_of(self.bwd)} of {name_of(self.fun)}"
        returned = self.bwd(*arguments.nondiff_values(), residuals, cotangent)
        children = arguments.structure.children()
        if isinstance(returned, list):
            returned = tuple(returned)
        if not isinstance(returned, tuple) or len(returned) != len(children):
            raise TypeError(_wrong_tuple(name, returned, len(children), definition_text(self.bwd)))
        flat: list[Any] = []
        for number, (ct, child) in enumerate(zip(returned, children, strict=True)):
            flat += _leaves_of_cotangent(name, number, ct, child)
        return [_check_cotangent(name, ct, aval) for ct, aval in zip(flat, avals, strict=True)]


def _wrong_tuple(name: str, result: Any, count: int, definition: str) -> str:
    """Return the message about a backward rule that does not return one cotangent for each argument.

    ``name`` describes the rule, ``result`` is what it returned, ``count`` the number of arguments, ``definition`` a
    further line on where the rule is defined.
    """
    returned = "one array" if is_value(result) else type(result).__name__
    if isinstance(result, tuple):
        returned = f"a tuple of {len(result)}"
    cotangents = (
        "the cotangent of the one argument" if count == 1 else f"one cotangent for each of the {count} arguments"
    )
    problem = f"{name} returned {returned}; it has to return a tuple with {cotangents}."
    if count == 1:
        return compose_message(problem, f"Write return (ct_0,): a tuple of one, with a comma.{definition}")
    cotangents = ", ".join(f"ct_{i}" for i in range(count))
    fix = f"Write return ({cotangents}), with None for an argument without a cotangent."
    return compose_message(problem, fix + definition)


def _non_differentiable_error(function: Any, arguments: RuleArguments) -> TypeError:
    """Return the error for a derivative with respect to a tracer within nondiff arguments."""
    names = parameter_names(function, len(arguments.positional))
    fixed = [i for i, *_ in arguments.traced_places]
    listed = " and ".join(names[i] for i in fixed)
    return TypeError(
        f"{name_of(function)} is differentiated with respect to {listed}, in "
        f"nondiff_argnums={arguments.nondiff_argnums} of its "
        f"custom_vjp{here()}: its rule gives no cotangent for {'these' if len(fixed) > 1 else 'it'}. Take "
        f"{', '.join(str(i) for i in fixed)} out of nondiff_argnums and return a cotangent from the backward rule "
        "(None for zeros), or pass lax.stop_gradient of the value."
    )


def _leaves_of_cotangent(name: str, number: int, cotangent: Any, structure: Any) -> list[Any]:
    """Return the leaves of one argument's cotangent; None anywhere in the tree stands for zeros.

    ``name`` describes the rule, ``number`` is the argument's index, ``structure`` its structure. Raises TypeError if
    the cotangent has another structure and is no prefix of it.
    """
    try:
        parts = structure.flatten_up_to(cotangent) if cotangent is not None else [None] * structure.num_leaves
    except ValueError as error:
        full_tree = structure.unflatten(range(structure.num_leaves))
        leaves = (
            tree.leaves(tree.broadcast(cotangent, full_tree, is_leaf=_is_none))
            if _is_prefix(cotangent, full_tree)
            else None
        )
        if leaves is not None:
            return leaves
        raise TypeError(
            f"{name} has to return cotangents in the structure of the arguments; for argument {number} of structure "
            f"{structure} it returned {tree.structure(cotangent)}{here()}: "
            f"{error}"
        ) from None
    return list(parts)


def _is_none(x: Any) -> bool:
    return x is None


def _is_prefix(prefix: Any, full_tree: Any) -> bool:
    try:
        tree.broadcast(prefix, full_tree, is_leaf=_is_none)
    except (ValueError, TypeError):
        return False
    return True


def _check_cotangent(name: str, cotangent: Any, aval: ShapedArray) -> Any:
    """Return a rule's cotangent in the dtype of ``aval``, the type of its argument; ZERO for a zero.

    ``name`` describes the rule. Raises ValueError for another shape, or a complex cotangent of a real argument.
    """
    if is_zero(cotangent) or not is_differentiable(aval.dtype):
        return ZERO
    actual = aval_of(cotangent)
    if actual.shape != aval.shape or (actual.dtype.kind == "c" and aval.dtype.kind != "c"):
        raise ValueError(
            f"{name} has to return cotangents of the arguments' types: for one of type {aval.str_short()} it returned "
            f"{actual.str_short()}{here()}"
        )
    return to_dtype(cotangent, aval.dtype)
