"""LAPACK for programs on the CPU: the custom-call targets of jaxlib, registered when a program first needs one.

Getting LAPACK ready loads SciPy, whose copy of it is used; that takes a third of a second.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib import xla_client

from ..ir.avals import ShapedArray
from .builder import attribute

#: The letter by which LAPACK's routines name a type.
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


@functools.cache
def _get_ready() -> None:
    lapack = importlib.import_module("jaxlib.lapack")
    for name, target, version in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(name, target, platform="cpu", api_version=version)
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)
    lapack._lapack.initialize()


def call(
    builder: Any,
    routine: str,
    operands: Sequence[Any],
    given: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
    lead: int,
    options: Mapping[str, str] | None = None,
    in_place: Mapping[int, int] | None = None,
) -> list[Any]:
    """Call a routine, its name without the letter, on stacks of operands that have ``lead`` leading axes.

    Matrices lie in memory column by column. ``options`` are the routine's own (``{"uplo": "76 : ui8"}``), ``in_place``
    says which results (by number) are written over which operands.
    """
    _get_ready()
    dtype = next(aval.dtype for aval in given)
    options = {} if options is None else options
    attributes = {
        "call_target_name": attribute(f'"{target(routine, dtype)}"'),
        "api_version": attribute("4 : i32"),
        "backend_config": attribute("{" + ", ".join(f"{name} = {value}" for name, value in options.items()) + "}"),
        "operand_layouts": _layouts(given, lead),
        "result_layouts": _layouts(results, lead),
    }
    if in_place:
        aliases = [
            "#stablehlo.output_operand_alias<output_tuple_indices = "
            f"[{result if len(results) > 1 else ''}], operand_index = {operand}, operand_tuple_indices = []>"
            for result, operand in in_place.items()
        ]
        attributes["output_operand_aliases"] = attribute(f"[{', '.join(aliases)}]")
    return list(builder.operation("stablehlo.custom_call", operands, attributes, results).results)


def target(routine: str, dtype: np.dtype[Any]) -> str:
    """The name of a routine for a type."""
    letter = LETTERS[dtype.name]
    names = _COMPLEX_NAMES if letter in "cz" else {}
    return f"lapack_{letter}{names.get(routine, routine)}_ffi"


#: Routines that have another name for complex matrices.
_COMPLEX_NAMES = {"syevd": "heevd", "sytrd": "hetrd", "orgqr": "ungqr", "ormqr": "unmqr"}


def _layouts(avals: Sequence[ShapedArray], lead: int) -> Any:
    """Which axis varies fastest in memory: of matrices the row, of all else the last axis."""
    texts = []
    for aval in avals:
        order = list(reversed(range(aval.ndim)))
        if aval.ndim == lead + 2:
            order[:2] = [aval.ndim - 2, aval.ndim - 1]
        texts.append(f"dense<{order}> : tensor<{aval.ndim}xindex>")
    return attribute(f"[{', '.join(texts)}]")
