"""What functions with rules of their own share: their arguments, their trees, and when they become programs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import tree
from ...dtypes import float0, is_differentiable
from ...errors import see
from ...ir.avals import ShapedArray, strengthened
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...operations.shapes import mapped_in_front, zeros_of
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.state import STATE
from ...trace.values import aval_of, not_an_array
from ...transforms.batch import batch, with_axis
from ..programs.names import name_of
from ..programs.rearranged import without_constants


class SymbolicZero:
    """The tangent or cotangent of something that does not move, for rules that ask for it (``symbolic_zeros=True``)."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(tangent_aval(aval_of(value)))

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"


class Arguments(NamedTuple):
    """A call's arguments: the flat operands that can move, their structure, and all positional arguments."""

    operands: list[Any]
    structure: Any
    positional: tuple[Any, ...]
    fixed: tuple[int, ...]

    def join(self, operands: Sequence[Any]) -> list[Any]:
        """All arguments again, with other operands."""
        moving = iter(self.structure.unflatten(operands))
        return [x if i in self.fixed else next(moving) for i, x in enumerate(self.positional)]

    def fixed_values(self) -> list[Any]:
        """The arguments that rules take first, as they are."""
        return [self.positional[i] for i in self.fixed]


def arguments_of(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fixed: Sequence[int],
    fixed_names: Sequence[str] = (),
) -> Arguments:
    """A call's arguments, named ones brought into their places, those that do not move apart."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name_of(function)}{signature}: {error}{here()}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{name_of(function)} has rules of its own, which take arguments by position: "
                f"{', '.join(bound.kwargs)} cannot be given by name{here()}"
            )
        args = bound.args
        fixed = sorted({*fixed, *_places(function, list(signature.parameters), fixed_names)})
    elif kwargs:
        raise TypeError(f"{name_of(function)} takes arguments by position{here()}")
    numbers = places_of(fixed, len(args), f"nondiff_argnums of {name_of(function)}")
    moving = tuple(x for i, x in enumerate(args) if i not in numbers)
    operands, structure = tree.flatten(moving)
    for (path, _), x in zip(tree.leaves_with_path(moving), operands, strict=True):
        try:
            aval_of(x)
        except TypeError:
            raise not_an_array(x, f"argument {tree.keystr(path)} of {name_of(function)}") from None
    return Arguments(operands, structure, args, numbers)


def _places(function: Callable[..., Any], parameters: list[str], names: Sequence[str]) -> list[int]:
    missing = [name for name in names if name not in parameters]
    if missing:
        raise ValueError(
            f"nondiff_argnames of {name_of(function)} holds {', '.join(missing)}; its parameters are "
            f"{', '.join(parameters)}{here()}"
        )
    return [parameters.index(name) for name in names]


def places_of(numbers: Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """Argument numbers counted from the front; ValueError for one that is out of range."""
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(f"{what} holds {number}, but {count} arguments were given{here()}")
    return tuple(number % count for number in numbers)


def check_results_of_rule(name: str, function: str, results: Sequence[Any], avals: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless what a rule returned has the types that the function's results have."""
    found = [aval_of(y) for y in results]
    if [(a.shape, a.dtype) for a in found] != [(a.shape, a.dtype) for a in avals]:
        raise TypeError(
            f"{name} has to return results of the types that {function} returns, {_types(avals)}; it returned "
            f"{_types(found)}{here()}"
        )


def _types(avals: Sequence[ShapedArray]) -> str:
    return f"({', '.join(a.str_short() for a in avals)})"


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of a tangent: that of the value; float0 for a value that cannot move."""
    return strengthened(aval) if is_differentiable(aval.dtype) else ShapedArray(aval.shape, float0)


def shown(tangent: Any, aval: ShapedArray, symbolic: bool) -> Any:
    """A tangent or cotangent as a user's rule gets it: zeros, or a :class:`SymbolicZero`, where nothing moves."""
    if tangent is not ZERO:
        return tangent
    if symbolic:
        return SymbolicZero(tangent_aval(aval))
    return zeros_of(strengthened(aval)) if is_differentiable(aval.dtype) else np.zeros(aval.shape, float0)


def is_zero(x: Any) -> bool:
    """Whether a user's rule gave back that nothing moves."""
    return x is None or isinstance(x, SymbolicZero) or getattr(x, "dtype", None) == float0


def staged(function: Callable[..., list[Any]], operands: Sequence[Any], name: str) -> tuple[ClosedJaxpr, list[Any]]:
    """The program of a function, and what it closes over, which are its leading operands."""
    program = stage(function, [aval_of(x) for x in operands], name)
    return without_constants(program), program.consts


def closed_over_error(name: str) -> TypeError:
    """The error for a value that moves and is no argument."""
    return TypeError(
        f"{name} has a derivative rule of its own and is differentiated with respect to a value that it closes over"
        f"{here()}. The rule says only how its arguments move: make that value an argument "
        "(closure_convert can do it), or wrap it in lax.stop_gradient if its derivative is not wanted."
        + see("closed-over-value")
    )


class under:  # noqa: N801  (reads as a word: with under(trace))
    """Context manager: operations go to a trace."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def __enter__(self) -> None:
        self.previous = STATE.trace
        STATE.trace = self.trace

    def __exit__(self, *error: object) -> None:
        STATE.trace = self.previous


def batched_in_front(
    function: Callable[..., Sequence[Any]], operands: Sequence[Any], axes: Sequence[Any], size: int, axis: Any
) -> list[Any]:
    """A flat function's results for all examples, every one with the mapped axis in front; ZERO and None stay."""
    kept: list[Any] = []

    def values_only(*xs: Any) -> list[Any]:
        results = function(*xs)
        kept[:] = [y is ZERO or y is None for y in results]
        return [y for y, gone in zip(results, kept, strict=True) if not gone]

    results, out_axes = batch(values_only, operands, axes, axis)
    found = (in_front(y, a, size) for y, a in zip(results, out_axes, strict=True))
    return [ZERO if gone else next(found) for gone in kept]


def in_front(x: Any, axis: Any, size: int) -> Any:
    """A value with its mapped axis in front; arrays of float0, which no operation takes, are made anew."""
    aval = aval_of(x)
    if aval.dtype == float0:
        return np.zeros(with_axis(aval, 0, size).shape if axis is NOT_MAPPED else aval.shape, float0)
    return mapped_in_front(x, axis, size)
