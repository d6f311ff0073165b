"""custom_vmap: a function that says itself how it is vectorized."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...errors import see
from ...ir.avals import strengthened
from ...ir.markers import NOT_MAPPED, ZERO
from ...operations.shapes import mapped_in_front, moveaxis, zeros_of
from ...trace.bind import bind
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ...transforms.batch import batch_size
from ...transforms.differentiate import jvp
from ..flow.loops import scan
from ..programs.names import name_of
from .custom import arguments_of
from .ruled_call import RuledCall

#: Number of examples, which operands are mapped (in front), the operands: results, and which of them are mapped.
Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class CustomVmapCall(RuledCall, name="custom_vmap_call", by_identity=True):
    """The results of a function with a batching rule of its own (:data:`Rule`)."""

    rule_title: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.title, "call": self.jaxpr, "rule": self.rule_title}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Values and tangents together are a function whose batching rule is the derivative of this one's."""
        count, moving = len(primals), [t is not ZERO for t in tangents]
        kept: list[bool] = []

        def derivative(*values: Any) -> list[Any]:
            rest = iter(values[count:])
            results, moved = jvp(self.function, values[:count], [next(rest) if m else ZERO for m in moving])
            kept[:] = [t is not ZERO for t in moved]
            return [*results, *(t for t in moved if t is not ZERO)]

        def rule(size: int, mapped: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            return _derivative_of_rule(self, size, mapped, values, moving, kept)

        made = CustomVmapCall(derivative, rule, self.title, None, 0, self.rule_title)
        results = bind(made, *primals, *(t for t in tangents if t is not ZERO))
        total = len(results) - sum(kept)
        rest = iter(results[total:])
        return results[:total], [next(rest) if m else ZERO for m in kept]

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Differentiate the function itself: a transposed function has no batching rule of its own."""
        return jvp(self.function, primals, tangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size, count = batch_size(operands, axes), self.num_consts
        if any(a is not NOT_MAPPED for a in axes[:count]):
            raise TypeError(
                f"{self.title} has a batching rule of its own and closes over a mapped value{here()}: "
                "the rule says only how its arguments are vectorized. Make that value an argument."
                + see("closed-over-value")
            )
        mapped = [a is not NOT_MAPPED for a in axes[count:]]
        front = [moveaxis(x, a, 0) if m else x for x, a, m in zip(operands[count:], axes[count:], mapped, strict=True)]
        results: list[Any]
        results, out_mapped = self.rule(size, mapped, front)
        assert self.jaxpr is not None
        for y, m, aval in zip(results, out_mapped, self.jaxpr.out_avals, strict=True):
            wanted = (size, *aval.shape) if m else aval.shape
            if aval_of(y).shape != wanted:
                raise ValueError(
                    f"the batching rule {self.rule_title} of {self.title} has to return results for {size} examples, "
                    f"of shape {wanted}; it returned {aval_of(y).shape}{here()}"
                )
        return results, [0 if m else NOT_MAPPED for m in out_mapped]


def _derivative_of_rule(
    call: CustomVmapCall,
    size: int,
    mapped: Sequence[bool],
    values: Sequence[Any],
    moving: Sequence[bool],
    out_moving: Sequence[bool],
) -> tuple[list[Any], list[bool]]:
    count = len(moving)
    primals = list(values[:count])
    primal_mapped = list(mapped[:count])
    rest = iter(zip(values[count:], mapped[count:], strict=True))
    tangents: list[Any] = [ZERO] * count
    for i, moves in enumerate(moving):
        if moves:  # a value and its tangent have to be mapped alike
            tangents[i], also = next(rest)
            both = primal_mapped[i] or also
            if both and not also:
                tangents[i] = mapped_in_front(tangents[i], NOT_MAPPED, size)
            if both and not primal_mapped[i]:
                primals[i] = mapped_in_front(primals[i], NOT_MAPPED, size)
            primal_mapped[i] = both
    found: list[bool] = []

    def flat(*xs: Any) -> list[Any]:
        results: list[Any]
        results, out_mapped = call.rule(size, primal_mapped, xs)
        found[:] = out_mapped
        return results

    results, moved = jvp(flat, primals, tangents)
    wanted = [
        (_zeros_like(y) if t is ZERO else t, m)
        for y, t, m, moves in zip(results, moved, found, out_moving, strict=True)
        if moves
    ]
    return [*results, *(t for t, _ in wanted)], [*found, *(m for _, m in wanted)]


def _zeros_like(x: Any) -> Any:
    return zeros_of(strengthened(aval_of(x)))


# As users write it --------------------------------------------------------------------------------------------------


class custom_vmap:  # noqa: N801  (a decorator)
    """A function with a batching rule of its own, given by :meth:`def_vmap`.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> from xlascope.custom_batching import custom_vmap
    >>> @custom_vmap
    ... def product(a, b):
    ...     return jnp.dot(a, b)
    >>> @product.def_vmap
    ... def product_rule(axis_size, in_batched, a, b):
    ...     a_batched, b_batched = in_batched
    ...     return (jnp.matmul(a, b), True) if a_batched and not b_batched else (jnp.einsum("ij,ij->i", a, b), True)
    >>> print(xs.vmap(product, in_axes=(0, None))(jnp.ones((2, 3)), jnp.ones(3)))
    [3. 3.]
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: ``rule(axis_size, in_batched, *args)`` returns (results, which of them are batched).

        Batched arguments have the mapped axis in front; ``in_batched`` is a tree of bools like the arguments. Works as
        a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"{name_of(self.fun)} is a custom_vmap function without a rule: give it one with "
                f"{name_of(self.fun)}.def_vmap{here()}"
            )
        arguments = arguments_of(self.fun, args, kwargs, ())
        structures: list[Any] = []

        def function(*operands: Any) -> list[Any]:
            results, structure = tree.flatten(self.fun(*arguments.join(operands)))
            structures.append(structure)
            for y in results:
                aval_of(y)
            return results

        def rule(size: int, mapped: Sequence[bool], operands: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            assert self.vmap_rule is not None
            marks = list(arguments.structure.unflatten(mapped))
            pair = self.vmap_rule(size, marks, *arguments.join(operands))
            return _results_of_rule(self, pair, structures[0])

        operation = CustomVmapCall(function, rule, name_of(self.fun), None, 0, name_of(self.vmap_rule))
        results = bind(operation, *arguments.operands)
        return structures[0].unflatten(results)


def _results_of_rule(function: custom_vmap, pair: Any, structure: Any) -> tuple[list[Any], list[bool]]:
    name = f"the batching rule {name_of(function.vmap_rule)} of {name_of(function.fun)}"
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"{name} has to return a pair (results, which are batched){here()}")
    results, out = tree.flatten(pair[0])
    if out != structure:
        raise ValueError(
            f"{name} has to return results in the structure of the function's, {structure}; it returned {out}" + here()
        )
    try:
        marks = tree.leaves(tree.broadcast(pair[1], structure.unflatten(range(len(results)))))
    except ValueError:
        raise ValueError(
            f"{name} has to say which results are batched in their structure, {structure}; it returned "
            f"{tree.structure(pair[1])}{here()}"
        ) from None
    return results, [bool(m) for m in marks]


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """``f``, which vmap applies to one example after the other (a scan) instead of vectorizing it.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> from xlascope.custom_batching import sequential_vmap
    >>> print(xs.vmap(sequential_vmap(lambda x: x * x))(jnp.arange(3.0)))
    [0. 1. 4.]
    """
    made = custom_vmap(f)

    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, structure = tree.flatten(args)
        marks = tree.leaves(in_batched)
        batched = [x for x, m in zip(leaves, marks, strict=True) if m]

        def step(carry: None, slices: Sequence[Any]) -> tuple[None, Any]:
            own = iter(slices)
            return None, f(*structure.unflatten([next(own) if m else x for x, m in zip(leaves, marks, strict=True)]))

        _, results = scan(step, None, batched, length=axis_size)
        return results, tree.map(lambda _: True, results)

    made.def_vmap(rule)
    return made
