"""LAPACK for programs on the CPU: custom-call targets of jaxlib, registered when a program first needs one.

Registering loads SciPy, whose copy of LAPACK is used; that takes a third of a second.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib import xla_client

from ...ir.avals import ShapedArray
from .solver_calls import call_column_major

#: The type letters in the names of LAPACK's routines.
TYPE_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


@functools.cache
def _register_lapack() -> None:
    """Register jaxlib's LAPACK targets with XLA, once per process; this loads SciPy."""
    lapack = importlib.import_module("jaxlib.lapack")
    for name, target, version in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(name, target, platform="cpu", api_version=version)
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)
    with _short_polling():
        lapack._lapack.initialize()


#: For 2 to the power of this many cycles, idle threads of OpenBLAS poll before they sleep.
_POLLING_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"


@contextlib.contextmanager
def _short_polling() -> Iterator[None]:
    """Have the idle threads of an OpenBLAS that is loaded meanwhile poll for 25 µs instead of 25 ms.

    They poll on the cores that XLA's threads need: on two cores, steps of 1 ms took 10 to 170 ms. A value that the user
    has set stays. OpenBLAS reads the variable when it is loaded, so it is removed again.
    """
    if _POLLING_VARIABLE in os.environ:
        yield
        return
    os.environ[_POLLING_VARIABLE] = "16"  # with 4, the threads sleep within a factorization
    try:
        yield
    finally:
        os.environ.pop(_POLLING_VARIABLE, None)


def call_lapack(
    builder: Any,
    routine: str,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
    lead: int,
    options: Mapping[str, str] | None = None,
    in_place: Mapping[int, int] | None = None,
) -> list[Any]:
    """Emit a call of a LAPACK routine on stacks of matrices and return its results.

    ``routine`` is the name without its type letter (``getrf``), which follows from the dtype of the first operand.
    ``operand_avals`` and ``results`` are the types of operands and results, ``lead`` is how many axes number the
    matrices of a stack, and ``options`` and ``in_place`` are those of :func:`call_column_major`.
    """
    _register_lapack()
    name = lapack_target(routine, next(aval.dtype for aval in operand_avals))
    return call_column_major(builder, name, operands, operand_avals, results, lead, options, in_place)


def lapack_target(routine: str, dtype: np.dtype[Any]) -> str:
    """Return jaxlib's custom-call target for a LAPACK routine and a dtype, such as ``lapack_sgetrf_ffi``."""
    letter = TYPE_LETTERS[dtype.name]
    names = _COMPLEX_NAMES if letter in "cz" else {}
    return f"lapack_{letter}{names.get(routine, routine)}_ffi"


#: Routines that have another name for complex matrices.
_COMPLEX_NAMES = {"syevd": "heevd", "sytrd": "hetrd", "orgqr": "ungqr", "ormqr": "unmqr"}
