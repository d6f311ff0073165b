"""Loops of a known number of steps as users write them: scan and fori_loop."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...operations import arithmetic, shapes
from ...runtime.boot import disable_jit
from ...trace.bind import bind
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import Tracer
from ...trace.values import aval_of
from ..programs.bodies import Body, body_of
from ..programs.names import name_of
from ..programs.values import as_type, concrete, operand_aval
from .scan import Scan
from .slices import without_axis
from .while_loop import carry_types, while_loop


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
    """Take ``init`` through ``f`` once for each slice of ``xs`` along its leading axis.

    Returns the last carry, and what each step gave.

    ``f(carry, x)`` returns (carry, y); the carry keeps its structure and types, the ys are stacked along a new leading
    axis. ``xs`` is a tree of arrays with leading axes of one size, or None with ``length`` given. ``reverse`` begins
    at the end. ``unroll`` steps (all for True) are written out in each round of the compiled loop. Raises TypeError
    where ``f`` does not fit, ValueError where the lengths do not agree.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> total, sums = xs.lax.scan(lambda total, x: (total + x, total + x), 0.0, jnp.arange(1.0, 4.0))
    >>> print(total, sums)
    6.0 [1. 3. 6.]
    """
    if not callable(f):
        raise TypeError(f"scan takes a function of (carry, x), got {f!r}{here()}")
    slices, xs_structure = tree.flatten(xs)
    avals = [operand_aval("an operand of scan (xs)", x) for x in slices]
    steps = _length(f, avals, xs_structure, length)
    count = _unroll(unroll, steps)
    if disable_jit.value:
        return _scan_in_python(f, init, slices, xs_structure, steps, reverse)
    carry, structure = tree.flatten(init)
    carry_avals = [operand_aval("the initial carry of scan", x) for x in carry]
    arguments = tree.structure((init, xs))
    slice_avals = [without_axis(a) for a in avals]
    returns_pair = _Pair(f)
    body: Any = None

    def stage_for(types: list[ShapedArray]) -> Body:
        nonlocal body
        found = body = body_of(f, arguments, [*types, *slice_avals])
        return found._replace(structure=returns_pair.carry(found.structure))

    carry_avals, _ = carry_types("scan", f, stage_for, structure, carry_avals)
    ys_structure = returns_pair.second(body.structure)
    operation = Scan(body.opened, steps, len(carry), len(body.consts), bool(reverse), count)
    start = [as_type(x, aval) for x, aval in zip(carry, carry_avals, strict=True)]
    results = bind(operation, *body.consts, *start, *slices)
    return structure.unflatten(results[: len(carry)]), ys_structure.unflatten(results[len(carry) :])


class _Pair:
    """Takes the structure of what a scan's body returned apart, which has to be a pair."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def carry(self, structure: Any) -> Any:
        """The structure of the carry; raises TypeError unless the body returned a pair."""
        children, node = structure.children(), structure.node_data()
        if len(children) != 2 or not issubclass(node[0], (tuple, list)):
            raise TypeError(
                f"the body of scan ({name_of(self.function)}) has to return a pair (carry, y); it returned a tree with "
                f"structure {structure}{here()}"
            )
        return children[0]

    def second(self, structure: Any) -> Any:
        """The structure of what is stacked."""
        return structure.children()[1]


def _length(f: Callable[..., Any], avals: Sequence[ShapedArray], structure: Any, length: int | None) -> int:
    sizes = {}
    for (path, _), aval in zip(tree.leaves_with_path(structure.unflatten(range(len(avals)))), avals, strict=True):
        if not aval.shape:
            raise ValueError(f"scan takes xs with a leading axis to go along; xs{tree.keystr(path)} has none{here()}")
        sizes[f"xs{tree.keystr(path)}"] = aval.shape[0]
    if length is not None:
        sizes["length"] = int(length)
        if sizes["length"] < 0:
            raise ValueError(f"scan takes a length of at least 0, got {length}{here()}")
    if not sizes:
        raise ValueError(f"scan of {name_of(f)} needs xs or length to know how many steps to take{here()}")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise ValueError(f"scan of {name_of(f)} got different numbers of steps: {listed}{here()}")
    return next(iter(sizes.values()))


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if not isinstance(unroll, Tracer) and not hasattr(unroll, "__index__"):
        raise TypeError(f"scan takes unroll as a bool or a number of steps, got {unroll!r}{here()}")
    count = operator.index(unroll)
    if count < 0:
        raise ValueError(f"scan takes unroll as a bool or a number of steps, got {unroll}{here()}")
    return max(count, 1)


