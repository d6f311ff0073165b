"""What a TPU's compiler writes beside the instructions of its optimized HLO."""

from __future__ import annotations

import re

from ..format_error import FormatError
from .kernels import running
from .text import Module

_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')


def estimated_cycles(module: Module) -> dict[str, int]:
    """The compiler's estimate of the cycles that a run of each kernel takes, by the kernel's name; not for copies.

    Raises FormatError where there are fusions, and none has an estimate.

    >>> from .text import read_module
    >>> text = '''HloModule f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %log.1 = f32[4]{0} log(%x), backend_config={"window_config":{"estimated_cycles":"1826"}}
    ... }'''
    >>> estimated_cycles(read_module(text))
    {'log.1': 1826}
    """
    found = ((each.name, _CYCLES.search(each.attributes)) for _, each in running(module))
    cycles = {name: int(match[1]) for name, match in found if match}
    if not cycles and any(each.opcode == "fusion" for _, each in running(module)):
        raise FormatError(
            "a TPU's HLO text", 'expected "estimated_cycles" in the backend_config of fusions, found none'
        )
    return cycles
