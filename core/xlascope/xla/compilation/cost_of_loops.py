"""XLA's estimates for a program with loops: it counts what is in a loop once, however often that runs.

So what XLA estimates for a loop's body, taken for a program by itself, is added for the steps but one, where the
compiler knows how many steps there are: in ``scan``, in ``fori_loop`` between known bounds, and where repeats became
loops.
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
#: A computation of a module's text, from its first line to the bracket that closes it, with its name.
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([^\s(]+) .*\{\s*\n(?:.*\n)*?\}", re.MULTILINE)
_STACK_FRAME = re.compile(r" stack_frame_id=\d+")
_NAME = re.compile(r"%([^\s,(){}=]+)")


class CostOfLoops(NamedTuple):
    """The estimates for a module, and how many of its loops have a number of steps that nobody knows."""

    cost: dict[str, float]
    unknown_loops: int


def with_all_steps(cost: Mapping[str, float], text: str, client: Any) -> CostOfLoops:
    """Return the estimates for a module of that text, each step of its loops counted; ``cost`` are XLA's.

    A loop whose number of steps is not known is counted once.
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
            each
            for computation in self.module.computations.values()
            for each in computation.instructions.values()
            if each.opcode == "while"
        )
        self.unknown = sum(_TIMES.search(each.attributes) is None for each in loops)
        self._head = _HEAD.search(text)
        without_frames = _STACK_FRAME.sub("", text)  # they stand in a table that a part of the text has not
        self._texts = {match[1]: match[0] for match in _COMPUTATION.finditer(without_frames)}
        self._known: dict[str, dict[str, float]] = {}

    def whole(self, computation: Computation, cost: Mapping[str, float]) -> dict[str, float]:
        """The estimates of a computation, of which XLA's are ``cost``."""
        found = dict(cost)
        for name, times in self._held(computation):
            body = self.module.computations[name]
            once = self._alone(name)
            whole = self.whole(body, once)
            for key in found.keys() & once.keys():
                found[key] += times * whole[key] - once[key]
        return found

    def _held(self, computation: Computation) -> Iterator[tuple[str, int]]:
        """The computations that one runs, and how often each counts; those without known loops are left out."""
        for each in computation.instructions.values():
            if each.opcode not in ("while", "call", "conditional"):
                continue
            found = _TIMES.search(each.attributes) if each.opcode == "while" else None
            times = 1 if found is None else int(found[1])
            for name in each.called:
                if name in self.module.computations and (times != 1 or self._has_loops(name)):
                    yield name, times

    def _has_loops(self, name: str) -> bool:
        return any(True for _ in self._held(self.module.computations[name]))

    def _alone(self, name: str) -> dict[str, float]:
        """XLA's estimates for a computation, as if it were the program."""
        if name not in self._known:
            assert self._head is not None
            needed = self._needed(name)
            parts = [text for each, text in self._texts.items() if each in needed and each != name]
            entry = self._texts[name].removeprefix("ENTRY ")
            text = "\n\n".join([self._head[1], *(part.removeprefix("ENTRY ") for part in parts), f"ENTRY {entry}", ""])
            self._known[name] = dict(_jax.hlo_module_cost_analysis(self.client, _hlo.hlo_module_from_text(text)))
        return self._known[name]

    def _needed(self, name: str) -> set[str]:
        """The computations whose names stand in the text of one, and in theirs."""
        needed, waiting = {name}, [name]
        while waiting:
            new = self._named(waiting.pop()) - needed
            needed |= new
            waiting += new
        return needed

    @functools.cache  # noqa: B019  (lives as long as the estimates are made)
    def _named(self, name: str) -> frozenset[str]:
        return frozenset(_NAME.findall(self._texts[name])) & self._texts.keys()
