"""The places at which a program of jax passes on its way, and the records that are made there.

=================================  ====================================================================================
``pjit._trace_for_jit``            a jitted function is traced: why, at which line, how long it took
``pxla.lower_sharding_computation``  whose program is lowered next on this thread
``mlir.lower_jaxpr_to_module``     its equations get their names; what is lowered is what is drawn: ``Traced``,
                                   ``Lowered``
``compiler.compile_or_get_cached``  ``Compiled``
``MeshExecutable.__init__``        what is to be called holds its program: compiled ahead, it outlives its jaxpr
``ExecuteReplicated.__call__``     a call that came through Python (those that repeat in C++ are heard by the hook)
=================================  ====================================================================================

Each wrapper calls jax's own function with what it was given. What fails of ours is logged and reaches nobody.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from typing import Any

from jax._src import compiler, core, monitoring, pjit
from jax._src.interpreters import mlir, pxla

from xlascope import records
from xlascope.analysis.retrace_words import OUTSIDE
from xlascope.inspect.running.runs import Dispatched
from xlascope.ir.source_texts import excerpt, source_texts
from xlascope.records.watchers import watchers
from xlascope.xla.compilation.describe import describe_executable

from ..traits import traits_of
from .described import describe
from .lines import current_line, line_of_error
from .naming import named
from .patching import Patches
from .programs import Known, Made, Programs
from .reasons import Call, Reasons
from .telling import Telling

_log = logging.getLogger(__name__)

#: jax's event of a program that came from its cache on disk.
_HIT = "/jax/compilation_cache/cache_hits"
FROM_DISK = (
    "no source known: this program came from jax's compilation cache on disk, which is found without the names of "
    "equations and may bring those of another; ask for its fusions to compile it again and see"
)


class _Thread(threading.local):
    lowering: Known | None = None
    hits = 0
    past_the_disk = False


class Stages:
    """Watches the stages of jax's programs while it is installed."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.dispatched: list[Dispatched] = []
        self._reasons = Reasons()
        self._thread = _Thread()
        self._patches = Patches()
        self._telling = Telling()

    def install(self) -> None:
        """Stand in jax's places."""
        replace = self._patches.replace
        replace(pjit, "_trace_for_jit", self._tracing)
        replace(pxla, "lower_sharding_computation", self._preparing)
        replace(mlir, "lower_jaxpr_to_module", self._lowering)
        replace(compiler, "compile_or_get_cached", self._compiling)
        replace(pxla.MeshExecutable, "__init__", self._loading)
        replace(pxla.ExecuteReplicated, "__call__", self._executing)
        monitoring.register_event_listener(self._heard)

    def uninstall(self) -> None:
        """Leave jax as it was."""
        self._patches.undo()
        self._telling.close()
        monitoring.unregister_event_listener(self._heard)

    # Tracing -------------------------------------------------------------------------------------------------------

    def _tracing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def trace_for_jit(fun: Any, *rest: Any) -> Any:
            if not core.trace_state_clean():
                return original(fun, *rest)
            began, clock = time.time(), time.perf_counter()
            try:
                made = original(fun, *rest)
            except Exception as error:
                with _harmless():
                    self._failed(fun, began, error)
                raise
            with _harmless():
                self._traced(fun, rest, made, began, time.perf_counter() - clock)
            return made

        return trace_for_jit

    def _traced(self, fun: Any, rest: tuple[Any, ...], made: Any, began: float, seconds: float) -> None:
        jaxpr = made.params["jaxpr"].jaxpr
        known = self.programs.of_jaxpr(jaxpr)
        if known is None:
            known = Known(records.next_program(), made.params["name"], began, seconds, line=current_line())
            known.reason, known.fix, known.origin = self._reasons.of(fun, _call(rest, made))
            known = self.programs.add(jaxpr, known)
        self.programs.lead(fun, known)

    def _failed(self, fun: Any, began: float, error: Exception) -> None:
        if watchers:
            line = line_of_error(error)
            told = type(error).__name__, str(error), line, excerpt(line)
            name = getattr(fun, "__name__", type(fun).__name__)
            records.publish(records.Failure(records.next_program(), name, "trace", began, *told))

    # Lowering ------------------------------------------------------------------------------------------------------

    def _preparing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def lower_sharding_computation(closed_jaxpr: Any, api_name: str, fun_name: str, *rest: Any, **more: Any) -> Any:
            before = self._thread.lowering
            with _harmless():
                known = self._thread.lowering = self._known(closed_jaxpr.jaxpr, fun_name)
                known.again = known.again or _again(weakref.ref(closed_jaxpr), (api_name, fun_name, *rest), more)
            try:
                return original(closed_jaxpr, api_name, fun_name, *rest, **more)
            finally:
                self._thread.lowering = before

        return lower_sharding_computation

    def _known(self, jaxpr: Any, name: str) -> Known:
        found = self.programs.of_jaxpr(jaxpr)
        if found is None:  # a transformation made it, outside of any jitted function
            made = Known(
                records.next_program(), name, time.time(), reason=OUTSIDE, origin="operation", line=current_line()
            )
            found = self.programs.add(jaxpr, made)
        return found

    def _lowering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def lower_jaxpr_to_module(module_name: str, jaxpr: Any, *rest: Any, **more: Any) -> Any:
            known, given = self._thread.lowering, jaxpr
            with _harmless():
                known = known or self._known(jaxpr.jaxpr, module_name.removeprefix("jit_"))
                known.operands = _operands(jaxpr.jaxpr, more.get("num_const_args", -1), more.get("ordered_effects"))
                known.lowered = weakref.ref(jaxpr.jaxpr)
                given = named(jaxpr)
            began, clock = self._begin(known, "lower")
            try:
                made = original(module_name, given, *rest, **more)
            finally:
                with _harmless():
                    self._tell_traced(known, jaxpr.jaxpr)
            with _harmless():
                self._lowered(known, made.module, began, time.perf_counter() - clock)
            return made

        return lower_jaxpr_to_module

    def _tell_traced(self, known: Known | None, jaxpr: Any) -> None:
        """Not before it is lowered: while that goes on another thread would take Python's time, and none after it."""
        if watchers and known is not None and not known.told:
            known.told = True
            self._telling.tell(partial(traced_now, known, jaxpr))

    def _lowered(self, known: Known | None, module: Any, began: float, seconds: float) -> None:
        if known is None:
            return
        self.programs.lowered(module, known)
        if watchers:
            operations = sum(
                len(block.operations) for function in module.body.operations for block in _blocks(function)
            )
            self._tell(records.Lowered(known.number, known.name, began, seconds, operations))

    # Compiling -----------------------------------------------------------------------------------------------------

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def compile_or_get_cached(backend: Any, computation: Any, devices: Any, *rest: Any, **more: Any) -> Any:
            known = self.programs.of_module(computation)
            hits = self._thread.hits
            began, clock = self._begin(known, "compile")
            try:
                compiling = _past_the_disk if self._thread.past_the_disk else original
                executable = compiling(backend, computation, devices, *rest, **more)
            except Exception as error:
                if known is not None and watchers:
                    told = type(error).__name__, str(error), known.line
                    self._tell(records.Failure(known.number, known.name, "compile", began, *told))
                raise
            with _harmless():
                if known is not None:
                    seconds, loaded = time.perf_counter() - clock, self._thread.hits > hits
                    self._compiled(known, executable, tuple(devices.flat), began, seconds, loaded)
            return executable

        return compile_or_get_cached

    @contextmanager
    def past_the_disk(self) -> Iterator[None]:
        """A ``with`` block in which this thread compiles what jax would look for in its cache on disk."""
        self._thread.past_the_disk = True
        try:
            yield
        finally:
            self._thread.past_the_disk = False

    def _compiled(
        self, known: Known, executable: Any, devices: tuple[Any, ...], began: float, seconds: float, loaded: bool
    ) -> None:
        made = Made(executable, devices, began, seconds, loaded)
        self.programs.compiled(known, made)
        if watchers:
            self._telling.tell(partial(compiled_again, known, made))

    def _heard(self, event: str, **_: Any) -> None:
        if event == _HIT:
            self._thread.hits += 1

    def _loading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __init__(made: Any, xla_executable: Any, *rest: Any, **more: Any) -> None:  # noqa: N807
            original(made, xla_executable, *rest, **more)
            with _harmless():
                self.programs.loaded(made, xla_executable)

        return __init__

    # Running -------------------------------------------------------------------------------------------------------

    def _executing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __call__(execute: Any, *args: Any) -> Any:  # noqa: N807
            known = self.programs.of_executable(execute.xla_executable)
            self._begin(known, "run")
            out = original(execute, *args)
            if known is not None:
                for listener in tuple(self.dispatched):
                    with _harmless():
                        listener(known.number, out)
            return out

        return __call__

    def _tell(self, record: records.Record) -> None:
        """Behind what is not told yet."""
        self._telling.tell(lambda: record)

    def _begin(self, known: Known | None, stage: Any) -> tuple[float, float]:
        began = time.time()
        if known is not None and watchers:
            started = records.Started(known.number, known.name, stage, began)
            if stage == "run":
                records.publish(started)
            else:
                self._tell(started)
        return began, time.perf_counter()


