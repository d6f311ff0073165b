"""Base of the decorators custom_jvp, custom_vjp and custom_vmap: a function with a custom rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ... import tree
from ...trace.bind import bind
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.values import aval_of
from ..programs.function_names import name_of
from .arguments import RuleArguments, bind_rule_arguments
from .custom_rule_call import CustomRuleCall

FlatFunction = Callable[..., list[Any]]


class CustomRuleFunction:
    """Base of decorated functions with a custom rule, which the user sets after decorating the function.

    ``nondiff_argnums`` and ``nondiff_argnames`` are the positions and names of arguments that the rule gets
    unchanged.
    """

    #: What the decorator is called, and how its rule is set.
    _decorator: ClassVar[str]
    _setter: ClassVar[str]

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.nondiff_argnames = tuple(nondiff_argnames)

    def _has_rule(self) -> bool:
        raise NotImplementedError

    def _non_differentiable(self, traced: Sequence[Any]) -> Sequence[Any]:
        """Return the tracers within ``nondiff_argnums`` arguments as operands; subclasses may stop their gradients."""
        return traced

    def _call(self, function: FlatFunction, arguments: RuleArguments, structures: list[Any]) -> CustomRuleCall:
        """Return the operation that calls the flat ``function``, with the user's rule flattened.

        Its first operands are ``arguments.traced``, then ``arguments.operands``. The function or the rule, whichever
        runs, appends the structure of the results to ``structures``.
        """
        raise NotImplementedError

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._has_rule():
            name = name_of(self.fun)
            raise AttributeError(
                f"{name} is a {self._decorator} function without a rule: give it one with {name}.{self._setter}{here()}"
            )
        arguments = bind_rule_arguments(self.fun, args, kwargs, self.nondiff_argnums, self.nondiff_argnames)
        structures: list[Any] = []

        count = len(arguments.traced)

        def function(*operands: Any) -> list[Any]:
            call_arguments = arguments.replace_tracers(operands[:count])
            values = arguments.restore_defaults(operands[count:])
            results, structure = tree.flatten(self.fun(*call_arguments.join(values)))
            structures.append(structure)
            for y in results:
                aval_of(y)
            return results

        traced = self._non_differentiable(arguments.traced)
        results = bind(self._call(function, arguments, structures), *traced, *arguments.operands)
        return structures[0].unflatten(results)


class CustomDerivativeFunction(CustomRuleFunction):
    """Base of functions with a custom derivative rule, which may be methods of a class."""

    symbolic_zeros: bool

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def is_pair(value: Any) -> bool:
    """Return whether a user's function returned a tuple or list of two values."""
    return isinstance(value, (tuple, list)) and len(value) == 2
