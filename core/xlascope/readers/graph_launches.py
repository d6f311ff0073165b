"""Kernels that XLA launched together, as a CUDA graph: which instruction each of them is.

The profiler tells the kernels of a graph by the names of their functions, and gives all of them the graph's name as
``hlo_op`` (``command_buffer_1``). A graph runs a stretch of one computation in the order of its schedule. A function
that XLA generated is named after a fusion: its own, or another one of the same form, since equal functions are shared.
Kernels of libraries have names of their own. So the generated kernels are matched by the stems of their names, in
order, and the kernels of libraries by where they stand between these. What is ambiguous keeps the graph's name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .hlo.entry import Schedules
from .profile_events import Event

_NUMBERS = re.compile(r"(?:[._]\d+)+$")
_NO_WORD = re.compile(r"\W")
#: How a device's profile names memory that is set, as products do before they add parts of a sum.
_MEMSET = "Memset"


def attribute_launches(events: Iterable[Event], schedules: Schedules) -> None:
    """Set the instruction as ``kernel`` of those events of one module that ran in CUDA graphs, where it is certain."""
    launches: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        if event.in_graph and event.launch:
            launches[event.device, event.launch].append(event)
    generated = {stem_of(event.function) for launch in launches.values() for event in launch}
    generated &= {stem_of(name) for schedule in schedules for name in schedule}
    matched: dict[tuple[str, ...], Sequence[str | None]] = {}
    for launch in launches.values():
        functions = tuple(event.function for event in launch)
        if functions not in matched:
            in_order = len({event.stream for event in launch}) == 1
            matched[functions] = match_kernels(functions if in_order else (), schedules, generated)
        for event, instruction in zip(launch, matched[functions], strict=False):
            event.kernel = instruction or event.kernel


def stem_of(name: str) -> str:
    """Return what the names of an instruction and of its kernel have in common.

    >>> stem_of("loop_add_fusion.7"), stem_of("loop_add_fusion_12"), stem_of("custom-call")
    ('loop_add_fusion', 'loop_add_fusion', 'custom_call')
    """
    return _NO_WORD.sub("_", _NUMBERS.sub("", name))


def match_kernels(functions: Sequence[str], schedules: Schedules, generated: set[str]) -> Sequence[str | None]:
    """Return the instruction of each kernel of a graph, in the order they ran; None where it is not certain.

    ``generated`` are the stems of functions that XLA generated.

    >>> match_kernels(["sm90_gemm", "add_1", "sm90_gemm"], [["dot.3", "add.1", "dot.4"]], {"add"})
    ['dot.3', 'add.1', 'dot.4']
    """
    possible = [found for schedule in schedules for found in _placements(functions, schedule, generated)]
    return possible[0] if len(possible) == 1 else [None] * len(functions)


def _placements(functions: Sequence[str], schedule: Sequence[str], generated: set[str]) -> Iterator[list[str | None]]:
    """Generate each way in which a graph can be a stretch of a computation."""
    stems = [stem_of(name) for name in schedule]
    anchors = [place for place, stem in enumerate(stems) if stem in generated]
    ran = [place for place, name in enumerate(functions) if stem_of(name) in generated]
    sequence = [stem_of(functions[place]) for place in ran]
    if not ran:
        if not anchors and len(functions) == len(schedule):
            yield list(schedule)
        return
    for first in range(len(anchors) - len(ran) + 1):
        chosen = anchors[first : first + len(ran)]
        if [stems[place] for place in chosen] == sequence:
            before = anchors[first - 1] if first else -1
            after = anchors[first + len(ran)] if first + len(ran) < len(anchors) else len(schedule)
            yield _between(functions, schedule, [-1, *ran, len(functions)], [before, *chosen, after])


def _library_calls(functions: Sequence[str], places: Iterable[int]) -> list[list[int]]:
    """Return the kernels of libraries call by call: a memory that is set belongs to the kernel that follows."""
    calls: list[list[int]] = [[]]
    for place in places:
        calls[-1].append(place)
        if not functions[place].startswith(_MEMSET):
            calls.append([])
    return [each for each in calls if each]


def _between(
    functions: Sequence[str], schedule: Sequence[str], ran: Sequence[int], chosen: Sequence[int]
) -> list[str | None]:
    """Return the instructions where generated kernels ``ran`` are ``chosen``; both have an end on either side."""
    found: list[str | None] = [None] * len(functions)
    for place, instruction in zip(ran[1:-1], chosen[1:-1], strict=True):
        found[place] = schedule[instruction]
    for number in range(len(ran) - 1):
        calls = _library_calls(functions, range(ran[number] + 1, ran[number + 1]))
        instructions = schedule[chosen[number] + 1 : chosen[number + 1]]
        if len(instructions) == 1:
            instructions = [*instructions] * len(calls)
        if len(instructions) == len(calls):
            for kernels, name in zip(calls, instructions, strict=True):
                for place in kernels:
                    found[place] = name
    return found