_putting_together = threading.RLock()


def traced_again(known: Known) -> records.Traced | None:
    """The record of a program's trace; None where jax has dropped what was lowered before anybody watched."""
    jaxpr = known.lowered()
    return known.traced if jaxpr is None else traced_now(known, jaxpr)


def traced_now(known: Known, jaxpr: Any) -> records.Traced:
    """The record of a program's trace, put together once."""
    with _putting_together:
        if known.traced is None:
            known.traced = traced_record(known, jaxpr)
        return known.traced


def compiled_again(known: Known, made: Made) -> records.Compiled:
    """The record of an executable, put together once."""
    with _putting_together:
        if made.record is None:
            made.record = compiled_record(known, made)
        return made.record


def traced_record(known: Known, jaxpr: Any) -> records.Traced:
    """The record of a trace, of the program that is lowered."""
    described = describe(jaxpr, known.line)
    return records.Traced(
        program=known.number,
        function=known.name,
        time=known.began,
        seconds=known.seconds,
        jaxpr=described,
        text=jaxpr.pretty_print(use_color=False),
        reason=known.reason,
        call_site=known.line,
        sources=source_texts(described),
        fix=known.fix,
        origin=known.origin,
        traits=traits_of(each.operation for each in described.walk()),
    )


def compiled_record(known: Known, made: Made) -> records.Compiled:
    """The record of an executable."""
    found = describe_executable(
        made.executable,
        made.devices,
        known.number,
        known.name,
        made.began,
        made.seconds,
        "hit" if made.loaded else "miss",
        known.operands,
        None,
        made.label,
        (FROM_DISK,) if made.loaded else (),
        known.keeping.names,
    )
    return _without_paths(found) if made.loaded else found


