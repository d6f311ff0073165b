"""Warning for donated arguments whose memory no result can reuse."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...trace.source import user_line, where_text
from ...xla.arrays.failures import argument_name, size_text
from ...xla.arrays.room import bytes_of

#: Maximum number of arguments that one warning names.
MAX_NAMED = 8

#: Maximum number of warnings that are remembered, so that they are not repeated.
MAX_REMEMBERED = 1_000
#: Registry for ``warnings``, like the ``__warningregistry__`` of a module.
_already_warned: dict[Any, Any] = {}


def warn_of_unusable_donations(program: ClosedJaxpr, donated: Sequence[bool]) -> None:
    """Warn, once per line, about donated arguments whose memory XLA cannot give to a result.

    XLA gives a result the memory of a donated argument of the same size. Arguments that the program does not use
    are dropped before, and need no memory in it.
    """
    unusable = unusable_donations(program, donated)
    if not unusable:
        return
    if len(_already_warned) > MAX_REMEMBERED:
        _already_warned.clear()
    line, jaxpr = user_line(), program.jaxpr
    sizes = {bytes_of([aval]) for aval in program.out_avals}
    listed = [
        f"{argument_name(jaxpr, index)}: {aval.str_short()} ({_reason(aval, sizes)})"
        for index, aval in unusable[:MAX_NAMED]
    ]
    if len(unusable) > MAX_NAMED:
        listed.append(f"and {len(unusable) - MAX_NAMED:,} more")
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
    """Return number and type of each donated argument that the program uses and whose memory no result can reuse."""
    if not any(donated):
        return []
    results = Counter(bytes_of([aval]) for aval in program.out_avals)
    jaxpr = program.jaxpr
    used: set[Any] = set(jaxpr.outvars)
    for raw in jaxpr.raw:
        used.update(raw[1])
    unusable = []
    for index, (variable, is_donated) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if not is_donated or variable not in used:
            continue
        size = bytes_of([variable.aval])
        if results[size]:
            results[size] -= 1
        elif size:
            unusable.append((index, variable.aval))
    return unusable


def _reason(aval: ShapedArray, sizes: set[int]) -> str:
    size = bytes_of([aval])
    if size in sizes:
        return "other donated arguments serve all results of this size"
    return f"no result has this size, {size_text(size)}"
