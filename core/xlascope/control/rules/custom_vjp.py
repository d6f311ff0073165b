"""custom_vjp: a function that says itself how cotangents go back through it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from ... import tree
from ...dtypes import float0, is_differentiable
from ...ir.avals import ShapedArray, strengthened
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.elementwise import convert_element_type
from ...operations.families import is_linear
from ...operations.shapes import moveaxis, reduce_sum
from ...trace.bind import bind
from ...trace.source import here
from ...trace.state import STATE
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ...transforms.batch import axis_of_rule, batch, batch_size
from ..programs.names import name_of
from .custom import (
    Arguments,
    arguments_of,
    batched_in_front,
    check_results_of_rule,
    closed_over_error,
    in_front,
    is_zero,
    shown,
)
from .ruled_call import RuledCall


class Forward(NamedTuple):
    """What the forward rule gave: flat results, flat residuals, and the backward rule that takes these.

    ``backward(residuals, cotangents)`` gives a cotangent for each operand, ZERO where none arrives.
    """

    results: list[Any]
    residuals: list[Any]
    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]


#: Flat operands, and which of them move, to what the forward rule gives.
ForwardRule = Callable[[Sequence[Any], Sequence[bool]], Forward]


class CustomVJPCall(RuledCall, name="custom_vjp_call", by_identity=True):
    """The results of a function with a vjp rule of its own (:data:`ForwardRule`)."""

    rule_titles: tuple[str, str]
    symbolic_zeros: bool

    @property
    def params(self) -> dict[str, Any]:
        forward, backward = self.rule_titles
        return {
            "name": self.title,
            "bwd": backward,
            "call_jaxpr": self.jaxpr,
            "fwd": forward,
            "symbolic_zeros": self.symbolic_zeros,
        }

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _cannot_go_forward(self.title)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward rule now, and record an operation that has nothing but a transpose: the backward rule."""
        count = self.num_consts
        if any(t is not ZERO for t in tangents[:count]):
            raise closed_over_error(self.title)
        operands, moves = primals[count:], tangents[count:]
        moving = tuple(t is not ZERO for t in moves)
        results, residuals, backward = self.rule(operands, moving)
        if self.jaxpr is not None:
            name = f"the forward rule {self.rule_titles[0]} of {self.title}"
            check_results_of_rule(name, self.title, results, self.jaxpr.out_avals)
        avals = tuple(aval_of(y) for y in results)
        linear = CustomLin(backward, len(residuals), moving, avals, self.title)
        types = linear.abstract_eval(())
        recorded = iter(STATE.trace.record(linear, [*residuals, *(t for t in moves if t is not ZERO)], types))
        return results, [next(recorded) if is_differentiable(a.dtype) else ZERO for a in avals]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        rule = _batched_rule(self.rule, axes[self.num_consts :], size, axis_of_rule())
        return self.batched(rule, operands, axes, size)


