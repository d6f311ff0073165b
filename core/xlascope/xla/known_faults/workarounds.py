"""Compiler options that work around the faults that may affect a program.

They are part of the options that it is compiled with, and so of its key in the persistent cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ...ir.jaxpr import Jaxpr
from .operations import operations_of_jaxpr
from .table import Fault, affecting, matching

#: The faults of this process' jaxlib that options avoid.
_avoidable: tuple[Fault, ...] = tuple(fault for fault in affecting() if fault.options)


def workaround_options(
    program: Jaxpr, platform: str, overrides: Sequence[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """Return workaround options for a program, except those in ``overrides`` or XLA_FLAGS."""
    if platform != "cpu" or not _avoidable:
        return ()
    names = frozenset().union(*(fault.names for fault in _avoidable))
    operations = operations_of_jaxpr(program, names)
    return _without_named(matching(_avoidable, operations), overrides) if operations else ()


def _without_named(faults: Iterable[Fault], overrides: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    chosen, flags = dict(overrides), os.environ.get("XLA_FLAGS", "")
    options = {name: value for fault in faults for name, value in fault.options}
    return tuple((name, value) for name, value in options.items() if name not in chosen and f"--{name}=" not in flags)
