"""scan and while_loop, as users call them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import tree
from ...errors import ConcretizationTypeError
from ...ir.avals import ShapedArray
from ...operations.shapes import expand_dims
from ...operations.slicing import concatenate
from ...runtime.boot import disable_jit
from ...trace.bind import bind
from ...trace.source import compose_message, here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import TracerBase
from ..programs.function_names import definition_text, name_of
from ..programs.function_staging import Body, get_body
from ..programs.values import as_type, operand_aval
from .carry import resolve_carry_types
from .scan_op import Scan
from .slice_avals import to_slice_aval
from .while_op import While


@api_boundary
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Apply ``f`` once for each slice of ``xs`` along its leading axis, carrying ``init`` along.

    Returns the last carry, and the stacked results of the iterations.

    ``f(carry, x)`` returns (carry, y); the carry keeps its structure and types, the ys are stacked along a new
    leading axis. ``xs`` is a tree of arrays with leading axes of one size, or None if ``length`` is given.
    ``reverse`` begins at the end. ``unroll`` iterations (all for True) are written out in each iteration of the
    compiled loop. Raises TypeError if ``f`` does not fit, and ValueError if the lengths do not agree.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> total, sums = xs.lax.scan(lambda total, x: (total + x, total + x), 0.0, jnp.arange(1.0, 4.0))
    >>> print(total, sums)
    6.0 [1. 3. 6.]
    """
    if not callable(f):
        raise TypeError(f"scan takes a function of (carry, x), got {f!r}{here()}")
    slices, xs_structure = tree.flatten(xs)
    avals = [operand_aval("an operand of scan (xs)", x) for x in slices]
    steps = _resolve_length(f, avals, xs_structure, length)
    count = _resolve_unroll(unroll, steps)
    if disable_jit.value:
        return _scan_in_python(f, init, slices, xs_structure, steps, reverse)
    carry, structure = tree.flatten(init)
    carry_avals = [operand_aval("the initial carry of scan", x) for x in carry]
    arguments = tree.structure((init, xs))
    slice_avals = [to_slice_aval(a) for a in avals]
    returns_pair = _PairStructure(f)
    body: Any = None

    def stage_for(types: list[ShapedArray]) -> Body:
        nonlocal body
        staged_body = body = get_body(f, arguments, [*types, *slice_avals])
        return staged_body._replace(structure=returns_pair.carry_structure(staged_body.structure))

    carry_avals, _ = resolve_carry_types("scan", f, stage_for, structure, carry_avals)
    ys_structure = returns_pair.ys_structure(body.structure)
    operation = Scan(body.program_with_const_operands, steps, len(carry), len(body.consts), bool(reverse), count)
    start = [as_type(x, aval) for x, aval in zip(carry, carry_avals, strict=True)]
    results = bind(operation, *body.consts, *start, *slices)
    return structure.unflatten(results[: len(carry)]), ys_structure.unflatten(results[len(carry) :])


class _PairStructure:
    """Parts of the structure that a scan's body returned, which has to be a pair (carry, y).

    ``function`` is the user's body, for messages.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def carry_structure(self, structure: Any) -> Any:
        """Return the structure of the carry, given that of the body's result; raise TypeError unless it is a pair."""
        children, node = structure.children(), structure.node_data()
        if len(children) != 2 or not issubclass(node[0], (tuple, list)):
            problem = (
                f"the body of scan ({name_of(self.function)}) has to return a pair (carry, y); it returned "
                f"{_describe_structure(structure)}."
            )
            fix = "Return (carry, None) where nothing is to be stacked."
            raise TypeError(compose_message(problem, fix + definition_text(self.function)))
        return children[0]

    def ys_structure(self, structure: Any) -> Any:
        """Return the structure of the stacked results, given that of the body's result."""
        return structure.children()[1]


def _describe_structure(structure: Any) -> str:
    if structure.num_nodes == 1:
        return "one array" if structure.num_leaves else "None"
    return f"a tree with structure {structure}"


