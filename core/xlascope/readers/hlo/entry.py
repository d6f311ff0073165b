"""What stands in a module's entry computation: each of its kernels runs exactly once in every call."""

from __future__ import annotations

import re

_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([^\s=]+) = ", re.MULTILINE)


def entry_names(text: str) -> frozenset[str]:
    """The names of the instructions of the entry computation, from ``executable.hlo_modules()[0].to_string()``.

    Empty for text without one: of such a program nobody knows what every call runs.

    >>> sorted(entry_names('''HloModule jit_f
    ... %body (y: f32[4]) -> f32[4] {
    ...   ROOT %cos.2 = f32[4]{0} cosine(%y)
    ... }
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %sin.1 = f32[4]{0} sine(%x)
    ... }'''))
    ['sin.1', 'x']
    """
    _, found, rest = text.partition("\nENTRY ")
    return frozenset(_INSTRUCTION.findall(rest.partition("\n}")[0])) if found else frozenset()
