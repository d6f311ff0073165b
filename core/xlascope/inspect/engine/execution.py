"""Functions and calls of xlascope's engine, for the sampler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from ... import records, tree
from ...control.jit.events import dispatch_listeners
from ...control.jit.retrace_reasons import is_of_library
from ...control.jit.trace_cache import iterate_traces
from ...control.jit.trace_signature import TraceSignature
from ...ir.jaxpr import ClosedJaxpr
from ..running.engines import CallHook, DispatchListener, WatchedProgram
from ..running.program_reader import ArgumentPath, ArgumentStep, static_value, steps_of, type_of
from .call_hooks import sampler_hook, set_sampler_hook
from .held_arguments import EngineArgumentHolder
from .traced_calls import cache_record, executables_of, jitted_of, rebuild_records, signatures_of, traces_of

#: Names of xlascope's modules are unique in the process.
_NO_LABELS: Mapping[tuple[str, int], str] = MappingProxyType({})


class JitExecutionEngine:
    """Execution engine of functions of ``jit``; see :class:`~xlascope.inspect.running.engines.ExecutionEngine`."""

    dispatched: list[DispatchListener] = dispatch_listeners

    def hook(self) -> CallHook | None:
        """Return the function that jaxlib calls after each jitted call (xlascope's global state), or None."""
        return sampler_hook()

    def set_hook(self, hook: CallHook | None) -> None:
        """Set the hook; a hook of jax in the same process is called as well."""
        set_sampler_hook(hook)

    def key(self, function: Any) -> Any:
        """Return a function that xlascope's ``jit`` created as its own key, None for others."""
        return None if jitted_of(function) is None else function

    def is_operation(self, key: Any) -> bool:
        """Return whether a function, which is its own key, is one of xlascope's."""
        jitted = jitted_of(key)
        return jitted is not None and is_of_library(jitted.function)

    def programs(self, key: Any) -> Sequence[WatchedProgram]:
        """Return the traces of a function, which is its own key, as programs."""
        return [
            WatchedProgram(traced.number, traced.program.name, partial(_modules, traced.program))
            for traced in traces_of(key)
        ]

    def find_program(self, key: Any, arguments: Any) -> int | None:
        """Return the number of the trace that a call has found in the cache."""
        jitted = jitted_of(key)
        traced = None if jitted is None else jitted.find_trace(*arguments)
        return None if traced is None else traced.number

    def argument_types(self, key: Any) -> dict[int, dict[ArgumentPath, Any]]:
        """Return the types of the arguments of a function's traces, by number and path."""
        return {traced.number: _types_of(signature) for signature, traced in signatures_of(key)}

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Return the records of the program with a number, rebuilt from its function's caches; none if it is gone."""
        traced = next((traced for *_, traced in iterate_traces() if traced.number == number), None)
        return () if traced is None else rebuild_records(traced)

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Cache the record with the program, for as long as that lives."""
        cache_record(record)

    def leaves(self, out: Any) -> list[Any]:
        """Flatten the results with xlascope's registry."""
        return tree.leaves(out)

    def argument_holder(self) -> EngineArgumentHolder:
        """Return a new holder of the arguments of the latest calls."""
        return EngineArgumentHolder()

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Return no labels, because none are needed."""
        return _NO_LABELS


def _types_of(signature: TraceSignature) -> dict[ArgumentPath, Any]:
    """Return the types of a call's arguments by path: of its operands, and the values of static arguments."""
    structure, avals, positional, named, _ = signature
    try:
        leaves = tree.leaves_with_path(structure.unflatten(range(len(avals))))
    except Exception:  # of a container of the user's, which takes no numbers in place of arrays
        leaves = []
    types: dict[ArgumentPath, Any] = {}
    for keys, number in leaves:
        path = steps_of(keys)
        if path is not None:
            types[path] = type_of(avals[number])
    types |= {(ArgumentStep(0), ArgumentStep(number)): static_value(static.value) for number, static in positional}
    return types | {(ArgumentStep(1), ArgumentStep(name)): static_value(static.value) for name, static in named}


def _modules(program: ClosedJaxpr) -> tuple[str, ...]:
    return tuple(executable.compilation.executable.hlo_modules()[0].name for executable in executables_of(program))
