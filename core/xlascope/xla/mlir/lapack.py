"""LAPACK for programs on the CPU: custom-call targets of jaxlib, registered when a program first needs one.

Registering loads SciPy, whose copy of LAPACK is used; that takes a third of a second.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib import xla_client

from ...ir.avals import ShapedArray
from .solver_calls import by_columns

#: The type letters in the names of LAPACK's routines.
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
    operand_avals: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
    lead: int,
    options: Mapping[str, str] | None = None,
    in_place: Mapping[int, int] | None = None,
) -> list[Any]:
    """Call a routine, named without its type letter, on stacks of operands that have ``lead`` leading axes."""
    _get_ready()
    name = target(routine, next(aval.dtype for aval in operand_avals))
    return by_columns(builder, name, operands, operand_avals, results, lead, options, in_place)


def target(routine: str, dtype: np.dtype[Any]) -> str:
    """Return the custom-call target of a routine for a dtype."""
    letter = LETTERS[dtype.name]
    names = _COMPLEX_NAMES if letter in "cz" else {}
    return f"lapack_{letter}{names.get(routine, routine)}_ffi"


#: Routines that have another name for complex matrices.
_COMPLEX_NAMES = {"syevd": "heevd", "sytrd": "hetrd", "orgqr": "ungqr", "ormqr": "unmqr"}
