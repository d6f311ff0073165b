"""XLA's estimates for a program in which repeats became loops: it counts what is in a loop once, however often it runs.

So what XLA estimates for a loop's body, taken for a program by itself, is added for the repeats but one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jaxlib import _hlo, _jax

from ..readers.hlo.text import Computation, Module, read_module
from ..records.op_names import REPEATS

_TIMES = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_HEAD = re.compile(r"^(HloModule [^\s,]+).*$", re.MULTILINE)


def with_repeats(cost: Mapping[str, float], text: str, client: Any) -> dict[str, float]:
    """The estimates for a module of that text, each repeat counted; ``cost`` are XLA's."""
    costs = _Costs(text, client)
    return costs.whole(costs.module.entry, cost)


class _Costs:
    def __init__(self, text: str, client: Any) -> None:
        self.text, self.client = text, client
        self.module: Module = read_module(text)

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
        """The computations that one runs, and how often each counts; those without loops of ours are left out."""
        for each in computation.instructions.values():
            if each.opcode not in ("while", "call", "conditional"):
                continue
            found = _TIMES.search(each.attributes)
            ours = each.opcode == "while" and each.op_name.endswith(REPEATS) and found is not None
            for name in each.called:
                times = int(found[1]) if ours and found is not None else 1
                if name in self.module.computations and (times > 1 or self._has_repeats(name)):
                    yield name, times

    def _has_repeats(self, name: str) -> bool:
        return any(True for _ in self._held(self.module.computations[name]))

    def _alone(self, name: str) -> dict[str, float]:
        """XLA's estimates for a computation, as if it were the program."""
        text = _HEAD.sub(r"\1", self.text, count=1)
        text = re.sub(r"^ENTRY (?=%)", "", text, flags=re.MULTILINE)
        text = re.sub(rf"^(?=%{re.escape(name)} )", "ENTRY ", text, flags=re.MULTILINE)
        return dict(_jax.hlo_module_cost_analysis(self.client, _hlo.hlo_module_from_text(text)))
