"""Rule for arguments whose memory could be reused by results (donation)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...records import Finding, Measure, Variable
from ...records.traits import Trait
from ..formatting import percent, size
from ..memory import live_bytes
from .evidence import Evidence, Level
from .rule import COUNT

#: Minimum number of reusable bytes, and minimum fraction of the peak memory.
MIN_SAVED_BYTES, MIN_SAVED_SHARE = 16_000_000, 0.2
#: Maximum number of elementwise equations between the old value and the new one.
MAX_CHAIN_LENGTH = 8
_MEMORY_SOURCE = "XLA's plan of memory"


def find_missing_donation(evidence: Evidence) -> Iterator[Finding]:
    """Find arguments that are replaced by results of the same types without being donated."""
    compiled, level = evidence.compiled, evidence.levels[0]
    if compiled is None or compiled.memory is None or not compiled.memory.buffers:
        return
    if "input_output_alias" in compiled.hlo.partition("\n")[0]:
        return
    replaced = _find_replaced_arguments(level)
    saved = sum(variable.bytes for variable in replaced)
    needed = max(live_bytes(compiled.memory.buffers, len(compiled.kernels)), default=0)
    if len(replaced) < 2 or saved < MIN_SAVED_BYTES or not needed or saved < MIN_SAVED_SHARE * needed:
        return
    names = list(dict.fromkeys(re.split(r"[\[.]", variable.label)[0] for variable in replaced))
    text = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    yield Finding(
        "not donated",
        f"{text} ({size(saved)}) {'is' if len(names) == 1 else 'are'} replaced by results of the same types, which get "
        f"memory of their own: {percent(saved / needed)} of the {size(needed)} that a call needs",
        "if the old values are not used after the call, give their memory away: "
        f"jit(..., donate_argnames={tuple(names)!r})",
        saved / needed,
        0.0,
        evidence.traced.call_site,
        "",
        None,
        (Measure("bytes replaced", saved, "B", COUNT), Measure("bytes needed at most", needed, "B", _MEMORY_SOURCE)),
        ("donate", *names),
    )


def _find_replaced_arguments(level: Level) -> list[Variable]:
    """Return the arguments that a result of the same type is derived from; each result counts for one argument."""
    free = [name for name in level.jaxpr.outputs if name in level.producers]
    replaced = []
    for name in level.jaxpr.inputs:
        old = level.jaxpr.variables[name]
        new = next(
            (result for result in free if _same_type(level, result, old) and _derives_from(level, result, old)), None
        )
        if new is not None and old.label:
            free.remove(new)
            replaced.append(old)
    return replaced


def _same_type(level: Level, name: str, old: Variable) -> bool:
    new = level.jaxpr.variables[name]
    return (new.shape, new.dtype) == (old.shape, old.dtype)


def _derives_from(level: Level, name: str, old: Variable) -> bool:
    """Return whether a result is derived from an old value by a few elementwise equations of the same shape.

    ``name`` is the variable of the result, ``old`` the variable of an argument.
    """
    frontier = [name]
    for _ in range(MAX_CHAIN_LENGTH):
        producers = [level.producers[item] for item in frontier if item in level.producers]
        used = [item for item in producers if level.traced.has(item, Trait.ELEMENTWISE) and item.role == "forward"]
        operands = [x for item in used for x in item.inputs]
        if old.name in operands:
            return True
        frontier = [x for x in dict.fromkeys(operands) if x in level.producers and _same_type(level, x, old)]
    return False
