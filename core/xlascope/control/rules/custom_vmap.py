"""custom_vmap: a function with a custom batching rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...trace.source import here
from ..flow.loop_api import scan
from ..programs.function_names import name_of
from .arguments import RuleArguments
from .custom_rule_function import CustomRuleFunction, FlatFunction, is_pair
from .custom_vmap_call import CustomVmapCall


class custom_vmap(CustomRuleFunction):  # noqa: N801  (a decorator)
    """A function with a custom batching rule, which :meth:`def_vmap` sets.

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

    _decorator = "custom_vmap"
    _setter = "def_vmap"

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__(fun)
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: ``rule(axis_size, in_batched, *args)`` returns (results, out_batched).

        Batched arguments and results have the batch axis in front; ``in_batched`` and ``out_batched`` are trees of
        bools that say which are batched. Works as a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def _has_rule(self) -> bool:
        return self.vmap_rule is not None

    def _call(self, function: FlatFunction, arguments: RuleArguments, structures: list[Any]) -> CustomVmapCall:
        """Return the operation that calls the flat ``function``, with the user's batching rule flattened.

        ``arguments`` are those of the call. ``structures[0]`` is the structure of the function's results, set before
        the rule runs.
        """

        def rule(size: int, mapped: Sequence[bool], operands: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            assert self.vmap_rule is not None
            marks = list(arguments.structure.unflatten(mapped))
            pair = self.vmap_rule(size, marks, *arguments.join(operands))
            return _results_of_rule(self, pair, structures[0])

        return CustomVmapCall(function, rule, name_of(self.fun), None, 0, name_of(self.vmap_rule))


def _results_of_rule(function: custom_vmap, pair: Any, structure: Any) -> tuple[list[Any], list[bool]]:
    """Return the flat results of a batching rule, and which of them are batched.

    ``pair`` is what the rule returned, ``structure`` that of the function's results. Raises TypeError or ValueError
    if they do not fit.
    """
    name = f"the batching rule {name_of(function.vmap_rule)} of {name_of(function.fun)}"
    if not is_pair(pair):
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
    """Return ``f`` as a function that vmap applies to one example after the other (a scan) instead of vectorizing it.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> from xlascope.custom_batching import sequential_vmap
    >>> print(xs.vmap(sequential_vmap(lambda x: x * x))(jnp.arange(3.0)))
    [0. 1. 4.]
    """
    mapped_function = custom_vmap(f)

    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, structure = tree.flatten(args)
        marks = tree.leaves(in_batched)
        batched = [x for x, m in zip(leaves, marks, strict=True) if m]

        def step(carry: None, slices: Sequence[Any]) -> tuple[None, Any]:
            batched_values = iter(slices)
            return None, f(
                *structure.unflatten([next(batched_values) if m else x for x, m in zip(leaves, marks, strict=True)])
            )

        _, results = scan(step, None, batched, length=axis_size)
        return results, tree.map(lambda _: True, results)

    mapped_function.def_vmap(rule)
    return mapped_function
