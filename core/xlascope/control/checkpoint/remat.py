"""checkpoint: a function whose values are computed again for its derivative instead of being kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations.linear import Linear
from ...records.traits import CALL, KEEPS_ORDER, Trait
from ...trace.bind import bind, bind1
from ...trace.state import STATE
from ...trace.traceback_filtering import api_boundary
from ...transforms.evaluate import evaluate
from ..programs.bodies import Body, body_of, staged
from ..programs.call import Calling
from ..programs.marks import chosen, in_places, moving, present
from ..programs.names import called_as, name_of, places_of
from ..programs.values import operand_aval
from .halves import halves_of
from .policies import Policy


class Remat(Calling, name="remat2"):
    """The results of a program that keeps nothing for its derivative but its operands and what ``policy`` lets it.

    ``differentiated`` marks a program that computes something again. ``prevent_cse`` keeps the compiler from finding
    out that it has been computed before.
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

    def of(self, program: ClosedJaxpr) -> Operation:
        return Remat(program, self.differentiated, self.policy, self.prevent_cse)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.differentiated and self.prevent_cse and operands:
            operands = builder.barrier(operands)
        return super().to_stablehlo(builder, operands)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the program now, keeping what the policy lets it, and record what computes the rest again."""
        halves = halves_of(self.jaxpr, moving(tangents), self.policy)
        results = evaluate(halves.forward, *primals)
        count = len(halves.out_moving)
        kept = chosen((*primals, *results[count:]), halves.kept)
        if not any(halves.out_moving):
            return results[:count], [ZERO] * count
        again = Remat(halves.again, True, self.policy, self.prevent_cse)
        moved = STATE.trace.record(again, [*kept, *present(tangents)], halves.again.out_avals)
        return results[:count], in_places(moved, halves.out_moving)


class Name(Linear, name="name"):
    """The operand itself, under a name by which a policy can save it."""

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


# As users call it ---------------------------------------------------------------------------------------------------


def checkpoint_name(x: Any, name: str) -> Any:
    """A tree of arrays as it is, named for policies such as ``checkpoint_policies.save_only_these_names``."""
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
    """``fun``, but under reverse-mode differentiation its values are computed again instead of being kept.

    Memory against time: what is kept is the arguments, and what ``policy`` saves (see ``checkpoint_policies``).
    ``prevent_cse=False`` is for functions inside ``scan``, where the compiler cannot undo it anyway. Static arguments
    are passed to ``fun`` as they are. Works as a decorator, with and without arguments; ``remat`` is another name.

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

    @called_as(fun)
    @api_boundary
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        static = set(places_of(numbers, len(args), f"static_argnums of the checkpointed {name_of(fun)}"))
        body, operands = _body_of_call(fun, args, kwargs, static, names)
        operation = Remat(body.opened, False, policy, bool(prevent_cse))
        return body.structure.unflatten(bind(operation, *body.consts, *operands))

    return checkpointed


def _body_of_call(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: set[int], static_names: set[str]
) -> tuple[Body, list[Any]]:
    """The program of a function for the arguments of a call that are not static, and these, flat."""
    moving_args = tuple(x for i, x in enumerate(args) if i not in static)
    plain = not static and not kwargs
    given = moving_args if plain else (moving_args, {k: v for k, v in kwargs.items() if k not in static_names})
    operands, structure = tree.flatten(given)
    avals = [operand_aval(f"an argument of the checkpointed {name_of(fun)}", x) for x in operands]
    if plain:  # a body that is called again is traced once
        return body_of(fun, structure, avals), operands

    def of_moving(positional: Sequence[Any], named: dict[str, Any]) -> Any:
        rest = iter(positional)
        return fun(*[x if i in static else next(rest) for i, x in enumerate(args)], **{**kwargs, **named})

    return staged(of_moving, structure, avals, name_of(fun)), operands


remat = checkpoint
