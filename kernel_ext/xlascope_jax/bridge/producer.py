"""Programs of jax's functions, for every question that can be asked about a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import jax
from jax import tree_util
from jax._src.interpreters import mlir

from xlascope import records
from xlascope.inspect import ChangeError, Host, Program, QuestionError, Source
from xlascope.inspect.producers import Asked
from xlascope.inspect.program import Variant
from xlascope.inspect.quiet import inspection
from xlascope.inspect.running.measure import measure
from xlascope.xla.describe import device_name

from .ceilings import measure_ceilings
from .programs import Known, Made, labels_of
from .stages import Stages, compiled_again, traced_again

_NO_CALL = "of this program of jax no call is known now: ask about one, as in inspect.timings(f, x)"


#: One of XLA's options, as it is anyhow.
_OPTIONS_OF_ITS_OWN = {"xla_dump_hlo_as_text": False}


class JaxProducer:
    """Makes programs of calls of jax's functions: jitted ones, and others that compute with jax."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def program(self, asked: Asked) -> Program | None:
        """The program of a call; None where the function is not jax's."""
        function = _function_of(asked)
        if function is None:
            return None
        with inspection():
            lowered = _lowered(function, asked)
            known = self._stages.programs.of_module(lowered._lowering.stablehlo())
        if known is None:
            name = getattr(function, "__name__", "the function")
            raise QuestionError(
                f"{name} was lowered by jax in a way that is not watched: ask about its StableHLO, as "
                "inspect.Program(lowered.as_text())"
            )
        return self._program(known, CallHost(self._stages, known, function, asked, lowered))

    def find(self, number: int) -> Program | None:
        """The program of a number, while jax keeps its trace."""
        known = self._stages.programs.of_number(number)
        return None if known is None else self._program(known, KnownHost(self._stages, known))

    def _program(self, known: Known, host: Host) -> Program:
        def lowered(platform: str) -> Source:
            with inspection():
                return Source(_stablehlo(known, platform))

        return Program(lowered, traced_again(known), function=known.name, number=known.number, host=host)


def _stablehlo(known: Known, platform: str) -> bytes:
    """The StableHLO of a program for a platform: lowered again, as jax itself did."""
    again = None if known.again is None else known.again(platform)
    if again is None:
        raise QuestionError(f"jax has dropped the trace of {known.name}: call it again, then ask")
    return bytes(mlir.module_to_bytecode(again.stablehlo()))


def _lowered(function: Any, asked: Asked) -> Any:
    """Jax's own Lowered: libraries around jit (equinox, flax) hold it in one of theirs."""
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


class KnownHost(Host):
    """What this process can do with a program that was met: it knows what was compiled."""

    def __init__(self, stages: Stages, known: Known) -> None:
        super().__init__(known.kept)
        self.stages, self.known = stages, known

    def compiled(self) -> list[records.Record] | None:
        """What runs here; None where that is not known, or came from the disk without names."""
        made = self._made()
        return None if made is None else [compiled_again(self.known, made)]

    def _made(self) -> Made | None:
        return next((each for each in reversed(self.known.made) if not each.loaded), None)

    def running(self) -> str:
        """The optimized HLO of the first executable."""
        return str(self.known.made[0].executable.hlo_modules()[0].to_string()) if self.known.made else ""

    def check_callable(self) -> None:
        """No call is kept."""
        raise QuestionError(_NO_CALL)

    def unmeasured(self) -> str:
        """Arguments are not kept."""
        return _NO_CALL

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Jax's functions are jax's to change."""
        raise ChangeError("functions of jax cannot be changed from here yet; xlascope.jit's can")


class CallHost(KnownHost):
    """What this process can do with a call: compile and run it as its user does."""

    def __init__(self, stages: Stages, known: Known, function: Any, asked: Asked, lowered: Any) -> None:
        super().__init__(stages, known)
        self._function, self._asked, self._lowered = function, asked, lowered
        self._afresh: Any = None

    def compiled(self) -> list[records.Record] | None:
        """As the function itself runs it; what came from the disk is compiled again, to see."""
        with inspection():
            if self._made() is None:
                if any(each.loaded for each in self.known.made):
                    self._compile_afresh()
                else:
                    self._lowered.compile()
        return super().compiled()

    def _compile_afresh(self) -> None:
        """Without jax's cache on disk; what jax keeps in memory it finds by options, too, of which one says nothing."""
        before = jax.config.jax_enable_compilation_cache
        jax.config.update("jax_enable_compilation_cache", False)
        try:
            self._afresh = self._lowered.compile(_OPTIONS_OF_ITS_OWN)
        finally:
            jax.config.update("jax_enable_compilation_cache", before)

    def check_callable(self) -> None:
        """It is a call."""

    def unmeasured(self) -> str:
        """A call of types has no values to run with."""
        given = tree_util.tree_leaves((self._asked.args, self._asked.kwargs))
        shapes = any(isinstance(each, jax.ShapeDtypeStruct) for each in given)
        return "there are shapes and no values among the arguments" if shapes else ""

    def runner(self) -> Callable[[], None]:
        """The call itself; on copies where it reuses the memory of its arguments."""
        function, args, kwargs = self._called()
        donates = any(each.donated for each in tree_util.tree_leaves(self._lowered.args_info))

        def run() -> None:
            given = tree_util.tree_map(_copied, (args, kwargs)) if donates else (args, kwargs)
            jax.block_until_ready(function(*given[0], **given[1]))

        return run

    def _called(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """What is called, and with what: of a program that was compiled again that, which takes no static arguments."""
        _, args, kwargs = self._asked
        if self._afresh is None:
            return self._function, args, kwargs
        options = getattr(self._function, "_jit_info", None)
        static, names = (options.static_argnums, options.static_argnames) if options else ((), ())
        positions = {each % len(args) for each in static if args}
        dynamic = tuple(each for number, each in enumerate(args) if number not in positions)
        return self._afresh, dynamic, {name: each for name, each in kwargs.items() if name not in names}

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Inside profiler windows."""
        if reason := self.unmeasured():
            raise QuestionError(f"{self.known.name} cannot be run: {reason}")
        with inspection():
            run = self.runner()
            run()
            executed = measure(run, compiled, labels_of([self.known]))
            device = self.known.made[0].devices[0]
            found = measure_ceilings(device)
        told = executed.program, executed.function, found.time, device_name(device)
        return [executed, records.Ceilings(*told, found.flops, found.bytes_per_second, found.source)]

    def numbers(self) -> frozenset[int]:
        """Those of the function's traces."""
        function = getattr(self._function, "_fun", None)
        return frozenset(each.number for each in self.stages.programs.of_function(function))


def _copied(x: Any) -> Any:
    return jax.numpy.array(x, copy=True) if isinstance(x, jax.Array) else x
