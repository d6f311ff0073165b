"""jax's functions and calls as far as jaxlib and jax's public API show them: call counts and kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
from jax import tree_util

from xlascope import records
from xlascope.inspect.running.engines import ArgumentHolder, CallHook, DispatchListener
from xlascope.inspect.running.engines import WatchedProgram as Running
from xlascope.runtime import post_hooks

from .live_executables import LiveExecutables, records_of
from .programs import ProgramEntry, ProgramRegistry, module_labels

_HOOK_OWNER = "jax"


class KernelRuns:
    """Execution engine of jax's programs, of which only names and kernels are known.

    It uses only jaxlib and jax's public API; see :class:`~xlascope.inspect.running.engines.ExecutionEngine`.
    """

    def __init__(self, programs: ProgramRegistry) -> None:
        self.live_executables = LiveExecutables(programs)
        self.dispatched: list[DispatchListener] = []

    def hook(self) -> CallHook | None:
        """Return the hook that is called for jax's calls."""
        return post_hooks.get_hook(_HOOK_OWNER)

    def set_hook(self, hook: CallHook | None) -> None:
        """Install the hook in front of jax's own, which checks for NaNs."""
        post_hooks.set_hook(_HOOK_OWNER, hook)

    def key(self, function: Any) -> Any:
        """Return the function if ``jax.jit`` made it (it has a name), else None."""
        return function if hasattr(function, "__name__") and not hasattr(function, "_jitted") else None

    def is_operation(self, key: Any) -> bool:
        """Return whether jax itself defines the function that has this key."""
        return str(getattr(key, "__module__", "")).startswith("jax.")

    def programs(self, key: Any) -> Sequence[Running]:
        """Return the live programs that have the function's name."""
        return as_running_programs(self.live_executables.programs_named(key.__name__, jax.devices()[0].client))

    def find_program(self, key: Any, arguments: Any) -> int | None:
        """Return None: it is not known which program a call found in jax's cache."""
        return None

    def argument_types(self, key: Any) -> Mapping[int, Mapping[Any, Any]]:
        """Return nothing: which arguments a program was traced for is not known."""
        return {}

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Return the records of the program with a number, a trace without equations and its kernels, if known."""
        entry = self.live_executables.of_number(number)
        return () if entry is None else records_of(entry)

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Do nothing: records are stored with their programs."""

    def leaves(self, out: Any) -> list[Any]:
        """Flatten a result with jax's pytree registry."""
        return list(tree_util.tree_leaves(out))

    def argument_holder(self) -> ArgumentHolder | None:
        """Return None: the values of these programs are not known, so no arguments are held."""
        return None

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Return the labels of modules, which jax names by their functions alone."""
        return module_labels(self.live_executables.all_programs())


def as_running_programs(programs: Iterable[ProgramEntry]) -> list[Running]:
    """Return program entries as the sampler's programs: number, name, and the labels of their modules."""
    return [Running(entry.number, entry.name, partial(_module_labels, entry)) for entry in programs]


def _module_labels(entry: ProgramEntry) -> list[str]:
    return [executable.label for executable in entry.executables]
