"""custom_jvp: a function with a custom JVP rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...dtypes import is_differentiable
from ...ir.markers import ZERO
from ...operations.barriers import stop_gradient
from ...operations.tangent_arithmetic import sum_tangents
from ...trace.operand_coercion import to_array
from ...trace.source import here
from ...trace.values import aval_of
from ..programs.function_names import name_of
from .arguments import RuleArguments
from .custom_jvp_call import CustomJVPCall
from .custom_rule_function import CustomDerivativeFunction, FlatFunction, is_pair
from .tangents import SymbolicZero, is_zero, tangent_aval, to_rule_tangent


class custom_jvp(CustomDerivativeFunction):  # noqa: N801  (a decorator)
    """A function with a custom JVP rule, which :meth:`defjvp` or :meth:`defjvps` sets.

    Arguments numbered in ``nondiff_argnums`` (or named in ``nondiff_argnames``) are passed to the rule unchanged,
    in front of the others; they may be any objects.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.custom_jvp
    ... def log1pexp(x):
    ...     return jnp.log(1.0 + jnp.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1.0 - 1.0 / (1.0 + jnp.exp(x))) * t
    >>> print(xs.grad(log1pexp)(100.0))
    1.0
    """

    _decorator = "custom_jvp"
    _setter = "defjvp"

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: ``jvp(primals, tangents)`` returns (results, their tangents). Works as a decorator.

        With ``symbolic_zeros`` zero tangents are ``SymbolicZero`` objects instead of arrays.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule argument by argument: ``jvps[i](tangent, result, *primals)`` is the contribution of argument i.

        None stands for an argument that contributes nothing. The function has to return one tree, and each
        contribution has the structure of that tree.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps cannot be used with nondiff_argnums; use defjvp")

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            result = self(*primals)
            if len(jvps) != len(primals):
                raise ValueError(
                    f"defjvps of {name_of(self.fun)} got {len(jvps)} rules for {len(primals)} arguments{here()}: "
                    "there has to be one for each argument, or None"
                )
            parts = [
                part(t, result, *primals)
                for part, t in zip(jvps, tangents, strict=True)
                if part is not None and not isinstance(t, SymbolicZero)
            ]
            if not parts:
                return result, tree.map(lambda y: to_rule_tangent(ZERO, aval_of(y), self.symbolic_zeros), result)
            return result, tree.map(lambda *leaves: sum_tangents(leaves), *parts)

        rule.__name__ = f"{name_of(self.fun)}_jvps"
        self.defjvp(rule)

    def _has_rule(self) -> bool:
        return self.jvp is not None

    def _non_differentiable(self, traced: Sequence[Any]) -> Sequence[Any]:
        """Return the tracers of ``nondiff_argnums`` wrapped in stop_gradient, as JAX does."""
        return [stop_gradient(x) if is_differentiable(x.dtype) else x for x in traced]

    def _call(self, function: FlatFunction, arguments: RuleArguments, structures: list[Any]) -> CustomJVPCall:
        """Return the operation that calls the flat ``function``, with the user's JVP rule flattened.

        ``arguments`` are those of the call. Each run of the rule appends the structure of its results to
        ``structures``.
        """

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            results, tangents_out, structure = self._apply_rule(arguments, primals, tangents)
            structures.append(structure)
            return results, tangents_out

        return CustomJVPCall(function, rule, name_of(self.fun), None, 0, name_of(self.jvp), self.symbolic_zeros)

    def _apply_rule(
        self, arguments: RuleArguments, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Any]:
        """Call the user's rule; return flat results, their tangents (ZERO for zeros) and the results' structure.

        Raises TypeError if the rule does not return a pair of results and tangents of matching structures and types.
        """
        assert self.jvp is not None
        count = len(arguments.traced)
        arguments = arguments.replace_tracers(primals[:count])
        primals, tangents = arguments.restore_defaults(primals[count:]), tangents[count:]
        rule_tangents = [
            to_rule_tangent(t, aval_of(x), self.symbolic_zeros) for x, t in zip(primals, tangents, strict=True)
        ]
        structure = arguments.structure
        pair = self.jvp(*arguments.nondiff_values(), structure.unflatten(primals), structure.unflatten(rule_tangents))
        name = f"the jvp rule {name_of(self.jvp)} of {name_of(self.fun)}"
        if not is_pair(pair):
            raise TypeError(
                f"{name} has to return a pair (results, tangents), it returned {type(pair).__name__}{here()}"
            )
        results, out = tree.flatten(pair[0])
        tangents_out, out_moved = tree.flatten(pair[1], is_leaf=lambda x: isinstance(x, SymbolicZero))
        if out != out_moved:
            raise TypeError(
                f"{name} has to return results and tangents of one structure, it returned {out} and {out_moved}"
                + here()
            )
        return results, [_check_tangent(name, t, y) for t, y in zip(tangents_out, results, strict=True)], out


def _check_tangent(name: str, tangent: Any, result: Any) -> Any:
    """Return a tangent that a rule returned, as an array; ZERO if it is zero or its result is not differentiable.

    ``name`` describes the rule. Raises TypeError if the tangent's type does not match that of ``result``.
    """
    aval = aval_of(result)
    expected = tangent_aval(aval)
    if is_zero(tangent):
        return ZERO
    actual = aval_of(tangent)
    if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
        raise TypeError(
            f"{name} has to return tangents of the results' types: for a result of type {aval.str_short()} it returned "
            f"a tangent of type {actual.str_short()}{here()}"
        )
    return to_array(tangent) if is_differentiable(aval.dtype) else ZERO
