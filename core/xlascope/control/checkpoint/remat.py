"""checkpoint: a function whose values are recomputed for its derivative instead of being stored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations.linear_operation import Linear
from ...records.traits import CALL, KEEPS_ORDER, Trait
from ...trace.bind import bind, bind1
from ...trace.state import STATE
from ...trace.traceback_filtering import api_boundary
from ...transforms.evaluate import evaluate
from ..programs.call import CallOperation
from ..programs.function_names import copy_function_metadata, name_of, normalize_argnums
from ..programs.function_staging import Body, get_body, stage_body
from ..programs.masks import drop_zero_tangents, nonzero_tangents_mask, scatter_by_mask, select_by_mask
from ..programs.values import operand_aval
from .policies import Policy
from .remat_split import split_remat


class Remat(CallOperation, name="remat2"):
    """Operation that calls a program, whose derivative saves only the operands and values that ``policy`` selects.

    ``differentiated`` is true for the recomputation in the derivative. ``prevent_cse`` puts it behind a barrier, so
    that the compiler does not merge it with the first computation.
    """

    traits = CALL | {Trait.BARRIER}
    differentiated: bool
    policy: Policy | None
    prevent_cse: bool

    @property
    def params(self) -> dict[str, Any]:
        return {
            "differentiated": self.differentiated,
            "jaxpr": self.jaxpr,
            "policy": self.policy,
            "prevent_cse": self.prevent_cse,
        }

    def with_program(self, program: ClosedJaxpr) -> Operation:
        return Remat(program, self.differentiated, self.policy, self.prevent_cse)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.differentiated and self.prevent_cse and operands:
            operands = builder.barrier(operands)
        return super().to_stablehlo(builder, operands)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the program now, saving what the policy allows, and record the recomputation of the rest.

        Returns the results and their tangents; a tangent is ZERO where it is known to be zero.
        """
        split = split_remat(self.jaxpr, nonzero_tangents_mask(tangents), self.policy)
        results = evaluate(split.forward, *primals)
        count = len(split.out_moving)
        recompute_inputs = select_by_mask((*primals, *results[count:]), split.used_inputs)
        if not any(split.out_moving):
            return results[:count], [ZERO] * count
        recomputation = Remat(split.recompute, True, self.policy, self.prevent_cse)
        tangents_out = STATE.trace.record(
            recomputation, [*recompute_inputs, *drop_zero_tangents(tangents)], split.recompute.out_avals
        )
        return results[:count], scatter_by_mask(tangents_out, split.out_moving)


class Name(Linear, name="name"):
    """Identity operation that names its operand, so that a policy can save it."""

    traits = KEEPS_ORDER
    label: str

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.label}

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return list(cotangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


# Public functions ---------------------------------------------------------------------------------------------------


def checkpoint_name(x: Any, name: str) -> Any:
    """Return a tree of arrays unchanged, named for policies such as ``checkpoint_policies.save_only_these_names``."""
    return tree.map(lambda leaf: bind1(Name(name), leaf), x)


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: bool = False,
) -> Any:
    """Return ``fun`` with its values recomputed instead of stored under reverse-mode differentiation.

    This trades time for memory: only the arguments are stored, and the values that ``policy`` saves (see
    ``checkpoint_policies``). ``prevent_cse=False`` is for functions inside ``scan``, where the compiler cannot merge
    the recomputation with the first computation anyway. Static arguments are passed to ``fun`` unchanged. Works as a
    decorator, with and without arguments; ``remat`` is another name.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> f = xs.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> print(xs.grad(f)(1.0))
    0.36003947
    """
    if policy is not None and not callable(policy):
        raise TypeError(
            f"checkpoint: policy has to be a function, such as those in checkpoint_policies, not {policy!r}"
        )
    if fun is not None and not callable(fun):
        raise TypeError(f"checkpoint takes a function, not {fun!r}")
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
        )
    if concrete:
        raise NotImplementedError("checkpoint: concrete=True is gone; name such arguments in static_argnums")
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)

    @copy_function_metadata(fun)
    @api_boundary
    def call_checkpointed(*args: Any, **kwargs: Any) -> Any:
        static = set(normalize_argnums(numbers, len(args), f"static_argnums of the checkpointed {name_of(fun)}"))
        body, operands = _stage_call(fun, args, kwargs, static, names)
        operation = Remat(body.program_with_const_operands, False, policy, bool(prevent_cse))
        return body.structure.unflatten(bind(operation, *body.consts, *operands))

    return call_checkpointed


def _stage_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: set[int], static_names: set[str]
) -> tuple[Body, list[Any]]:
    """Return the program of a call of ``fun``, and its operands: the leaves of the arguments that are not static.

    ``static`` are the indices of static positional arguments, ``static_names`` the names of static keyword arguments.
    """
    dynamic_positional = tuple(x for i, x in enumerate(args) if i not in static)
    plain = not static and not kwargs
    dynamic_args = (
        dynamic_positional
        if plain
        else (dynamic_positional, {k: v for k, v in kwargs.items() if k not in static_names})
    )
    operands, structure = tree.flatten(dynamic_args)
    avals = [operand_aval(f"an argument of the checkpointed {name_of(fun)}", x) for x in operands]
    if plain:  # a body that is called again is traced once
        return get_body(fun, structure, avals), operands

    def call_with_dynamic(positional: Sequence[Any], keyword: dict[str, Any]) -> Any:
        remaining = iter(positional)
        return fun(*[x if i in static else next(remaining) for i, x in enumerate(args)], **{**kwargs, **keyword})

    return stage_body(call_with_dynamic, structure, avals, name_of(fun)), operands


remat = checkpoint
