"""Warning for donated arguments whose memory no result can reuse."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...trace.source import user_line, where_text
from ...xla.arrays.memory_check import total_bytes
from ...xla.arrays.runtime_errors import argument_name, size_text

#: Maximum number of arguments that one warning names.
MAX_ARGUMENTS_IN_WARNING = 8

#: Maximum number of warnings that are remembered, so that they are not repeated.
MAX_REMEMBERED_WARNINGS = 1_000
#: Registry for ``warnings``, like the ``__warningregistry__`` of a module.
_already_warned: dict[Any, Any] = {}


def warn_of_unusable_donations(program: ClosedJaxpr, donated: Sequence[bool]) -> None:
    """Warn, once per line, about donated arguments whose memory XLA cannot give to a result.

    ``donated`` marks the donated operands of the program. XLA gives a result the memory of a donated argument of the
    same size. Arguments that the program does not use are dropped before, and are not reported.
    """
    unusable = unusable_donations(program, donated)
    if not unusable:
        return
    if len(_already_warned) > MAX_REMEMBERED_WARNINGS:
        _already_warned.clear()
    line, jaxpr = user_line(), program.jaxpr
    sizes = {total_bytes([aval]) for aval in program.out_avals}
    listed = [
        f"{argument_name(jaxpr, index)}: {aval.str_short()} ({_explain_unusable(aval, sizes)})"
        for index, aval in unusable[:MAX_ARGUMENTS_IN_WARNING]
    ]
    if len(unusable) > MAX_ARGUMENTS_IN_WARNING:
        listed.append(f"and {len(unusable) - MAX_ARGUMENTS_IN_WARNING:,} more")
    warnings.warn_explicit(
        f"Some donated buffers were not usable in {jaxpr.name or 'the function'}{where_text(line)}: "
        f"{'; '.join(listed)}. A result reuses the memory of a donated argument of its size. Take these arguments out "
        "of donate_argnums (donate_argnames).",
        UserWarning,
        "" if line is None else line.file,
        0 if line is None else line.line,
        registry=_already_warned,
    )


def unusable_donations(program: ClosedJaxpr, donated: Sequence[bool]) -> list[tuple[int, ShapedArray]]:
    """Return index and type of each donated operand that the program uses and whose memory no result can reuse."""
    if not any(donated):
        return []
    results = Counter(total_bytes([aval]) for aval in program.out_avals)
    jaxpr = program.jaxpr
    used: set[Any] = set(jaxpr.outvars)
    for raw in jaxpr.raw:
        used.update(raw[1])
    unusable = []
    for index, (variable, is_donated) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if not is_donated or variable not in used:
            continue
        size = total_bytes([variable.aval])
        if results[size]:
            results[size] -= 1
        elif size:
            unusable.append((index, variable.aval))
    return unusable


def _explain_unusable(aval: ShapedArray, sizes: set[int]) -> str:
    size = total_bytes([aval])
    if size in sizes:
        return "other donated arguments serve all results of this size"
    return f"no result has this size, {size_text(size)}"
