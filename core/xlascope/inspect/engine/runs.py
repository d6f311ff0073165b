"""Our engine's functions and calls, for whoever watches them run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from ... import records, tree
from ...control.jit.telling import dispatched
from ...control.jit.traces import kept_calls
from ...ir.jaxpr import ClosedJaxpr
from ...runtime.boot import post_hook, watch_calls
from ..running.runs import Dispatched, Hook, Known
from .calls import executables_of, jitted_of, known_records, remember, traces_of

#: Our modules have names that are unique in the process.
_NO_LABELS: Mapping[tuple[str, int], str] = MappingProxyType({})


class EngineRuns:
    """See :class:`~xlascope.inspect.running.runs.Runs`."""

    dispatched: list[Dispatched] = dispatched

    def hook(self) -> Hook | None:
        """What jaxlib calls after each call, by the state that is ours."""
        found: Hook | None = post_hook.get_global()
        return found

    def set_hook(self, hook: Hook | None) -> None:
        """Beside jax its own hook is called as well."""
        watch_calls(hook)

    def key(self, function: Any) -> Any:
        """A function that our ``jit`` made."""
        return None if jitted_of(function) is None else function

    def programs(self, key: Any) -> Sequence[Known]:
        """The function's traces."""
        return [Known(each.number, each.program.name, partial(_modules, each.program)) for each in traces_of(key)]

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Put together again from what the function keeps."""
        traced = next((traced for *_, traced in kept_calls() if traced.number == number), None)
        return () if traced is None else known_records(traced)

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """With the program, for as long as that lives."""
        remember(record)

    def leaves(self, out: Any) -> list[Any]:
        """Flattened by our registry."""
        return tree.leaves(out)

    def labels(self) -> Mapping[tuple[str, int], str]:
        """None are needed."""
        return _NO_LABELS


def _modules(program: ClosedJaxpr) -> tuple[str, ...]:
    return tuple(each.compilation.executable.hlo_modules()[0].name for each in executables_of(program))
