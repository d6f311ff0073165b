"""print_saved_residuals: the values that reverse-mode differentiation of a function saves, and their origins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.jaxpr import Jaxpr, Literal
from ...ir.user_frames import locate
from ...trace.jaxpr_trace import stage
from ...trace.source import where_text
from ...transforms.differentiate import linearize
from ..programs.call import JitCall
from ..programs.function_names import name_of
from ..programs.values import operand_aval
from .remat import Name


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """Return the values saved between the forward and the backward pass of ``f``: the type and origin of each.

    Scalars that are known while tracing are not listed.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> from xlascope.ad_checkpoint import saved_residuals
    >>> saved_residuals(xs.checkpoint(lambda x: jnp.sin(jnp.sin(x))), jnp.ones(3))
    [(ShapedArray(float32[3]), 'from the argument x')]
    """
    operands, structure = tree.flatten((args, kwargs))
    avals = [operand_aval(f"an argument of {name_of(f)}", x) for x in operands]

    def forward(*values: Any) -> list[Any]:
        def flat(*leaves: Any) -> list[Any]:
            positional, keyword = structure.unflatten(leaves)
            return tree.leaves(f(*positional, **keyword))

        return linearize(flat, values)[1].to_program()[1]

    jaxpr = stage(forward, avals, name_of(f)).jaxpr
    residual_ids = {id(x) for x in jaxpr.outvars if x.__class__ is not Literal}
    names = _argument_names(f, args, kwargs)
    residuals = [
        (v.aval, f"from the argument {n}") for v, n in zip(jaxpr.invars, names, strict=True) if id(v) in residual_ids
    ]
    residuals += [(v.aval, "from a constant") for v in jaxpr.constvars if id(v) in residual_ids]
    for _, _, outputs, *_ in jaxpr.raw:
        residuals += [(v.aval, _describe_producer(jaxpr, v)) for v in outputs if id(v) in residual_ids]
    return residuals


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the values saved between the forward and the backward pass of ``f``, one per line.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> from xlascope.ad_checkpoint import print_saved_residuals
    >>> policy = xs.checkpoint_policies.dots_saveable
    >>> print_saved_residuals(xs.checkpoint(lambda w, x: jnp.sin(w @ x), policy=policy), jnp.ones((3, 2)), jnp.ones(2))
    f32[3,2] from the argument w
    f32[2] from the argument x
    f32[3] output of dot_general at ...
    """
    for aval, where in saved_residuals(f, *args, **kwargs):
        print(aval.str_short(), where)


def _argument_names(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """Return a name for each leaf of the arguments, such as ``params['w']``."""
    try:
        bound = dict(inspect.signature(f).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        bound = {f"args[{i}]": x for i, x in enumerate(args)} | kwargs
    name_by_id = {id(x): name for name, x in bound.items()}
    names = [name_by_id.get(id(x), f"args[{i}]") for i, x in enumerate(args)]
    parts = [*zip(names, args, strict=True), *((name, kwargs[name]) for name in sorted(kwargs))]
    return [name + tree.keystr(path) for name, x in parts for path, _ in tree.leaves_with_path(x)]


def _describe_producer(jaxpr: Jaxpr, variable: Any) -> str:
    """Return which operation computes ``variable``, an output of an equation of ``jaxpr``, and its user line.

    A value that ``checkpoint_name`` named has that name. Jitted functions are searched for the operation inside them.
    """
    for operation, _, outputs, code, lasti, _ in jaxpr.raw:
        for i, v in enumerate(outputs):
            if v is not variable:
                continue
            if isinstance(operation, JitCall):
                inner = operation.jaxpr.jaxpr
                if any(inner.outvars[i] is w for equation in inner.raw for w in equation[2]):
                    return _describe_producer(inner, inner.outvars[i])
            origin = f"named {operation.label!r}" if isinstance(operation, Name) else f"output of {operation.name}"
            return f"{origin}{where_text(locate(code, lasti))}"
    raise AssertionError("a value that no equation makes")
