"""jax's functions and calls as far as jaxlib and jax's public names tell of them: which run how often, and kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
from jax import tree_util

from xlascope import records
from xlascope.inspect.running.runs import Dispatched, Hook
from xlascope.inspect.running.runs import Known as Running
from xlascope.runtime import post_hooks

from .programs import Known, Programs, labels_of
from .unwatched import Unwatched, records_of

_WHO = "jax"


class KernelRuns:
    """See :class:`~xlascope.inspect.running.runs.Runs`: of each function the programs that are alive under its name."""

    def __init__(self, programs: Programs) -> None:
        self.unwatched = Unwatched(programs)
        self.dispatched: list[Dispatched] = []

    def hook(self) -> Hook | None:
        """Who hears of calls on jax's behalf."""
        return post_hooks.listening(_WHO)

    def set_hook(self, hook: Hook | None) -> None:
        """In front of jax's own hook, which looks for NaNs."""
        post_hooks.listen(_WHO, hook)

    def key(self, function: Any) -> Any:
        """A function that ``jax.jit`` made: it has a name."""
        return function if hasattr(function, "__name__") and not hasattr(function, "_jitted") else None

    def programs(self, key: Any) -> Sequence[Running]:
        """What is alive under the function's name."""
        return running(self.unwatched.named(key.__name__, jax.devices()[0].client))

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Its kernels."""
        known = self.unwatched.of_number(number)
        return () if known is None else records_of(known)

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Records are kept with their programs as it is."""

    def leaves(self, out: Any) -> list[Any]:
        """Flattened by jax's registry."""
        return list(tree_util.tree_leaves(out))

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Jax's modules are named by their functions alone."""
        return labels_of(self.unwatched.every())


def running(programs: Iterable[Known]) -> list[Running]:
    """Programs as whoever watches them run knows them."""
    return [Running(each.number, each.name, partial(_modules, each)) for each in programs]


def _modules(known: Known) -> list[str]:
    return [made.label for made in known.made]
