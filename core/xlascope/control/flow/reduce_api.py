"""reduce and reduce_window, as users call them with a function of two elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import dtype_kind
from ...ir.avals import make_aval
from ...ir.jaxpr import ClosedJaxpr
from ...operations import arithmetic, bits, extremes, reductions
from ...operations.integer_arguments import whole_numbers
from ...operations.operand_values import PYTHON_SCALAR_TYPES, highest, lowest
from ...operations.shapes import reduce_sum
from ...operations.window_shapes import (
    dilated_size,
    explicit_padding,
    padding_pairs,
    parse_padding_word,
    per_axis_factors,
)
from ...operations.windows import ReduceWindowMax, ReduceWindowMin, ReduceWindowSum, Windows
from ...trace.bind import bind, bind1
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ..programs.function_names import name_of
from ..programs.function_staging import get_body
from ..programs.interning import intern_program
from ..programs.structure_checks import check_same_structure, describe_type_differences
from ..programs.values import as_type, concrete_or_none, operand_aval
from .reduce_op import Reduce, ReduceWindow


def _all_ones(dtype: np.dtype[Any]) -> Any:
    return True if dtype_kind(dtype) == "b" else np.invert(np.zeros((), dtype))


#: Functions with specialized reductions: (reduction, its initial value for a dtype, supported kinds of dtypes).
_REDUCTIONS: dict[Callable[..., Any], tuple[Callable[..., Any], Callable[[np.dtype[Any]], Any], str]] = {
    arithmetic.add: (reduce_sum, lambda dtype: 0, "ifc"),
    arithmetic.mul: (reductions.reduce_prod, lambda dtype: 1, "ifc"),
    extremes.max: (reductions.reduce_max, lowest, "bif"),
    extremes.min: (reductions.reduce_min, highest, "bif"),
    bits.bitwise_and: (reductions.reduce_and, _all_ones, "bi"),
    bits.bitwise_or: (reductions.reduce_or, lambda dtype: 0, "bi"),
    bits.bitwise_xor: (reductions.reduce_xor, lambda dtype: 0, "bi"),
}
_WINDOWS: dict[Callable[..., Any], type[Windows]] = {
    arithmetic.add: ReduceWindowSum,
    extremes.max: ReduceWindowMax,
    extremes.min: ReduceWindowMin,
}


@api_boundary
def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]) -> Any:
    """Reduce arrays along the axes ``dimensions`` by a function of two elements, in any order.

    ``operands`` is an array, or a tree of arrays of one shape that are reduced together; ``computation`` is then a
    function of two such trees of scalars. The function has to be associative. ``init_values`` is a tree like
    ``operands`` with a scalar for each array, the identity of the function. The results have the operands' dtypes.
    Raises TypeError if trees or dtypes do not fit, and ValueError for an axis that does not exist.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.reduce(jnp.arange(1.0, 5.0), 1.0, lax.mul, (0,)))
    24.0
    """
    arrays, structure, starts = _read_operands("reduce", operands, init_values)
    axes = whole_numbers(dimensions, "dimensions of reduce")
    specialized = _REDUCTIONS.get(computation) if _is_hashable(computation) else None
    if specialized is not None and len(arrays) == 1:
        function, start, kinds = specialized
        aval = operand_aval("the operand of reduce", arrays[0])
        if dtype_kind(aval.dtype).replace("u", "i") in kinds and _is_concrete_value(starts[0], start(aval.dtype)):
            return structure.unflatten([function(arrays[0], axes)])
    program = _stage_computation("reduce", computation, structure, arrays)
    return structure.unflatten(bind(Reduce(program, axes), *arrays, *_cast_init_values("reduce", starts, arrays)))


@api_boundary
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce each window of ``window_dimensions`` elements by a function of two elements, in any order.

    Windows slide by ``window_strides``. ``padding`` is "VALID", "SAME", "SAME_LOWER" or (low, high) for each axis;
    negative numbers crop. ``base_dilation`` d puts d - 1 holes between neighbouring elements, ``window_dilation`` d
    lets windows take every d-th element. Holes and padding are ``init_value``. As for :func:`reduce`, operands may be
    trees of arrays of one shape. Raises TypeError if trees, dtypes or numbers of axes do not fit, and ValueError for
    numbers below 1.

    The derivative of :func:`max` and :func:`min` is that of the first of the most extreme elements of each window.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.reduce_window(jnp.arange(6.0), 0.0, lax.add, (2,), (2,)))
    [1. 5. 9.]
    """
    name = "of reduce_window"
    arrays, structure, starts = _read_operands("reduce_window", operand, init_value)
    shape = operand_aval("the operand of reduce_window", arrays[0]).shape
    rank = len(shape)
    sizes = _read_factors(
        whole_numbers(window_dimensions, f"window_dimensions {name}"), rank, f"window_dimensions {name}"
    )
    strides = _read_factors(window_strides, rank, f"window_strides {name}")
    base = _read_factors(base_dilation, rank, f"base_dilation {name}")
    dilation = _read_factors(window_dilation, rank, f"window_dilation {name}")
    if isinstance(padding, str):
        dilated_shape = [dilated_size(size, dilation_factor) for size, dilation_factor in zip(shape, base, strict=True)]
        windows = [dilated_size(size, dilation_factor) for size, dilation_factor in zip(sizes, dilation, strict=True)]
        pairs = explicit_padding(dilated_shape, windows, strides, parse_padding_word(padding, f"padding {name}"))
    else:
        pairs = padding_pairs(padding, rank, f"padding {name}")
    parameters = (sizes, strides, pairs, base, dilation)
    specialized = _WINDOWS.get(computation) if _is_hashable(computation) else None
    if specialized is not None and len(arrays) == 1:
        aval = operand_aval("the operand of reduce_window", arrays[0])
        operation = specialized(*parameters)
        if dtype_kind(aval.dtype) != "b" and _is_concrete_value(starts[0], operation.start(aval.dtype)):  # type: ignore[attr-defined]
            return structure.unflatten([bind1(operation, arrays[0])])
    program = _stage_computation("reduce_window", computation, structure, arrays)
    general = ReduceWindow(
        jaxpr=program,
        window_dimensions=sizes,
        window_strides=strides,
        padding=pairs,
        base_dilation=base,
        window_dilation=dilation,
    )
    return structure.unflatten(bind(general, *arrays, *_cast_init_values("reduce_window", starts, arrays)))


