"""Programs of jax's functions, for every question that can be asked about a program."""

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
    """Makes programs of calls of jax's functions: jitted ones, and others that compute with jax."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def program(self, asked: Asked) -> Program | None:
        """The program of a call; None where the function is not jax's."""
        function = _function_of(asked)
        return None if function is None else self._call(asked._replace(function=function))

    def find(self, number: int) -> Program | None:
        """The program of a number, while jax keeps its trace."""
        known = self._stages.programs.of_number(number)
        return None if known is None else _program(known, KnownHost(self._stages, known, partial(self._kept, known)))

    def _call(self, asked: Asked, options: Mapping[str, Any] = MappingProxyType({}), *, keep: bool = False) -> Program:
        with inspection():
            lowered = _lowered(asked)
            known = self._stages.programs.of_module(lowered._lowering.stablehlo())
        if known is None:
            name = getattr(asked.function, "__name__", "the function")
            raise QuestionError(
                f"{name} was lowered by jax in a way that is not watched: ask about its StableHLO, as "
                "inspect.Program(lowered.as_text())"
            )
        apart = keep or bool(options)
        if apart:
            lowered = copy.copy(lowered)
            known, lowered._lowering = lowered_apart(
                self._stages.programs, known, lowered._lowering, options, keep=keep
            )
        change = partial(self._changed, asked)
        return _program(known, CallHost(self._stages, known, asked, lowered, change, apart=apart))

    def _changed(self, asked: Asked, change: Mapping[str, Any]) -> Variant:
        plan = changed(asked, change)
        with plan.setting:
            return Variant(self._call(plan.asked, plan.options, keep=plan.keep), plan.words, plan.unmeasured)

    def _kept(self, known: Known, change: Mapping[str, Any]) -> Variant:
        words = kept(change, NO_CALL)
        made, lowering = lowered_apart(self._stages.programs, known, _lowered_again(known, "cpu"), {}, keep=True)
        return Variant(_program(made, KnownHost(self._stages, made, partial(self._kept, known), lowering)), words)


def _program(known: Known, host: Host) -> Program:
    def lowered(platform: str) -> Source:
        with inspection():
            stablehlo = bytes(mlir.module_to_bytecode(_lowered_again(known, platform).stablehlo()))
        keeping = known.keeping if platform == "cpu" else Kept()
        options = ((LEFT_OUT, ",".join(keeping.passes)),) if keeping.passes else ()
        return Source(stablehlo, options=options, kept_values=keeping.values)

    traced = traced_again(known)
    return Program(lowered, traced, function=known.name, number=known.number, options=known.options, host=host)


def _lowered_again(known: Known, platform: str) -> Any:
    """A program lowered for a platform, as jax itself did."""
    again = None if known.again is None else known.again(platform)
    if again is None:
        raise QuestionError(f"jax has dropped the trace of {known.name}: call it again, then ask")
    return again


def _lowered(asked: Asked) -> Any:
    """Jax's own Lowered: libraries around jit (equinox, flax) hold it in one of theirs."""
    function: Any = asked.function
    lowered = function.lower(*asked.args, **asked.kwargs)
    while not isinstance(lowered, jax.stages.Lowered):
        lowered = lowered.lowered
    return lowered


def _function_of(asked: Asked) -> Any:
    """What is asked about, as something that can be lowered; None where the call is nothing of jax's."""
    function = asked.function
    if hasattr(function, "lower") and not hasattr(function, "_jitted"):
        return function
    given = tree_util.tree_leaves((asked.args, asked.kwargs))
    if any(isinstance(each, jax.Array) and _is_of_jax(getattr(each, "aval", None)) for each in given):
        return jax.jit(function)
    return jax.jit(function) if _computes_with_jax(function) else None


def _is_of_jax(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def _computes_with_jax(function: Any) -> bool:
    """Whether a function names jax, or a module of it, and nothing of our engine."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not isinstance(function, FunctionType):
        return False
    named = {function.__globals__.get(name) for name in function.__code__.co_names if _is_plain(name, function)}
    modules = {each.__name__.partition(".")[0] for each in named if isinstance(each, ModuleType)}
    return "jax" in modules and "xlascope" not in modules


def _is_plain(name: str, function: FunctionType) -> bool:
    return isinstance(function.__globals__.get(name), ModuleType)
