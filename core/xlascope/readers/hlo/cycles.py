"""Cycle estimates that the TPU compiler writes into optimized HLO."""

from __future__ import annotations

import re

from ..format_error import FormatError
from .kernels import iter_executed
from .text import Module

_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')


def read_estimated_cycles(module: Module) -> dict[str, int]:
    """Return the compiler's cycle estimate for one run of each kernel, by kernel name; copies have none.

    Raises FormatError where there are fusions, and none has an estimate.

    >>> from .text import read_module
    >>> text = '''HloModule f
    ... ENTRY %main (x: f32[4]) -> f32[4] {
    ...   %x = f32[4]{0} parameter(0)
    ...   ROOT %log.1 = f32[4]{0} log(%x), backend_config={"window_config":{"estimated_cycles":"1826"}}
    ... }'''
    >>> read_estimated_cycles(read_module(text))
    {'log.1': 1826}
    """
    matches = ((instruction.name, _CYCLES.search(instruction.attributes)) for _, instruction in iter_executed(module))
    cycles = {name: int(match[1]) for name, match in matches if match}
    if not cycles and any(instruction.opcode == "fusion" for _, instruction in iter_executed(module)):
        raise FormatError(
            "a TPU's HLO text", 'expected "estimated_cycles" in the backend_config of fusions, found none'
        )
    return cycles