def _read_factors(factors_argument: Any, rank: int, name: str) -> tuple[int, ...]:
    """Return one factor for each of ``rank`` axes, 1 by default; raise TypeError if their number does not fit.

    ``name`` describes the argument in messages.
    """
    axis_factors = (1,) * rank if factors_argument is None else whole_numbers(factors_argument, name)
    if len(axis_factors) != rank:
        raise TypeError(f"{name} are as many as the operand has axes, {rank}; got {axis_factors}{here()}")
    return per_axis_factors(axis_factors, rank, name)


def _is_hashable(computation: Any) -> bool:
    return getattr(computation, "__hash__", None) is not None


def _is_concrete_value(start: Any, value: Any) -> bool:
    """Return whether an initial value is known during tracing and equals ``value``."""
    concrete_start = concrete_or_none(start)
    return concrete_start is not None and bool(np.asarray(concrete_start) == np.asarray(value))


def _read_operands(name: str, operands: Any, init_values: Any) -> tuple[list[Any], Any, list[Any]]:
    """Return the arrays, their tree structure, and the flat initial values.

    ``name`` is the function's, for messages. Raises TypeError if trees do not agree or an initial value is not a
    scalar, ValueError if there is no array or shapes differ.
    """
    arrays, structure = tree.flatten(operands)
    starts, starts_structure = tree.flatten(init_values)
    if not arrays:
        raise ValueError(f"{name} takes at least one array{here()}")
    words = f"{name} takes init values like the operands"
    check_same_structure(words, "tree", ("the operands are", "the init values"), structure, starts_structure)
    avals = [operand_aval(f"an operand of {name}", x) for x in arrays]
    if len({aval.shape for aval in avals}) > 1:
        raise ValueError(f"{name} takes arrays of one shape, got {' and '.join(str(a.shape) for a in avals)}{here()}")
    for start in starts:
        start_aval = operand_aval(f"an init value of {name}", start)
        if start_aval.shape:
            raise TypeError(f"{name} begins with scalars, got an init value of shape {start_aval.shape}{here()}")
    return arrays, structure, starts


def _cast_init_values(name: str, starts: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return the initial values ``starts`` in the dtypes of the ``arrays``, one for each.

    Only Python scalars are converted: raises TypeError, which names the function ``name``, for an array of another
    dtype.
    """
    cast_starts = []
    for start, x in zip(starts, arrays, strict=True):
        start_aval, dtype = operand_aval("", start), operand_aval("", x).dtype
        if start_aval.dtype != dtype and start.__class__ not in PYTHON_SCALAR_TYPES:
            raise TypeError(
                f"{name} begins with values of the operands' dtypes, got {start_aval.dtype.name} for an operand of "
                f"{dtype.name}{here()}; convert one of them with astype"
            )
        cast_starts.append(as_type(start, make_aval((), dtype)))
    return cast_starts


def _stage_computation(name: str, computation: Any, structure: Any, arrays: Sequence[Any]) -> ClosedJaxpr:
    """Return the program of a computation, which takes two scalars for each of ``arrays``.

    ``structure`` is the tree of the arrays, ``name`` the function's for messages. Raises TypeError if the computation
    returns other types than those of its elements, or closes over arrays.
    """
    if not callable(computation):
        raise TypeError(f"computation of {name} is a function of two elements, got {computation!r}{here()}")
    scalars = [make_aval((), operand_aval("", x).dtype) for x in arrays]
    both = tree.structure((structure.unflatten([0] * len(arrays)),) * 2)
    body = get_body(computation, both, [*scalars, *scalars])
    words = f"computation ({name_of(computation)}) of {name} has to return what it is given"
    terms = ("an element is", "the result")
    check_same_structure(words, "tree", terms, structure, body.structure)
    different = describe_type_differences(structure, scalars, body.program.out_avals, "leaf", terms)
    if different:
        raise TypeError(f"{words}: {different}{here()}")
    if body.consts:
        raise TypeError(
            f"computation ({name_of(computation)}) of {name} closes over arrays, and it can use nothing but the "
            f"elements and Python numbers{here()}"
        )
    return intern_program(body.program)