def _resolve_length(f: Callable[..., Any], avals: Sequence[ShapedArray], structure: Any, length: int | None) -> int:
    """Return the number of iterations; raise ValueError if ``length`` and the leading axes of ``xs`` do not agree.

    ``avals`` are the types of the leaves of ``xs``, ``structure`` is its structure.
    """
    sizes = {}
    for (path, _), aval in zip(tree.leaves_with_path(structure.unflatten(range(len(avals)))), avals, strict=True):
        if not aval.shape:
            raise ValueError(
                f"scan takes xs with a leading axis to go along; xs{tree.keystr(path)} has none{here()}. Make an "
                "array of a list first: xlascope.numpy.array(xs)."
            )
        sizes[f"xs{tree.keystr(path)}"] = aval.shape[0]
    if length is not None:
        sizes["length"] = int(length)
        if sizes["length"] < 0:
            raise ValueError(f"scan takes a length of at least 0, got {length}{here()}")
    if not sizes:
        raise ValueError(f"scan of {name_of(f)} needs xs or length to know how many steps to take{here()}")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        fix = (
            f"All of xs go along together: cut them to one length (x[:{min(sizes.values())}]); what each step needs "
            "whole is closed over."
        )
        raise ValueError(compose_message(f"scan of {name_of(f)} got different numbers of steps: {listed}.", fix))
    return next(iter(sizes.values()))


def _resolve_unroll(unroll: int | bool, length: int) -> int:
    """Return the number of iterations to unroll, at least 1; True means all ``length`` of them.

    Raises TypeError for an ``unroll`` that is neither a bool nor an integer, and ValueError for a negative one.
    """
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if not isinstance(unroll, TracerBase) and not hasattr(unroll, "__index__"):
        raise TypeError(f"scan takes unroll as a bool or a number of steps, got {unroll!r}{here()}")
    count = operator.index(unroll)
    if count < 0:
        raise ValueError(f"scan takes unroll as a bool or a number of steps, got {unroll}{here()}")
    return max(count, 1)


def _scan_in_python(
    f: Callable[..., Any], init: Any, slices: Sequence[Any], structure: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """Run the scan iteration by iteration in Python, for ``disable_jit``.

    ``slices`` are the leaves of ``xs``, ``structure`` is its structure. Raises ValueError for length 0.
    """
    if not length:
        raise ValueError(f"scan over no steps is not possible while jit is disabled{here()}")
    carry, ys = init, []
    steps = range(length)
    for i in reversed(steps) if reverse else steps:
        carry, y = f(carry, structure.unflatten([x[i] for x in slices]))
        ys.append(y)
    ordered = ys[::-1] if reverse else ys
    return carry, tree.map(lambda *parts: concatenate([expand_dims(p, (0,)) for p in parts], 0), *ordered)


@api_boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Apply ``body_fun`` to ``init_val`` repeatedly as long as ``cond_fun`` of the value is true.

    ``body_fun`` returns a tree like its argument, with leaves of the same types; ``cond_fun`` returns a boolean
    scalar. The loop can be differentiated in forward mode. Raises TypeError if the functions do not fit.

    >>> import xlascope as xs
    >>> print(xs.lax.while_loop(lambda x: x < 100, lambda x: 3 * x, 1))
    243
    """
    for name, function in (("cond_fun", cond_fun), ("body_fun", body_fun)):
        if not callable(function):
            raise TypeError(f"while_loop takes functions; {name} is {function!r}{here()}")
    if disable_jit.value:
        try:
            return _while_in_python(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:  # vmap: it is the examples that decide
            pass
    carry, structure = tree.flatten(init_val)
    arguments = tree.structure((init_val,))
    avals = [operand_aval("the initial value of while_loop", x) for x in carry]
    avals, body = resolve_carry_types(
        "while_loop", body_fun, lambda a: get_body(body_fun, arguments, a), structure, avals
    )
    condition = get_body(cond_fun, arguments, avals)
    _check_condition(cond_fun, condition)
    carry = [as_type(x, aval) for x, aval in zip(carry, avals, strict=True)]
    loop = While(
        body.program_with_const_operands, len(body.consts), condition.program_with_const_operands, len(condition.consts)
    )
    return structure.unflatten(bind(loop, *condition.consts, *body.consts, *carry))


def _while_in_python(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], value: Any) -> Any:
    """Return the final value of the loop, run iteration by iteration in Python, for ``disable_jit``."""
    while cond_fun(value):
        value = body_fun(value)
    return value


def _check_condition(cond_fun: Callable[..., Any], condition: Body) -> None:
    """Raise TypeError unless the condition of a while loop, staged as ``condition``, returns a boolean scalar."""
    out_avals = condition.program.out_avals
    if condition.structure != tree.structure(0):
        raise TypeError(
            f"cond_fun of while_loop ({name_of(cond_fun)}) has to return a boolean scalar, it returns a tree with "
            f"structure {condition.structure}{here()}"
        )
    if out_avals[0].shape or out_avals[0].dtype != np.bool_:
        raise TypeError(
            f"cond_fun of while_loop ({name_of(cond_fun)}) has to return a boolean scalar, it returns "
            f"{out_avals[0].str_short()}{here()}"
        )