def _without_paths(found: records.Compiled) -> records.Compiled:
    """Of what came from the disk names are another program's: nobody knows which equations its kernels are."""
    kernels = tuple(replace(each, equations=(), moves=(), unknown=each.instructions) for each in found.kernels)
    memory = found.memory
    if memory is not None:
        memory = replace(memory, buffers=tuple(replace(each, equations=()) for each in memory.buffers))
    return replace(found, kernels=kernels, memory=memory)


def _past_the_disk(
    backend: Any,
    computation: Any,
    devices: Any,
    compile_options: Any,
    host_callbacks: Any,
    executable_devices: Any,
    *_: Any,
    **__: Any,
) -> Any:
    """What jax does where it has no such cache; the setting is read once, at the first compilation."""
    return compiler.backend_compile_and_load(backend, computation, executable_devices, compile_options, host_callbacks)


def _call(rest: tuple[Any, ...], made: Any) -> Call:
    """What is to be compared with other calls of a function."""
    info, _, _, _, args, kwargs = rest
    parameters = list(getattr(info.fun_signature, "parameters", ()))
    numbers = [number % len(args) for number in info.static_argnums if -len(args) <= number < len(args)]
    static = {(parameters[n] if n < len(parameters) else f"argument {n}"): args[n] for n in numbers}
    static |= {name: kwargs[name] for name in info.static_argnames if name in kwargs}
    names = made.arg_names or tuple(f"argument {number}" for number in range(len(made.in_avals)))
    mesh = made.params.get("ctx_mesh")
    return Call(tuple(made.in_avals), tuple(names), made.in_tree, static, (mesh,), _arguments(info, args, numbers))


def _arguments(info: Any, args: tuple[Any, ...], static: Sequence[int]) -> tuple[str, ...]:
    """Return what each argument given by position that is not static is called."""
    parameters = getattr(info.fun_signature, "parameters", {}).values()
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    rest = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), "args")
    names += [f"{rest}[{i}]" for i in range(len(args) - len(names))]
    return tuple(name for i, name in enumerate(names[: len(args)]) if i not in static)


def _again(closed: Callable[[], Any], given: tuple[Any, ...], more: dict[str, Any]) -> Callable[[str], Any]:
    """What lowers a program again, for a platform, as long as jax keeps its jaxpr."""

    def again(platform: str) -> Any:
        jaxpr = closed()
        if jaxpr is None:
            return None
        return pxla.lower_sharding_computation(jaxpr, *given, **{**more, "lowering_platforms": (platform,)})

    return again


def _operands(jaxpr: Any, constants: int, tokens: Any) -> tuple[bool, ...] | None:
    """Which of a program's constants and inputs are operands: constants are, or they stand in the program's text."""
    if tokens or constants not in (0, len(jaxpr.constvars)):
        return None
    return (constants > 0,) * len(jaxpr.constvars) + (True,) * len(jaxpr.invars)


def _blocks(function: Any) -> Any:
    return (block for region in function.regions for block in region.blocks)


@contextmanager
def _harmless() -> Iterator[None]:
    """What fails inside is ours alone: it is logged, and the program goes on."""
    try:
        yield
    except Exception:
        _log.exception("watching a program of jax failed")
