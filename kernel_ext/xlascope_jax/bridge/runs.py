"""jax's functions and calls, for whoever watches programs run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from jax import tree_util

from xlascope import records
from xlascope.inspect.running.runs import Dispatched, Hook
from xlascope.inspect.running.runs import Known as Running
from xlascope.runtime import post_hooks

from .programs import Known, labels_of
from .stages import Stages, compiled_again, traced_again

_WHO = "jax"


class JaxRuns:
    """See :class:`~xlascope.inspect.running.runs.Runs`."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self.dispatched: list[Dispatched] = stages.dispatched

    def hook(self) -> Hook | None:
        """Who hears of calls on jax's behalf."""
        return post_hooks.listening(_WHO)

    def set_hook(self, hook: Hook | None) -> None:
        """In front of jax's own hook, which looks for NaNs."""
        post_hooks.listen(_WHO, hook)

    def is_mine(self, function: Any) -> bool:
        """Functions that ``jax.jit`` made."""
        return is_jitted(function)

    def programs(self, function: Any) -> Sequence[Running]:
        """What the function was traced to."""
        return [
            Running(each.number, each.name, partial(_modules, each))
            for each in self._stages.programs.of_function(function._fun)
        ]

    def records_of(self, number: int) -> Iterable[records.Record]:
        """What was told, or put together now."""
        known = self._stages.programs.of_number(number)
        if known is None:
            return
        traced = traced_again(known)
        if traced is not None:
            yield traced
        for made in known.made:
            yield compiled_again(known, made)

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Records are kept with their programs as it is."""

    def leaves(self, out: Any) -> list[Any]:
        """Flattened by jax's registry."""
        return list(tree_util.tree_leaves(out))

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Jax's modules are named by their functions alone."""
        return labels_of(list(self._stages.programs.every()))


def is_jitted(function: Any) -> bool:
    """Whether ``jax.jit`` made a function."""
    return hasattr(function, "_jit_info") and hasattr(function, "_fun")


def _modules(known: Known) -> list[str]:
    return [made.label for made in known.made]
