"""Elementwise functions that no compiler knows: programs of other operations, which stand for one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.avals import shaped
from ..ir.jaxpr import ClosedJaxpr
from ..trace.jaxpr_trace import stage
from .conversion import convert_element_type
from .families import stretch_values

Formula = Callable[..., Any]


def emit_formula(builder: Any, formula: Formula, operands: Sequence[Any]) -> list[Any]:
    """Emit an elementwise function of operands of one floating-point dtype, computed in at least single precision."""
    (out,) = builder.out_avals
    program = _program(formula, out.shape, out.dtype, len(operands))
    return builder.call_body(program, list(stretch_values(builder, operands)))  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=256)
def _program(formula: Formula, shape: tuple[int, ...], dtype: np.dtype[Any], count: int) -> ClosedJaxpr:
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)

    def computed(*xs: Any) -> list[Any]:
        given = xs if dtype == wide else [convert_element_type(x, wide) for x in xs]
        made = formula(*given)
        return [made if dtype == wide else convert_element_type(made, dtype)]

    return stage(computed, [shaped(shape, dtype)] * count, formula.__name__)
