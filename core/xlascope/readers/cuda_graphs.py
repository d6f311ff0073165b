"""Matching of the kernels in a CUDA graph with the instructions they execute.

The profiler reports the kernels of a graph by the names of their functions, and gives all of them the graph's
name as ``hlo_op`` (``command_buffer_1``). A graph runs a contiguous part of one computation in schedule
order. A function that XLA generated is named after a fusion: its own, or another one of the same form,
because equal functions are shared. Kernels of libraries have names of their own. So the generated kernels are
matched by the stems of their names, in order, and the kernels of libraries by their position between these.
Ambiguous kernels keep the graph's name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .hlo.schedules import Schedules
from .profile_events import Event

_NUMBER_SUFFIX = re.compile(r"(?:[._]\d+)+$")
_NON_WORD = re.compile(r"\W")
#: Name of a memset in a device's profile; products issue one before they accumulate partial sums.
_MEMSET_PREFIX = "Memset"


def attribute_launches(events: Iterable[Event], schedules: Schedules) -> None:
    """Set ``kernel`` of events in CUDA graphs to the HLO instruction that they execute, where it is unambiguous.

    ``events`` are those of one module, ``schedules`` its kernels
    (:func:`~xlascope.readers.hlo.schedules.read_schedules`).
    """
    launches: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        if event.in_graph and event.launch:
            launches[event.device, event.launch].append(event)
    generated = {name_stem(event.function) for launch in launches.values() for event in launch}
    generated &= {name_stem(name) for schedule in schedules for name in schedule}
    matched: dict[tuple[str, ...], Sequence[str | None]] = {}
    for launch in launches.values():
        functions = tuple(event.function for event in launch)
        if functions not in matched:
            in_order = len({event.stream for event in launch}) == 1
            matched[functions] = match_kernels(functions if in_order else (), schedules, generated)
        for event, instruction in zip(launch, matched[functions], strict=False):
            event.kernel = instruction or event.kernel


def name_stem(name: str) -> str:
    """Return the common stem of the names of an instruction and its kernel.

    >>> name_stem("loop_add_fusion.7"), name_stem("loop_add_fusion_12"), name_stem("custom-call")
    ('loop_add_fusion', 'loop_add_fusion', 'custom_call')
    """
    return _NON_WORD.sub("_", _NUMBER_SUFFIX.sub("", name))


def match_kernels(functions: Sequence[str], schedules: Schedules, generated: set[str]) -> Sequence[str | None]:
    """Return the instruction of each kernel of a CUDA graph, in execution order; None where it is ambiguous.

    ``generated`` are the stems of functions that XLA generated. ``functions`` are the names of the kernels'
    functions, ``schedules`` the instructions of each computation.

    >>> match_kernels(["sm90_gemm", "add_1", "sm90_gemm"], [["dot.3", "add.1", "dot.4"]], {"add"})
    ['dot.3', 'add.1', 'dot.4']
    """
    possible = [placement for schedule in schedules for placement in _iter_placements(functions, schedule, generated)]
    return possible[0] if len(possible) == 1 else [None] * len(functions)


def _iter_placements(
    functions: Sequence[str], schedule: Sequence[str], generated: set[str]
) -> Iterator[list[str | None]]:
    """Yield each assignment of the kernels to instructions in which the graph is a contiguous part of a computation.

    ``schedule`` are the computation's instructions in order, ``generated`` the stems of functions that XLA generated.
    An assignment has an instruction, or None, for each of ``functions``.
    """
    stems = [name_stem(name) for name in schedule]
    anchors = [index for index, stem in enumerate(stems) if stem in generated]
    ran = [index for index, name in enumerate(functions) if name_stem(name) in generated]
    sequence = [name_stem(functions[index]) for index in ran]
    if not ran:
        if not anchors and len(functions) == len(schedule):
            yield list(schedule)
        return
    for first in range(len(anchors) - len(ran) + 1):
        candidate = anchors[first : first + len(ran)]
        if [stems[index] for index in candidate] == sequence:
            before = anchors[first - 1] if first else -1
            after = anchors[first + len(ran)] if first + len(ran) < len(anchors) else len(schedule)
            yield _fill_between(functions, schedule, [-1, *ran, len(functions)], [before, *candidate, after])


def _group_library_calls(functions: Sequence[str], indices: Iterable[int]) -> list[list[int]]:
    """Group consecutive kernels of libraries by the library call that launched them.

    ``functions`` are the names of all kernels of a graph; ``indices`` selects the kernels to group, in order. Each
    group is a list of such indices: memsets, and the kernel that follows them.
    """
    calls: list[list[int]] = [[]]
    for index in indices:
        calls[-1].append(index)
        if not functions[index].startswith(_MEMSET_PREFIX):
            calls.append([])
    return [call for call in calls if call]


def _fill_between(
    functions: Sequence[str], schedule: Sequence[str], ran: Sequence[int], placed: Sequence[int]
) -> list[str | None]:
    """Return the instruction of each kernel of a graph, given those of its generated kernels; None if ambiguous.

    ``ran`` are the indices of the generated kernels in ``functions``, ``placed`` the positions of their instructions
    in ``schedule``; both have a sentinel at either end. Library kernels are assigned by their position between these.
    """
    assigned: list[str | None] = [None] * len(functions)
    for index, instruction in zip(ran[1:-1], placed[1:-1], strict=True):
        assigned[index] = schedule[instruction]
    for number in range(len(ran) - 1):
        calls = _group_library_calls(functions, range(ran[number] + 1, ran[number + 1]))
        instructions = schedule[placed[number] + 1 : placed[number + 1]]
        if len(instructions) == 1:
            instructions = [*instructions] * len(calls)
        if len(instructions) == len(calls):
            for kernels, name in zip(calls, instructions, strict=True):
                for index in kernels:
                    assigned[index] = name
    return assigned