class CustomLin(Operation, name="custom_lin", by_identity=True):
    """The tangents of a custom_vjp function: they exist only to be transposed, by its backward rule."""

    backward: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    num_residuals: int
    moving: tuple[bool, ...]
    results: tuple[ShapedArray, ...]
    title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "num_res": self.num_residuals}

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [strengthened(a) for a in self.results if is_differentiable(a.dtype)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        arrived = iter(cotangents)
        given = [next(arrived) if is_differentiable(a.dtype) else ZERO for a in self.results]
        count = self.num_residuals
        found = self.backward(operands[:count], given)
        moved = (ct for ct, moves in zip(found, self.moving, strict=True) if moves)
        return [None] * count + [next(moved) if is_linear(x) else None for x in operands[count:]]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        _cannot_go_forward(self.title)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _cannot_go_forward(self.title)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _cannot_go_forward(self.title)


def _cannot_go_forward(name: str) -> NoReturn:
    raise TypeError(
        f"forward-mode differentiation (jvp, jacfwd, hessian as jacfwd of grad) does not work through {name}, a "
        f"custom_vjp function{here()}: it says only how cotangents go back. Use grad, vjp or jacrev, "
        "or define the rule with custom_jvp, which serves both."
    )


def _batched_rule(rule: ForwardRule, axes: Sequence[Any], size: int, axis: Any) -> ForwardRule:
    def forward(operands: Sequence[Any], moving: Sequence[bool]) -> Forward:
        kept: list[Any] = []

        def results_and_residuals(*values: Any) -> list[Any]:
            made = rule(values, moving)
            kept[:] = [len(made.results), made.backward]
            return [*made.results, *made.residuals]

        found = batched_in_front(results_and_residuals, operands, axes, size, axis)
        count, backward = kept
        return Forward(found[:count], found[count:], _batched_backward(backward, axes, size, axis))

    return forward


def _batched_backward(backward: Any, axes: Sequence[Any], size: int, axis: Any) -> Any:
    """The backward rule for all examples: an operand that they share gets the sum of their cotangents."""

    def batched(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        count = len(residuals)
        arrives = [ct is not ZERO for ct in cotangents]
        kept: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            rest = iter(values[count:])
            found = backward(values[:count], [next(rest) if there else ZERO for there in arrives])
            kept[:] = [ct is not ZERO for ct in found]
            return [ct for ct in found if ct is not ZERO]

        given = [*residuals, *(ct for ct in cotangents if ct is not ZERO)]
        results, places = batch(flat, given, [0] * len(given), axis)
        found = iter(zip(results, places, strict=True))
        return [_placed(*next(found), own, size) if there else ZERO for there, own in zip(kept, axes, strict=True)]

    return batched


def _placed(cotangent: Any, axis: Any, own: Any, size: int) -> Any:
    if aval_of(cotangent).dtype == float0:
        return ZERO
    front = in_front(cotangent, axis, size)
    if own is NOT_MAPPED:
        return reduce_sum(front, (0,))
    return moveaxis(front, 0, own)


# As users write it --------------------------------------------------------------------------------------------------


class CustomVJPPrimal(NamedTuple):
    """An argument of a forward rule with ``symbolic_zeros=True``: its value, and whether it moves."""

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(arguments: Any) -> Any:
    """The values in a tree of :class:`CustomVJPPrimal`."""
    return tree.map(lambda x: x.value, arguments, is_leaf=lambda x: isinstance(x, CustomVJPPrimal))


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value: an array (of float0 for an integer), or a ``SymbolicZero``."""
    return shown(ZERO, aval_of(value), symbolic_zeros)


class custom_vjp:  # noqa: N801  (a decorator)
    """A function with a vjp rule of its own, given by :meth:`defvjp`.

    Arguments numbered in ``nondiff_argnums`` (or named in ``nondiff_argnames``) are passed to the forward rule in their
    places and to the backward rule in front of the others; they may be anything.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
    >>> print(xs.grad(lambda x: 10.0 * clip_gradient(x))(3.0))
    1.0
    """

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.nondiff_argnames = tuple(nondiff_argnames)
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

        These are a tuple with one tree for each argument; None stands for zeros.

        With ``symbolic_zeros`` the forward rule gets ``CustomVJPPrimal`` (value, whether it moves) for each argument,
        and cotangents that do not arrive are ``SymbolicZero`` objects.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"{name_of(self.fun)} is a custom_vjp function without a rule: give it one with "
                f"{name_of(self.fun)}.defvjp(fwd, bwd){here()}"
            )
        arguments = arguments_of(self.fun, args, kwargs, self.nondiff_argnums, self.nondiff_argnames)
        structures: list[Any] = []

        def function(*operands: Any) -> list[Any]:
            results, structure = tree.flatten(self.fun(*arguments.join(operands)))
            structures.append(structure)
            for y in results:
                aval_of(y)
            return results

        def rule(operands: Sequence[Any], moving: Sequence[bool]) -> Forward:
            found, structure = self._forward(arguments, operands, moving)
            structures.append(structure)
            return found

        titles = name_of(self.fwd), name_of(self.bwd)
        operation = CustomVJPCall(function, rule, name_of(self.fun), None, 0, titles, self.symbolic_zeros)
        results = bind(operation, *arguments.operands)
        return structures[0].unflatten(results)

    def _forward(self, arguments: Arguments, operands: Sequence[Any], moving: Sequence[bool]) -> tuple[Forward, Any]:
        assert self.fwd is not None
        shown_operands = operands
        if self.symbolic_zeros:
            shown_operands = [CustomVJPPrimal(x, m) for x, m in zip(operands, moving, strict=True)]
        pair = self.fwd(*arguments.join(shown_operands))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
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
            given = [shown(ct, a, self.symbolic_zeros) for ct, a in zip(cotangents, out_avals, strict=True)]
            return self._backward(arguments, avals, structure.unflatten(residuals), out.unflatten(given))

        return Forward(results, residuals, backward), out

    def _backward(
        self, arguments: Arguments, avals: Sequence[ShapedArray], residuals: Any, cotangent: Any
    ) -> list[Any]:
        assert self.bwd is not None
        name = f"the backward rule {name_of(self.bwd)} of {name_of(self.fun)}"
        found = self.bwd(*arguments.fixed_values(), residuals, cotangent)
        children = arguments.structure.children()
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple) or len(found) != len(children):
            count = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
            raise TypeError(
                f"{name} has to return a tuple with one cotangent for each of the {len(children)} arguments, it "
                f"returned {count}{here()}"
            )
        flat: list[Any] = []
        for number, (ct, child) in enumerate(zip(found, children, strict=True)):
            flat += _leaves_of_cotangent(name, number, ct, child)
        return [_checked(name, ct, aval) for ct, aval in zip(flat, avals, strict=True)]


def _leaves_of_cotangent(name: str, number: int, cotangent: Any, structure: Any) -> list[Any]:
    """The leaves of one argument's cotangent; None anywhere in the tree stands for zeros."""
    try:
        parts = structure.flatten_up_to(cotangent) if cotangent is not None else [None] * structure.num_leaves
    except ValueError as error:
        whole = structure.unflatten(range(structure.num_leaves))
        found = (
            tree.leaves(tree.broadcast(cotangent, whole, is_leaf=_is_none)) if _is_prefix(cotangent, whole) else None
        )
        if found is not None:
            return found
        raise TypeError(
            f"{name} has to return cotangents in the structure of the arguments; for argument {number} of structure "
            f"{structure} it returned {tree.structure(cotangent)}{here()}: "
            f"{error}"
        ) from None
    return list(parts)


def _is_none(x: Any) -> bool:
    return x is None


def _is_prefix(prefix: Any, whole: Any) -> bool:
    try:
        tree.broadcast(prefix, whole, is_leaf=_is_none)
    except (ValueError, TypeError):
        return False
    return True


def _checked(name: str, cotangent: Any, aval: ShapedArray) -> Any:
    if is_zero(cotangent) or not is_differentiable(aval.dtype):
        return ZERO
    found = aval_of(cotangent)
    if found.shape != aval.shape or (found.dtype.kind == "c" and aval.dtype.kind != "c"):
        raise ValueError(
            f"{name} has to return cotangents of the arguments' types: for one of type {aval.str_short()} it returned "
            f"{found.str_short()}{here()}"
        )
    return convert_element_type(cotangent, aval.dtype)
