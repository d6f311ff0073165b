"""Programs of jax's functions, for every question of `xlascope.inspect`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from jax import tree_util
from jax._src.interpreters import mlir

from xlascope.inspect import Host, Program, QuestionError, Source
from xlascope.inspect.inspection_scope import inspection
from xlascope.inspect.producers import Query
from xlascope.inspect.program import Variant
from xlascope.inspect.written_call import WrittenCall
from xlascope.xla.materialization import DISABLED_PASSES_OPTION, Materialization

from .changes import apply_change, describe_keep_change
from .detached import lower_detached
from .functions import lowerable_function
from .hosts import NO_CALL, JaxCallHost, JaxProgramHost, copy_array, lower_call
from .programs import ProgramEntry
from .stage_hooks import StageHooks, get_traced_record


class JaxProducer:
    """Producer of programs from calls of jax's functions: jitted ones, and others that compute with jax."""

    def __init__(self, stages: StageHooks) -> None:
        self._stages = stages

    def program(self, query: Query) -> Program | None:
        """Return the program of a call, or None if the function is not jax's."""
        function = lowerable_function(query)
        return None if function is None else self._program_of_call(query._replace(function=function))

    def find(self, number: int) -> Program | None:
        """Return the program of a number, as long as jax keeps its trace."""
        entry = self._stages.programs.of_number(number)
        return (
            None
            if entry is None
            else _make_program(entry, JaxProgramHost(self._stages, entry, partial(self._make_keep_variant, entry)))
        )

    def written_call(self, query: Query) -> WrittenCall | Literal["jitted"] | None:
        """Return the call as its user wrote it, that its function is jitted, or None if it is not jax's."""
        function = lowerable_function(query)
        if function is None or function is query.function:
            return None if function is None else "jitted"
        return WrittenCall(*query, tree_util.tree_map, tree_util.tree_leaves, copy_array)

    def _program_of_call(
        self, query: Query, options: Mapping[str, Any] = MappingProxyType({}), *, keep: bool = False
    ) -> Program:
        """Lower a call and return its program; with ``options`` or ``keep``, one that is detached from the function.

        ``options`` are XLA flags, ``keep`` says whether to materialize values.
        """
        with inspection():
            lowered = lower_call(query)
            entry = self._stages.programs.of_module(lowered._lowering.stablehlo())
        if entry is None:
            name = getattr(query.function, "__name__", "the function")
            raise QuestionError(
                f"{name} was lowered by jax in a way that is not watched: ask about its StableHLO, as "
                "inspect.Program(lowered.as_text())"
            )
        detached = keep or bool(options)
        if detached:
            lowered = copy.copy(lowered)
            entry, lowered._lowering = lower_detached(
                self._stages.programs, entry, lowered._lowering, options, keep=keep
            )
        make_variant = partial(self._make_variant, query)
        return _make_program(entry, JaxCallHost(self._stages, entry, query, lowered, make_variant, detached=detached))

    def _make_variant(self, query: Query, change: Mapping[str, Any]) -> Variant:
        """Return the program of a call with one thing changed; see :func:`xlascope.inspect.what_if` for ``change``."""
        changed_call = apply_change(query, change)
        with changed_call.setting:
            return Variant(
                self._program_of_call(changed_call.query, changed_call.options, keep=changed_call.keep),
                changed_call.description,
                changed_call.unmeasured_reason,
            )

    def _make_keep_variant(self, entry: ProgramEntry, change: Mapping[str, Any]) -> Variant:
        """Return a copy of a program in which values are materialized: the only change possible without its call.

        ``change`` is as in :func:`xlascope.inspect.what_if`; another change raises ChangeError.
        """
        description = describe_keep_change(change, NO_CALL)
        detached, lowering = lower_detached(self._stages.programs, entry, _relower(entry, "cpu"), {}, keep=True)
        return Variant(
            _make_program(
                detached, JaxProgramHost(self._stages, detached, partial(self._make_keep_variant, entry), lowering)
            ),
            description,
        )


def _make_program(entry: ProgramEntry, host: Host) -> Program:
    """Return an entry of the registry as a program for inspections, lowered by jax for each platform on demand."""

    def lower(platform: str) -> Source:
        with inspection():
            stablehlo = bytes(mlir.module_to_bytecode(_relower(entry, platform).stablehlo()))
        materialized = entry.materialized if platform == "cpu" else Materialization()
        options = (
            ((DISABLED_PASSES_OPTION, ",".join(materialized.disabled_passes)),) if materialized.disabled_passes else ()
        )
        return Source(stablehlo, options=options, kept_values=materialized.values)

    traced = get_traced_record(entry)
    return Program(lower, traced, function=entry.name, number=entry.number, options=entry.options, host=host)


def _relower(entry: ProgramEntry, platform: str) -> Any:
    """Lower a program for a platform with jax and return jax's lowering; raise QuestionError if its trace is gone."""
    lowering = None if entry.relower is None else entry.relower(platform)
    if lowering is None:
        raise QuestionError(f"jax has dropped the trace of {entry.name}: call it again, then ask")
    return lowering
