"""Compiler options that work around the faults that may affect a program.

They are part of the options that it is compiled with, and so of its key in the persistent cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ...ir.jaxpr import Jaxpr
from .fault_table import CompilerFault, faults_in, match_faults
from .program_operations import operations_of_jaxpr

#: The faults of this process' jaxlib that options avoid.
_avoidable: tuple[CompilerFault, ...] = tuple(fault for fault in faults_in() if fault.options)


def workaround_options(
    program: Jaxpr, platform: str, overrides: Sequence[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the compiler options that a program needs on ``platform`` to avoid known faults.

    Options that are in ``overrides`` (XLA flags: name, value) or in XLA_FLAGS are left out.
    """
    if platform != "cpu" or not _avoidable:
        return ()
    names = frozenset().union(*(fault.names for fault in _avoidable))
    operations = operations_of_jaxpr(program, names)
    return _drop_user_options(match_faults(_avoidable, operations), overrides) if operations else ()


def _drop_user_options(
    faults: Iterable[CompilerFault], overrides: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    user_set, flags = dict(overrides), os.environ.get("XLA_FLAGS", "")
    options = {name: value for fault in faults for name, value in fault.options}
    return tuple((name, value) for name, value in options.items() if name not in user_set and f"--{name}=" not in flags)
