"""Programs of jax's functions, for every question of `xlascope.inspect`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import jax
from jax import tree_util
from jax._src.interpreters import mlir

from xlascope.inspect import Host, Program, QuestionError, Source
from xlascope.inspect.producers import Asked
from xlascope.inspect.program import Variant
from xlascope.inspect.quiet import inspection
from xlascope.xla.keeping import LEFT_OUT, Kept

from .apart import lowered_apart
from .changes import changed, kept
from .hosts import NO_CALL, CallHost, KnownHost
from .programs import Known
from .stages import Stages, traced_again


class JaxProducer:
    """The producer of programs from calls of jax's functions: jitted ones, and others that compute with jax."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def program(self, query: Asked) -> Program | None:
        """Return the program of a call, or None if the function is not jax's."""
        function = _function_of(query)
        return None if function is None else self._call(query._replace(function=function))

    def find(self, number: int) -> Program | None:
        """Return the program of a number, as long as jax keeps its trace."""
        entry = self._stages.programs.of_number(number)
        return None if entry is None else _program(entry, KnownHost(self._stages, entry, partial(self._kept, entry)))

    def _call(self, query: Asked, options: Mapping[str, Any] = MappingProxyType({}), *, keep: bool = False) -> Program:
        with inspection():
            lowered = _lowered(query)
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
            entry, lowered._lowering = lowered_apart(
                self._stages.programs, entry, lowered._lowering, options, keep=keep
            )
        make_variant = partial(self._changed, query)
        return _program(entry, CallHost(self._stages, entry, query, lowered, make_variant, apart=detached))

    def _changed(self, query: Asked, change: Mapping[str, Any]) -> Variant:
        changed_call = changed(query, change)
        with changed_call.setting:
            return Variant(
                self._call(changed_call.asked, changed_call.options, keep=changed_call.keep),
                changed_call.words,
                changed_call.unmeasured,
            )

    def _kept(self, entry: Known, change: Mapping[str, Any]) -> Variant:
        description = kept(change, NO_CALL)
        detached, lowering = lowered_apart(self._stages.programs, entry, _lowered_again(entry, "cpu"), {}, keep=True)
        return Variant(
            _program(detached, KnownHost(self._stages, detached, partial(self._kept, entry), lowering)), description
        )


def _program(entry: Known, host: Host) -> Program:
    def lower(platform: str) -> Source:
        with inspection():
            stablehlo = bytes(mlir.module_to_bytecode(_lowered_again(entry, platform).stablehlo()))
        materialized = entry.keeping if platform == "cpu" else Kept()
        options = ((LEFT_OUT, ",".join(materialized.passes)),) if materialized.passes else ()
        return Source(stablehlo, options=options, kept_values=materialized.values)

    traced = traced_again(entry)
    return Program(lower, traced, function=entry.name, number=entry.number, options=entry.options, host=host)


def _lowered_again(entry: Known, platform: str) -> Any:
    """Lower a program for a platform with jax; raise QuestionError if its trace is gone."""
    lowering = None if entry.again is None else entry.again(platform)
    if lowering is None:
        raise QuestionError(f"jax has dropped the trace of {entry.name}: call it again, then ask")
    return lowering


def _lowered(query: Asked) -> Any:
    """Lower a call, and return jax's own Lowered, which libraries such as equinox and flax wrap in their own."""
    function: Any = query.function
    lowered = function.lower(*query.args, **query.kwargs)
    while not isinstance(lowered, jax.stages.Lowered):
        lowered = lowered.lowered
    return lowered


def _function_of(query: Asked) -> Any:
    """Return the function of a call as something that can be lowered, or None if it is not jax's."""
    function = query.function
    if hasattr(function, "lower") and not hasattr(function, "_jitted"):
        return function
    leaves = tree_util.tree_leaves((query.args, query.kwargs))
    if any(isinstance(leaf, jax.Array) and _is_of_jax(getattr(leaf, "aval", None)) for leaf in leaves):
        return jax.jit(function)
    return jax.jit(function) if _computes_with_jax(function) else None


def _is_of_jax(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def _computes_with_jax(function: Any) -> bool:
    """Return whether a function refers to jax or one of its modules, and not to xlascope."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not isinstance(function, FunctionType):
        return False
    global_modules = {
        function.__globals__.get(name) for name in function.__code__.co_names if _is_plain(name, function)
    }
    modules = {module.__name__.partition(".")[0] for module in global_modules if isinstance(module, ModuleType)}
    return "jax" in modules and "xlascope" not in modules


def _is_plain(name: str, function: FunctionType) -> bool:
    return isinstance(function.__globals__.get(name), ModuleType)
