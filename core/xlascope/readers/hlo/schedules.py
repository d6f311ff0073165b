"""Execution order of the kernels of each computation.

Kernels of the entry computation run exactly once in every call.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_COMPUTATION = re.compile(r"^(ENTRY )?%?[^\s=]+ \([^\n]*\{$(.*?)^\}", re.MULTILINE | re.DOTALL)
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([^\s=]+) = ", re.MULTILINE)

#: The kernels of a module, computation by computation, the entry first.
Schedules = tuple[tuple[str, ...], ...]


def read_schedules(text: str, kernels: Collection[str]) -> Schedules:
    """Return the kernels of each computation in the order they run.

    The entry computation comes first, also where it has none of ``kernels``; others that have none are left out. The
    result is empty for text without an entry. ``text`` is ``executable.hlo_modules()[0].to_string()``, ``kernels``
    are the names of the instructions that count.

    >>> read_schedules('''HloModule jit_f
    ... %body (y: f32[4]) -> f32[4] {
    ...   ROOT %cos.2 = f32[4]{0} cosine(%y)
    ... }
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %sin.1 = f32[4]{0} sine(%x)
    ... }''', {"cos.2", "sin.1"})
    (('sin.1',), ('cos.2',))
    """
    bodies: list[tuple[str, ...]] = []
    entry: tuple[str, ...] | None = None
    for is_entry, body in _COMPUTATION.findall(text):
        names = tuple(name for name in _INSTRUCTION.findall(body) if name in kernels)
        if is_entry:
            entry = names
        elif names:
            bodies.append(names)
    return () if entry is None else (entry, *bodies)