def _scan_in_python(
    f: Callable[..., Any], init: Any, slices: Sequence[Any], structure: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """The same, step by step, for ``disable_jit``."""
    if not length:
        raise ValueError(f"scan over no steps is not possible while jit is disabled{here()}")
    carry, ys = init, []
    steps = range(length)
    for i in reversed(steps) if reverse else steps:
        carry, y = f(carry, structure.unflatten([x[i] for x in slices]))
        ys.append(y)
    ordered = ys[::-1] if reverse else ys
    return carry, tree.map(lambda *parts: shapes.concatenate([shapes.expand_dims(p, (0,)) for p in parts], 0), *ordered)


@api_boundary
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """``init_val`` taken through ``body_fun(i, value)`` for i from ``lower`` up to (not including) ``upper``.

    With bounds that are known while tracing it is a scan, i counts as a Python integer (its type is weak), and it can
    be differentiated in reverse mode; else it is a while_loop, and i has the type of the bounds. Raises TypeError where
    the bounds are no integer scalars of one type or the body does not return what it got, ValueError for ``unroll``
    where the bounds are not known.

    >>> import xlascope as xs
    >>> print(xs.lax.fori_loop(0, 4, lambda i, total: total + i, 0))
    6
    """
    if not callable(body_fun):
        raise TypeError(f"fori_loop takes a function of (i, value), got {body_fun!r}{here()}")
    for name, bound in (("lower", lower), ("upper", upper)):
        aval = operand_aval(f"the {name} bound of fori_loop", bound)
        if aval.shape or aval.dtype.kind not in "iu":
            raise TypeError(f"fori_loop takes integer scalars as bounds; {name} is {aval.str_short()}{here()}")
    lower, upper = _of_one_type(lower, upper)
    first, last = concrete(lower), concrete(upper)
    if first is not None and last is not None:
        start, end = int(first), int(last)
        if disable_jit.value:
            return _for_in_python(start, end, body_fun, init_val)
        steps = max(end - start, 0)
        (_, value), _ = scan(_CountedStep(body_fun), (start, init_val), None, length=steps, unroll=unroll or 1)
        return value
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(f"fori_loop can only be unrolled when its bounds are known while tracing{here()}")
    return while_loop(_below, _Advance(body_fun), (lower, upper, init_val))[2]


def _for_in_python(start: int, end: int, body: Callable[[Any, Any], Any], value: Any) -> Any:
    """The same, step by step, for ``disable_jit``."""
    for i in range(start, end):
        value = body(i, value)
    return value


class _CountedStep:
    """The body of a fori_loop as the body of a scan that carries the counter along."""

    def __init__(self, body: Callable[[Any, Any], Any]) -> None:
        self.user_function = body
        self.__name__ = name_of(body)

    def __call__(self, carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        i, value = carry
        following = _plus_one(i)
        return (following, self.user_function(i, value)), None


class _Advance:
    """The body of a fori_loop as the body of a while_loop that carries the counter and its end along."""

    def __init__(self, body: Callable[[Any, Any], Any]) -> None:
        self.user_function = body
        self.__name__ = name_of(body)

    def __call__(self, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        i, end, value = carry
        return _plus_one(i), end, self.user_function(i, value)


def _below(carry: tuple[Any, Any, Any]) -> Any:
    return arithmetic.lt(carry[0], carry[1])


def _plus_one(i: Any) -> Any:
    return arithmetic.add(i, 1)


def _of_one_type(lower: Any, upper: Any) -> tuple[Any, Any]:
    a, b = aval_of(lower), aval_of(upper)
    if a is b:
        return lower, upper
    if not a.weak_type and not b.weak_type:
        raise TypeError(
            f"fori_loop takes bounds of one type, got {a.dtype.name} and {b.dtype.name}{here()}; convert one with "
            "astype, or use a Python number"
        )
    strong = a if b.weak_type else b
    return as_type(lower, strong), as_type(upper, strong)
