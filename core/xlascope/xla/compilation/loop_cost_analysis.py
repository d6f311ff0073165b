"""Cost analysis of programs with loops: XLA's estimates count the body of a loop once, however often it runs.

XLA's estimates for a loop's body, analyzed as a program by itself, are added for all steps but one, where the
compiler knows the trip count: in ``scan``, in ``fori_loop`` between known bounds, and where repeats became loops.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxlib import _hlo, _jax

from ... import readers

if TYPE_CHECKING:
    from ...readers.hlo.text import Computation, Module

_TRIP_COUNT_PATTERN = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_HEADER_PATTERN = re.compile(r"^(HloModule [^\s,]+).*$", re.MULTILINE)
#: Matches a computation in a module's text, from its first line to the closing bracket, with its name.
_COMPUTATION_PATTERN = re.compile(r"^(?:ENTRY )?%?([^\s(]+) .*\{\s*\n(?:.*\n)*?\}", re.MULTILINE)
_STACK_FRAME_PATTERN = re.compile(r" stack_frame_id=\d+")
_NAME_PATTERN = re.compile(r"%([^\s,(){}=]+)")


class LoopCost(NamedTuple):
    """Cost estimates for a module, by XLA's names, and how many of its loops have an unknown trip count."""

    cost: dict[str, float]
    unknown_loops: int


def count_all_steps(cost: Mapping[str, float], text: str, client: Any) -> LoopCost:
    """Return the cost estimates for a module with each iteration of its loops counted.

    ``cost`` are XLA's estimates, which count the body of a loop once; ``text`` is the module's optimized HLO;
    ``client`` is the client whose cost analysis is asked about the bodies. A loop with an unknown trip count is
    counted once.
    """
    if " while(" not in text:
        return LoopCost(dict(cost), 0)
    costs = _CostAnalysis(text, client)
    return LoopCost(costs.total_cost(costs.module.entry, cost), costs.unknown)


class _CostAnalysis:
    """Cost analysis of one module, which analyzes the computations of loops as programs and caches their estimates.

    ``unknown`` is the number of loops with an unknown trip count.
    """

    def __init__(self, text: str, client: Any) -> None:
        self.client = client
        self.module: Module = readers.hlo.read_module(text)
        loops = (
            instruction
            for computation in self.module.computations.values()
            for instruction in computation.instructions.values()
            if instruction.opcode == "while"
        )
        self.unknown = sum(_TRIP_COUNT_PATTERN.search(instruction.attributes) is None for instruction in loops)
        self._head = _HEADER_PATTERN.search(text)
        without_frames = _STACK_FRAME_PATTERN.sub("", text)  # they refer to a table that a part of the text lacks
        self._texts = {match[1]: match[0] for match in _COMPUTATION_PATTERN.finditer(without_frames)}
        self._cached_costs: dict[str, dict[str, float]] = {}

    def total_cost(self, computation: Computation, cost: Mapping[str, float]) -> dict[str, float]:
        """Return the estimates for a computation with each iteration of its loops counted.

        ``cost`` are XLA's estimates for it, which count the body of a loop once.
        """
        total = dict(cost)
        for name, times in self._called_computations(computation):
            body = self.module.computations[name]
            once = self._standalone_cost(name)
            full = self.total_cost(body, once)
            for key in total.keys() & once.keys():
                total[key] += times * full[key] - once[key]
        return total

    def _called_computations(self, computation: Computation) -> Iterator[tuple[str, int]]:
        """Yield the name of each computation that one calls and whose estimates have to change, with its trip count.

        These are bodies of loops with a known trip count, and computations that contain such loops, which count once.
        """
        for instruction in computation.instructions.values():
            if instruction.opcode not in ("while", "call", "conditional"):
                continue
            match = _TRIP_COUNT_PATTERN.search(instruction.attributes) if instruction.opcode == "while" else None
            times = 1 if match is None else int(match[1])
            for name in instruction.called:
                if name in self.module.computations and (times != 1 or self._has_known_loops(name)):
                    yield name, times

    def _has_known_loops(self, name: str) -> bool:
        return any(True for _ in self._called_computations(self.module.computations[name]))

    def _standalone_cost(self, name: str) -> dict[str, float]:
        """Return XLA's estimates for the computation of that name, by XLA's names (``flops``).

        The computation is analyzed once, as a program of its own with all computations that it calls.
        """
        if name not in self._cached_costs:
            assert self._head is not None
            required = self._transitive_callees(name)
            parts = [text for key, text in self._texts.items() if key in required and key != name]
            entry = self._texts[name].removeprefix("ENTRY ")
            text = "\n\n".join([self._head[1], *(part.removeprefix("ENTRY ") for part in parts), f"ENTRY {entry}", ""])
            self._cached_costs[name] = dict(_jax.hlo_module_cost_analysis(self.client, _hlo.hlo_module_from_text(text)))
        return self._cached_costs[name]

    def _transitive_callees(self, name: str) -> set[str]:
        """Return the names of the computations that the one of that name refers to, directly or not, and its own."""
        reached, pending = {name}, [name]
        while pending:
            new = self._referenced_computations(pending.pop()) - reached
            reached |= new
            pending += new
        return reached

    @functools.cache  # noqa: B019  (lives as long as the estimates are made)
    def _referenced_computations(self, name: str) -> frozenset[str]:
        return frozenset(_NAME_PATTERN.findall(self._texts[name])) & self._texts.keys()
