"""Cost analysis of programs with loops: XLA's estimates count the body of a loop once, however often it runs.

XLA's estimates for a loop's body, analyzed as a program by itself, are added for all steps but one, where the
compiler knows the trip count: in ``scan``, in ``fori_loop`` between known bounds, and where repeats became loops.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxlib import _hlo, _jax

from ...readers.hlo.text import Computation, Module, read_module

_TIMES = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_HEAD = re.compile(r"^(HloModule [^\s,]+).*$", re.MULTILINE)
#: Matches a computation in a module's text, from its first line to the closing bracket, with its name.
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([^\s(]+) .*\{\s*\n(?:.*\n)*?\}", re.MULTILINE)
_STACK_FRAME = re.compile(r" stack_frame_id=\d+")
_NAME = re.compile(r"%([^\s,(){}=]+)")


class CostOfLoops(NamedTuple):
    """Estimates for a module, and how many of its loops have an unknown trip count."""

    cost: dict[str, float]
    unknown_loops: int


def with_all_steps(cost: Mapping[str, float], text: str, client: Any) -> CostOfLoops:
    """Return the estimates for a module of that text, counting each step of its loops; ``cost`` are XLA's.

    A loop with an unknown trip count is counted once.
    """
    if " while(" not in text:
        return CostOfLoops(dict(cost), 0)
    costs = _Costs(text, client)
    return CostOfLoops(costs.whole(costs.module.entry, cost), costs.unknown)


class _Costs:
    def __init__(self, text: str, client: Any) -> None:
        self.client = client
        self.module: Module = read_module(text)
        loops = (
            instruction
            for computation in self.module.computations.values()
            for instruction in computation.instructions.values()
            if instruction.opcode == "while"
        )
        self.unknown = sum(_TIMES.search(instruction.attributes) is None for instruction in loops)
        self._head = _HEAD.search(text)
        without_frames = _STACK_FRAME.sub("", text)  # they refer to a table that a part of the text lacks
        self._texts = {match[1]: match[0] for match in _COMPUTATION.finditer(without_frames)}
        self._known: dict[str, dict[str, float]] = {}

    def whole(self, computation: Computation, cost: Mapping[str, float]) -> dict[str, float]:
        """Return the estimates of a computation with all steps; ``cost`` are XLA's."""
        total = dict(cost)
        for name, times in self._held(computation):
            body = self.module.computations[name]
            once = self._alone(name)
            full = self.whole(body, once)
            for key in total.keys() & once.keys():
                total[key] += times * full[key] - once[key]
        return total

    def _held(self, computation: Computation) -> Iterator[tuple[str, int]]:
        """Yield the computations that one runs, and how often each counts; those without known loops are left out."""
        for instruction in computation.instructions.values():
            if instruction.opcode not in ("while", "call", "conditional"):
                continue
            match = _TIMES.search(instruction.attributes) if instruction.opcode == "while" else None
            times = 1 if match is None else int(match[1])
            for name in instruction.called:
                if name in self.module.computations and (times != 1 or self._has_loops(name)):
                    yield name, times

    def _has_loops(self, name: str) -> bool:
        return any(True for _ in self._held(self.module.computations[name]))

    def _alone(self, name: str) -> dict[str, float]:
        """Return XLA's estimates for a computation analyzed as a program."""
        if name not in self._known:
            assert self._head is not None
            required = self._needed(name)
            parts = [text for key, text in self._texts.items() if key in required and key != name]
            entry = self._texts[name].removeprefix("ENTRY ")
            text = "\n\n".join([self._head[1], *(part.removeprefix("ENTRY ") for part in parts), f"ENTRY {entry}", ""])
            self._known[name] = dict(_jax.hlo_module_cost_analysis(self.client, _hlo.hlo_module_from_text(text)))
        return self._known[name]

    def _needed(self, name: str) -> set[str]:
        """Return the computations that the text of one refers to, directly or indirectly."""
        reached, pending = {name}, [name]
        while pending:
            new = self._named(pending.pop()) - reached
            reached |= new
            pending += new
        return reached

    @functools.cache  # noqa: B019  (lives as long as the estimates are made)
    def _named(self, name: str) -> frozenset[str]:
        return frozenset(_NAME.findall(self._texts[name])) & self._texts.keys()
