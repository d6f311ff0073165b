"""Barriers against moving, merging or dropping operations in the compiler, and against derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..dtypes import is_differentiable
from ..operations import barriers
from ..trace.jaxpr_trace import JaxprTrace
from ..trace.operand_coercion import pass_through, to_array
from ..trace.source import here
from ..trace.state import STATE
from ..trace.values import aval_of


def optimization_barrier(operand: Any, /) -> Any:
    """Return a tree with the same values; the compiler computes all of them before it uses any of them.

    >>> import xlascope.numpy as jnp
    >>> from xlascope import lax
    >>> x, y = lax.optimization_barrier((jnp.arange(2), 1.0))
    >>> print(x, y)
    [0 1] 1.0
    """
    leaves, structure = tree.flatten(operand)
    return structure.unflatten(barriers.optimization_barrier(leaves))


def stop_gradient(x: Any) -> Any:
    """Return a tree with the same values, which differentiation treats as constants.

    >>> import xlascope as xs
    >>> print(xs.grad(lambda x: x * xs.lax.stop_gradient(x))(3.0))
    3.0
    """

    def stop_leaf(leaf: Any) -> Any:
        return barriers.stop_gradient(leaf) if is_differentiable(aval_of(leaf).dtype) else pass_through(leaf)

    return tree.map(stop_leaf, x)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keep the arrays of a tree, and what they are computed from, in the program even if they are unused.

    The compiler still drops unused values, unless ``prevent_mlir_dce`` is set. Outside of any trace this does nothing.
    Under ``vmap``, where jax drops them, the values of all examples are kept. Raises TypeError for a value that is not
    an array.

    >>> import xlascope as xs
    >>> from xlascope import lax
    >>> xs.make_jaxpr(lambda x: (lax.dce_sink(lax.sin(x)), x)[1])(1.0)
    { lambda ; a:f32[]. let
        b:f32[] = sin a
        dce_sink[prevent_mlir_dce=False] b
      in (a,) }
    """
    if not isinstance(prevent_mlir_dce, (int, np.bool_)):
        raise TypeError(
            f"dce_sink is told by true or false whether to keep it for good, got {prevent_mlir_dce!r}{here()}"
        )
    for leaf in tree.leaves(val):
        if STATE.trace is None:
            to_array(leaf)
        else:
            barriers.dce_sink(leaf, bool(prevent_mlir_dce))


def stage(x: Any, /) -> Any:
    """Return a number or an array as a value of the program being traced; outside of any trace, as an array.

    Computing with it is recorded in the program instead of being done at once. Raises TypeError for a value that is
    not an array.

    >>> import xlascope as xs
    >>> from xlascope import lax
    >>> xs.make_jaxpr(lambda x: x * lax.sin(lax.stage(2.0)))(1.0)
    { lambda a:f32[]; b:f32[]. let c:f32[] = sin a; d:f32[] = mul b c in (d,) }
    """
    value = to_array(x)
    trace = STATE.trace
    while trace is not None and not isinstance(trace, JaxprTrace):
        trace = trace.parent
    return value if trace is None else trace.lift(value)
