"""custom_jvp: a function that says itself how it moves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...dtypes import is_differentiable
from ...ir.markers import NOT_MAPPED, ZERO
from ...operations.families import sum_tangents
from ...trace.bind import bind
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ...transforms.batch import axis_of_rule, batch_size
from ..programs.names import name_of
from .custom import (
    Arguments,
    SymbolicZero,
    arguments_of,
    batched_in_front,
    check_results_of_rule,
    closed_over_error,
    is_zero,
    shown,
    tangent_aval,
)
from .ruled_call import RuledCall

#: Flat primals and tangents (ZERO where nothing moves) to flat results and their tangents.
Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJVPCall(RuledCall, name="custom_jvp_call", by_identity=True):
    """The results of a function with a jvp rule of its own (:data:`Rule`)."""

    rule_title: str
    symbolic_zeros: bool

    @property
    def params(self) -> dict[str, Any]:
        return {
            "name": self.title,
            "call_jaxpr": self.jaxpr,
            "jvp": self.rule_title,
            "symbolic_zeros": self.symbolic_zeros,
        }

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        count = self.num_consts
        if any(t is not ZERO for t in tangents[:count]):
            raise closed_over_error(self.title)
        results, moved = self.rule(primals[count:], tangents[count:])
        if self.jaxpr is not None:
            name = f"the jvp rule {self.rule_title} of {self.title}"
            check_results_of_rule(name, self.title, results, self.jaxpr.out_avals)
        return results, moved

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        count = len(self.abstract_eval(()))
        rule = _batched_rule(self.rule, axes[self.num_consts :], size, count, axis_of_rule())
        return self.batched(rule, operands, axes, size)


def _batched_rule(rule: Rule, axes: Sequence[Any], size: int, count: int, axis: Any) -> Rule:
    def batched(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moving = [t is not ZERO for t in tangents]

        def both(*values: Any) -> list[Any]:
            rest = iter(values[len(axes) :])
            results, moved = rule(values[: len(axes)], [next(rest) if m else ZERO for m in moving])
            return [*results, *moved]

        given = [*primals, *(t for t in tangents if t is not ZERO)]
        places = [*axes, *(a for a, m in zip(axes, moving, strict=True) if m)]
        if all(a is NOT_MAPPED for a in places):
            raise AssertionError("a batched rule without a mapped operand")
        found = batched_in_front(both, given, places, size, axis)
        return found[:count], found[count:]

    return batched


# As users write it --------------------------------------------------------------------------------------------------


class custom_jvp:  # noqa: N801  (a decorator)
    """A function with a jvp rule of its own, given by :meth:`defjvp` or :meth:`defjvps`.

    Arguments numbered in ``nondiff_argnums`` (or named in ``nondiff_argnames``) are passed to the rule as they are, in
    front of the others; they may be anything.

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

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.nondiff_argnames = tuple(nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: ``jvp(primals, tangents)`` returns (results, their tangents). Works as a decorator.

        With ``symbolic_zeros`` tangents of what does not move are ``SymbolicZero`` objects instead of arrays.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule argument by argument: ``jvps[i](tangent, result, *primals)`` is what argument i contributes.

        None says that it contributes nothing. The function has to have one result tree, the same for the rules.
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
                return result, tree.map(lambda y: shown(ZERO, aval_of(y), self.symbolic_zeros), result)
            return result, tree.map(lambda *leaves: sum_tangents(leaves), *parts)

        rule.__name__ = f"{name_of(self.fun)}_jvps"
        self.defjvp(rule)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"{name_of(self.fun)} is a custom_jvp function without a rule: give it one with "
                f"{name_of(self.fun)}.defjvp{here()}"
            )
        arguments = arguments_of(self.fun, args, kwargs, self.nondiff_argnums, self.nondiff_argnames)
        structures: list[Any] = []

        def function(*operands: Any) -> list[Any]:
            results, structure = tree.flatten(self.fun(*arguments.join(operands)))
            structures.append(structure)
            for y in results:
                aval_of(y)
            return results

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            results, moved, structure = self._apply_rule(arguments, primals, tangents)
            structures.append(structure)
            return results, moved

        title = name_of(self.fun)
        operation = CustomJVPCall(function, rule, title, None, 0, name_of(self.jvp), self.symbolic_zeros)
        results = bind(operation, *arguments.operands)
        return structures[0].unflatten(results)

    def _apply_rule(
        self, arguments: Arguments, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Any]:
        assert self.jvp is not None
        moves = [shown(t, aval_of(x), self.symbolic_zeros) for x, t in zip(primals, tangents, strict=True)]
        structure = arguments.structure
        pair = self.jvp(*arguments.fixed_values(), structure.unflatten(primals), structure.unflatten(moves))
        name = f"the jvp rule {name_of(self.jvp)} of {name_of(self.fun)}"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"{name} has to return a pair (results, tangents), it returned {type(pair).__name__}{here()}"
            )
        results, out = tree.flatten(pair[0])
        moved, out_moved = tree.flatten(pair[1], is_leaf=lambda x: isinstance(x, SymbolicZero))
        if out != out_moved:
            raise TypeError(
                f"{name} has to return results and tangents of one structure, it returned {out} and {out_moved}"
                + here()
            )
        return results, [_tangent(name, t, y) for t, y in zip(moved, results, strict=True)], out


def _tangent(name: str, tangent: Any, result: Any) -> Any:
    """A tangent that a rule gave, checked against its result."""
    aval = aval_of(result)
    wanted = tangent_aval(aval)
    if is_zero(tangent):
        return ZERO
    found = aval_of(tangent)
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        raise TypeError(
            f"{name} has to return tangents of the results' types: for a result of type {aval.str_short()} it returned "
            f"a tangent of type {found.str_short()}{here()}"
        )
    return tangent if is_differentiable(aval.dtype) else ZERO
