"""jax's functions and calls as far as jaxlib and jax's public API show them: call counts and kernels."""

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
    """The runs of jax's programs (see :class:`~xlascope.inspect.running.runs.Runs`), found by function name."""

    def __init__(self, programs: Programs) -> None:
        self.unwatched = Unwatched(programs)
        self.dispatched: list[Dispatched] = []

    def hook(self) -> Hook | None:
        """Return the hook that is called for jax's calls."""
        return post_hooks.listening(_WHO)

    def set_hook(self, hook: Hook | None) -> None:
        """Install the hook in front of jax's own, which checks for NaNs."""
        post_hooks.listen(_WHO, hook)

    def key(self, function: Any) -> Any:
        """Return the function if ``jax.jit`` made it (it has a name), else None."""
        return function if hasattr(function, "__name__") and not hasattr(function, "_jitted") else None

    def programs(self, key: Any) -> Sequence[Running]:
        """Return the live programs with the function's name."""
        return running(self.unwatched.named(key.__name__, jax.devices()[0].client))

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Return the records of a program's kernels."""
        entry = self.unwatched.of_number(number)
        return () if entry is None else records_of(entry)

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Do nothing: records are stored with their programs."""

    def leaves(self, out: Any) -> list[Any]:
        """Flatten a result with jax's pytree registry."""
        return list(tree_util.tree_leaves(out))

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Return the labels of modules, which jax names by their functions alone."""
        return labels_of(self.unwatched.every())


def running(programs: Iterable[Known]) -> list[Running]:
    """Convert program entries to what the sampler expects."""
    return [Running(entry.number, entry.name, partial(_modules, entry)) for entry in programs]


def _modules(entry: Known) -> list[str]:
    return [executable.label for executable in entry.made]
