"""Utilities for jaxprs: evaluation, iteration over inner jaxprs, and types with a mapped axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr, Jaxpr
from ..transforms.batch_trace import insert_axis, remove_axis
from ..transforms.evaluate import evaluate, evaluate_jaxpr
from .tree_adapters import to_operand, to_result

#: The NumPy types whose values can be operands.
array_types = frozenset(
    [
        *(np.ndarray, np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
    ]
)


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Run a jaxpr on flat arguments, equation by equation, and return the flat results.

    >>> import xlascope as xs
    >>> program = xs.make_jaxpr(lambda x: x * 2.0)(1.0)
    >>> eval_jaxpr(program.jaxpr, program.consts, 3.0)
    [Array(6., dtype=float32, weak_type=True)]
    """
    return list(map(to_result, evaluate_jaxpr(jaxpr, consts, list(map(to_operand, args)))))


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> list[Any]:
    """Run a closed jaxpr on flat arguments, and return the flat results."""
    return list(map(to_result, evaluate(closed_jaxpr, *map(to_operand, args))))


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """Yield the jaxprs among an equation's parameters, alone or in tuples and lists; of a closed jaxpr its jaxpr."""
    for value in params.values():
        for candidate in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(candidate, (Jaxpr, ClosedJaxpr)):
                yield candidate.jaxpr if isinstance(candidate, ClosedJaxpr) else candidate


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Yield the jaxprs that the equations of a jaxpr hold, without those nested in them."""
    for equation in jaxpr.eqns:
        yield from jaxprs_in_params(equation.params)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of one example of a batch of type ``aval`` with that batch axis; ``aval`` itself for None.

    ``size`` is not used.
    """
    return aval if axis is None else remove_axis(aval, axis)


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of a batch of ``size`` examples of type ``aval`` with that batch axis; ``aval`` for None."""
    return aval if axis is None else insert_axis(aval, axis, size)
