"""Loops of a known number of steps as users write them: scan and fori_loop."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..ir.avals import ShapedArray, shaped
from ..operations import arithmetic, shapes
from ..operations.elementwise import convert_element_type
from ..runtime.boot import disable_jit
from ..trace.bind import bind
from ..trace.source import user_line, where_text
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from .bodies import as_type, body_of, name_of, operand_aval, without_axis
from .scan import Scan
from .while_loop import carry_types, while_loop


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
        raise TypeError(f"scan takes a function of (carry, x), got {f!r}{_here()}")
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
    staged: dict[str, Any] = {}

    def stage_for(types: list[ShapedArray]) -> Any:
        whole = body_of(f, arguments, [*types, *slice_avals])
        staged["whole"] = whole
        return whole._replace(structure=returns_pair.carry(whole.structure))

    carry_avals, _ = carry_types("scan", f, stage_for, structure, carry_avals)
    body = staged["whole"]
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
        children = structure.children()
        if structure.num_nodes == 1 or len(children) != 2 or structure.node_data()[0] not in (tuple, list):
            raise TypeError(
                f"the body of scan ({name_of(self.function)}) has to return a pair (carry, y); it returned a tree with "
                f"structure {structure}{_here()}"
            )
        return children[0]

    def second(self, structure: Any) -> Any:
        """The structure of what is stacked."""
        return structure.children()[1]


def _length(f: Callable[..., Any], avals: Sequence[ShapedArray], structure: Any, length: int | None) -> int:
    sizes = {}
    for (path, _), aval in zip(tree.leaves_with_path(structure.unflatten(range(len(avals)))), avals, strict=True):
        if not aval.shape:
            raise ValueError(f"scan takes xs with a leading axis to go along; xs{tree.keystr(path)} has none{_here()}")
        sizes[f"xs{tree.keystr(path)}"] = aval.shape[0]
    if length is not None:
        try:
            sizes["length"] = operator.index(length)
        except TypeError:
            raise TypeError(f"scan takes a Python integer as length, got {length!r}{_here()}") from None
    if not sizes:
        raise ValueError(f"scan of {name_of(f)} needs xs or length to know how many steps to take{_here()}")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise ValueError(f"scan of {name_of(f)} got different numbers of steps: {listed}{_here()}")
    return next(iter(sizes.values()))


def _unroll(unroll: int | bool, length: int) -> int:
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 1:
        raise ValueError(f"scan takes unroll as a positive number or a bool, got {unroll}{_here()}")
    return int(unroll)


def _scan_in_python(
    f: Callable[..., Any], init: Any, slices: Sequence[Any], structure: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """The same, step by step, for ``disable_jit``."""
    if not length:
        raise ValueError(f"scan over no steps is not possible while jit is disabled{_here()}")
    carry, ys = init, []
    steps = range(length)
    for i in reversed(steps) if reverse else steps:
        carry, y = f(carry, structure.unflatten([x[i] for x in slices]))
        ys.append(y)
    ordered = ys[::-1] if reverse else ys
    return carry, tree.map(lambda *parts: shapes.concatenate([shapes.expand_dims(p, (0,)) for p in parts], 0), *ordered)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """``init_val`` taken through ``body_fun(i, value)`` for i from ``lower`` up to (not including) ``upper``.

    With bounds that are known while tracing it is a scan, and can be differentiated in reverse mode; else it is a
    while_loop. Raises TypeError where the bounds are no integer scalars or the body does not return what it got.

    >>> import xlascope as xs
    >>> print(xs.lax.fori_loop(0, 4, lambda i, total: total + i, 0))
    6
    """
    if not callable(body_fun):
        raise TypeError(f"fori_loop takes a function of (i, value), got {body_fun!r}{_here()}")
    for name, bound in (("lower", lower), ("upper", upper)):
        aval = operand_aval(f"the {name} bound of fori_loop", bound)
        if aval.shape or aval.dtype.kind not in "iu":
            raise TypeError(f"fori_loop takes integer scalars as bounds; {name} is {aval.str_short()}{_here()}")
    lower, upper = _of_one_type(lower, upper)
    first, last = _known(lower), _known(upper)
    if disable_jit.value and first is not None and last is not None:
        value = init_val
        for i in range(first, last):
            value = body_fun(np.asarray(i, aval_of(lower).dtype)[()], value)
        return value
    if first is not None and last is not None:
        steps = max(last - first, 0)
        (_, value), _ = scan(_CountedStep(body_fun), (lower, init_val), None, length=steps, unroll=unroll or 1)
        return value
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(f"fori_loop can only be unrolled when its bounds are known while tracing{_here()}")

    return while_loop(_below, _Advance(body_fun), (lower, upper, init_val))[2]


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
    strong = a if b.weak_type else b if a.weak_type else shaped((), np.promote_types(a.dtype, b.dtype))
    return convert_element_type(lower, strong.dtype, strong.weak_type), convert_element_type(
        upper, strong.dtype, strong.weak_type
    )


def _known(bound: Any) -> int | None:
    """The number, where it is known while tracing."""
    if isinstance(bound, Tracer):
        concrete = bound.concrete()
        return None if concrete is None or isinstance(concrete, Tracer) else int(concrete)
    return int(bound)


def _here() -> str:
    return where_text(user_line())
