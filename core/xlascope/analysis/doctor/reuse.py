"""Memory that could be used again: new values beside the old ones that they replace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...records import Finding, Measure, Variable
from ...records.traits import Trait
from ..figures import percent, size
from ..memory import live_bytes
from .evidence import Evidence, Level
from .rule import COUNT

#: Bytes that could be used again, and what part of the memory needed at most they have to be.
BYTES, PART = 16_000_000, 0.2
#: How many elementwise equations may lie between an old value and the new one.
DEPTH = 8
_PLAN = "XLA's plan of memory"


def not_donated(evidence: Evidence) -> Iterator[Finding]:
    """Arguments that are replaced by results of the same types, and keep their memory all the same."""
    compiled, level = evidence.compiled, evidence.levels[0]
    if compiled is None or compiled.memory is None or not compiled.memory.buffers:
        return
    if "input_output_alias" in compiled.hlo.partition("\n")[0]:
        return
    replaced = _replaced(level)
    saved = sum(each.bytes for each in replaced)
    needed = max(live_bytes(compiled.memory.buffers, len(compiled.kernels)), default=0)
    if len(replaced) < 2 or saved < BYTES or not needed or saved < PART * needed:
        return
    names = list(dict.fromkeys(re.split(r"[\[.]", each.label)[0] for each in replaced))
    told = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    yield Finding(
        "not donated",
        f"{told} ({size(saved)}) {'is' if len(names) == 1 else 'are'} replaced by results of the same types, which get "
        f"memory of their own: {percent(saved / needed)} of the {size(needed)} that a call needs",
        "if the old values are not used after the call, give their memory away: "
        f"jit(..., donate_argnames={tuple(names)!r})",
        saved / needed,
        0.0,
        evidence.traced.call_site,
        "",
        None,
        (Measure("bytes replaced", saved, "B", COUNT), Measure("bytes needed at most", needed, "B", _PLAN)),
        ("donate", *names),
    )


def _replaced(level: Level) -> list[Variable]:
    """The arguments of which a result of the same type is made, number by number, each with a result of its own."""
    free = [name for name in level.jaxpr.outputs if name in level.made]
    replaced = []
    for name in level.jaxpr.inputs:
        old = level.jaxpr.variables[name]
        new = next((each for each in free if _same_type(level, each, old) and _is_made_of(level, each, old)), None)
        if new is not None and old.label:
            free.remove(new)
            replaced.append(old)
    return replaced


def _same_type(level: Level, name: str, old: Variable) -> bool:
    new = level.jaxpr.variables[name]
    return (new.shape, new.dtype) == (old.shape, old.dtype)


def _is_made_of(level: Level, name: str, old: Variable) -> bool:
    """Whether a result is made of an old value by few elementwise equations, each with its shape."""
    looked = [name]
    for _ in range(DEPTH):
        made = [level.made[each] for each in looked if each in level.made]
        used = [each for each in made if level.traced.has(each, Trait.ELEMENTWISE) and each.role == "forward"]
        taken = [x for each in used for x in each.inputs]
        if old.name in taken:
            return True
        looked = [x for x in dict.fromkeys(taken) if x in level.made and _same_type(level, x, old)]
    return False
