"""Programs of jax's functions, for every question that can be asked about a program."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

import jax
from jax import tree_util
from jax._src.interpreters import mlir

from xlascope.inspect import Host, Program, QuestionError, Source
from xlascope.inspect.producers import Asked
from xlascope.inspect.program import Variant
from xlascope.inspect.quiet import inspection

from .changes import changed
from .hosts import CallHost, KnownHost
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
        return None if known is None else _program(known, KnownHost(self._stages, known))

    def _call(self, asked: Asked, options: Mapping[str, Any] | None = None) -> Program:
        with inspection():
            lowered = _lowered(asked)
            known = self._stages.programs.of_module(lowered._lowering.stablehlo())
        if known is None:
            name = getattr(asked.function, "__name__", "the function")
            raise QuestionError(
                f"{name} was lowered by jax in a way that is not watched: ask about its StableHLO, as "
                "inspect.Program(lowered.as_text())"
            )
        return _program(known, CallHost(self._stages, known, asked, lowered, self._changed, options), options)

    def _changed(self, asked: Asked, change: Mapping[str, Any]) -> Variant:
        plan = changed(asked, change)
        with plan.setting:
            return Variant(self._call(plan.asked, plan.options), plan.words, plan.unmeasured)


def _program(known: Known, host: Host, options: Mapping[str, Any] | None = None) -> Program:
    def lowered(platform: str) -> Source:
        with inspection():
            return Source(_stablehlo(known, platform))

    flags = tuple((options or {}).items())
    return Program(lowered, traced_again(known), function=known.name, number=known.number, options=flags, host=host)


def _stablehlo(known: Known, platform: str) -> bytes:
    """The StableHLO of a program for a platform: lowered again, as jax itself did."""
    again = None if known.again is None else known.again(platform)
    if again is None:
        raise QuestionError(f"jax has dropped the trace of {known.name}: call it again, then ask")
    return bytes(mlir.module_to_bytecode(again.stablehlo()))


def _lowered(asked: Asked) -> Any:
    """Jax's own Lowered: libraries around jit (equinox, flax) hold it in one of theirs."""
    lowered = asked.function.lower(*asked.args, **asked.kwargs)
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
