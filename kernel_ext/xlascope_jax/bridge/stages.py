"""Hooks at the stages that a jax program passes through, and the records made there.

=================================  ====================================================================================
``pjit._trace_for_jit``            a jitted function is traced: why, at which line, how long it took
``pxla.lower_sharding_computation``  which program this thread lowers next
``mlir.lower_jaxpr_to_module``     equations are named; the lowered jaxpr is described: ``Traced``, ``Lowered``
``compiler.compile_or_get_cached``  ``Compiled``
``MeshExecutable.__init__``        the callable keeps its program alive: compiled ahead, it outlives its jaxpr
``ExecuteReplicated.__call__``     a call through Python (repeated calls in C++ are reported by the post hook)
=================================  ====================================================================================

Each wrapper calls jax's own function with the same arguments. Exceptions in our code are logged and never
propagate to the user.
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

#: jax's monitoring event for a hit in its disk cache.
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
    """The hooks at the stages of jax's programs, active while installed."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.dispatched: list[Dispatched] = []
        self._reasons = Reasons()
        self._thread = _Thread()
        self._patches = Patches()
        self._telling = Telling()

    def install(self) -> None:
        """Replace jax's functions by wrappers."""
        patch = self._patches.replace
        patch(pjit, "_trace_for_jit", self._tracing)
        patch(pxla, "lower_sharding_computation", self._preparing)
        patch(mlir, "lower_jaxpr_to_module", self._lowering)
        patch(compiler, "compile_or_get_cached", self._compiling)
        patch(pxla.MeshExecutable, "__init__", self._loading)
        patch(pxla.ExecuteReplicated, "__call__", self._executing)
        monitoring.register_event_listener(self._heard)

    def uninstall(self) -> None:
        """Restore jax's functions."""
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
                result = original(fun, *rest)
            except Exception as error:
                with _harmless():
                    self._failed(fun, began, error)
                raise
            with _harmless():
                self._traced(fun, rest, result, began, time.perf_counter() - clock)
            return result

        return trace_for_jit

    def _traced(
        self, fun: Any, trace_arguments: tuple[Any, ...], trace_result: Any, began: float, seconds: float
    ) -> None:
        jaxpr = trace_result.params["jaxpr"].jaxpr
        entry = self.programs.of_jaxpr(jaxpr)
        if entry is None:
            entry = Known(records.next_program(), trace_result.params["name"], began, seconds, line=current_line())
            entry.reason, entry.fix, entry.origin = self._reasons.of(fun, _call(trace_arguments, trace_result))
            entry = self.programs.add(jaxpr, entry)
        self.programs.lead(fun, entry)

    def _failed(self, fun: Any, began: float, error: Exception) -> None:
        if watchers:
            line = line_of_error(error)
            details = type(error).__name__, str(error), line, excerpt(line)
            name = getattr(fun, "__name__", type(fun).__name__)
            records.publish(records.Failure(records.next_program(), name, "trace", began, *details))

    # Lowering ------------------------------------------------------------------------------------------------------

    def _preparing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def lower_sharding_computation(closed_jaxpr: Any, api_name: str, fun_name: str, *rest: Any, **more: Any) -> Any:
            before = self._thread.lowering
            with _harmless():
                entry = self._thread.lowering = self._known(closed_jaxpr.jaxpr, fun_name)
                entry.again = entry.again or _again(weakref.ref(closed_jaxpr), (api_name, fun_name, *rest), more)
            try:
                return original(closed_jaxpr, api_name, fun_name, *rest, **more)
            finally:
                self._thread.lowering = before

        return lower_sharding_computation

    def _known(self, jaxpr: Any, name: str) -> Known:
        entry = self.programs.of_jaxpr(jaxpr)
        if entry is None:  # made by a transformation outside of any jitted function
            candidate = Known(
                records.next_program(), name, time.time(), reason=OUTSIDE, origin="operation", line=current_line()
            )
            entry = self.programs.add(jaxpr, candidate)
        return entry

    def _lowering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def lower_jaxpr_to_module(module_name: str, jaxpr: Any, *rest: Any, **more: Any) -> Any:
            entry, named_jaxpr = self._thread.lowering, jaxpr
            with _harmless():
                entry = entry or self._known(jaxpr.jaxpr, module_name.removeprefix("jit_"))
                entry.operands = _operands(jaxpr.jaxpr, more.get("num_const_args", -1), more.get("ordered_effects"))
                entry.lowered = weakref.ref(jaxpr.jaxpr)
                named_jaxpr = named(jaxpr)
            began, clock = self._begin(entry, "lower")
            try:
                result = original(module_name, named_jaxpr, *rest, **more)
            finally:
                with _harmless():
                    self._tell_traced(entry, jaxpr.jaxpr)
            with _harmless():
                self._lowered(entry, result.module, began, time.perf_counter() - clock)
            return result

        return lower_jaxpr_to_module

    def _tell_traced(self, entry: Known | None, jaxpr: Any) -> None:
        """Queue the trace record, after lowering: before it, the publishing thread would compete for the GIL."""
        if watchers and entry is not None and not entry.told:
            entry.told = True
            self._telling.tell(partial(traced_now, entry, jaxpr))

    def _lowered(self, entry: Known | None, module: Any, began: float, seconds: float) -> None:
        if entry is None:
            return
        self.programs.lowered(module, entry)
        if watchers:
            operations = sum(
                len(block.operations) for function in module.body.operations for block in _blocks(function)
            )
            self._tell(records.Lowered(entry.number, entry.name, began, seconds, operations))

    # Compiling -----------------------------------------------------------------------------------------------------

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def compile_or_get_cached(backend: Any, computation: Any, devices: Any, *rest: Any, **more: Any) -> Any:
            entry = self.programs.of_module(computation)
            hits = self._thread.hits
            began, clock = self._begin(entry, "compile")
            try:
                compile_executable = _past_the_disk if self._thread.past_the_disk else original
                executable = compile_executable(backend, computation, devices, *rest, **more)
            except Exception as error:
                if entry is not None and watchers:
                    details = type(error).__name__, str(error), entry.line
                    self._tell(records.Failure(entry.number, entry.name, "compile", began, *details))
                raise
            with _harmless():
                if entry is not None:
                    seconds, loaded = time.perf_counter() - clock, self._thread.hits > hits
                    self._compiled(entry, executable, tuple(devices.flat), began, seconds, loaded)
            return executable

        return compile_or_get_cached

    @contextmanager
    def past_the_disk(self) -> Iterator[None]:
        """Return a context manager in which this thread compiles without jax's disk cache."""
        self._thread.past_the_disk = True
        try:
            yield
        finally:
            self._thread.past_the_disk = False

    def _compiled(
        self, entry: Known, executable: Any, devices: tuple[Any, ...], began: float, seconds: float, loaded: bool
    ) -> None:
        compiled = Made(executable, devices, began, seconds, loaded)
        self.programs.compiled(entry, compiled)
        if watchers:
            self._telling.tell(partial(compiled_again, entry, compiled))

    def _heard(self, event: str, **_: Any) -> None:
        if event == _HIT:
            self._thread.hits += 1

    def _loading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __init__(mesh_executable: Any, xla_executable: Any, *rest: Any, **more: Any) -> None:  # noqa: N807
            original(mesh_executable, xla_executable, *rest, **more)
            with _harmless():
                self.programs.loaded(mesh_executable, xla_executable)

        return __init__

    # Running -------------------------------------------------------------------------------------------------------

    def _executing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __call__(execute: Any, *args: Any) -> Any:  # noqa: N807
            entry = self.programs.of_executable(execute.xla_executable)
            self._begin(entry, "run")
            out = original(execute, *args)
            if entry is not None:
                for listener in tuple(self.dispatched):
                    with _harmless():
                        listener(entry.number, out)
            return out

        return __call__

    def _tell(self, record: records.Record) -> None:
        """Publish a record after those that are still queued."""
        self._telling.tell(lambda: record)

    def _begin(self, entry: Known | None, stage: Any) -> tuple[float, float]:
        began = time.time()
        if entry is not None and watchers:
            started = records.Started(entry.number, entry.name, stage, began)
            if stage == "run":
                records.publish(started)
            else:
                self._tell(started)
        return began, time.perf_counter()


_putting_together = threading.RLock()


def traced_again(entry: Known) -> records.Traced | None:
    """Return the record of a program's trace, or None if jax dropped the jaxpr before a record was built."""
    jaxpr = entry.lowered()
    return entry.traced if jaxpr is None else traced_now(entry, jaxpr)


def traced_now(entry: Known, jaxpr: Any) -> records.Traced:
    """Return the record of a program's trace, built once."""
    with _putting_together:
        if entry.traced is None:
            entry.traced = traced_record(entry, jaxpr)
        return entry.traced


def compiled_again(entry: Known, executable: Made) -> records.Compiled:
    """Return the record of an executable, built once."""
    with _putting_together:
        if executable.record is None:
            executable.record = compiled_record(entry, executable)
        return executable.record


def traced_record(entry: Known, jaxpr: Any) -> records.Traced:
    """Build the record of a trace from the jaxpr that is lowered."""
    described = describe(jaxpr, entry.line)
    return records.Traced(
        program=entry.number,
        function=entry.name,
        time=entry.began,
        seconds=entry.seconds,
        jaxpr=described,
        text=jaxpr.pretty_print(use_color=False),
        reason=entry.reason,
        call_site=entry.line,
        sources=source_texts(described),
        fix=entry.fix,
        origin=entry.origin,
        traits=traits_of(equation.operation for equation in described.walk()),
    )


def compiled_record(entry: Known, executable: Made) -> records.Compiled:
    """Build the record of an executable."""
    record = describe_executable(
        executable.executable,
        executable.devices,
        entry.number,
        entry.name,
        executable.began,
        executable.seconds,
        "hit" if executable.loaded else "miss",
        entry.operands,
        None,
        executable.label,
        (FROM_DISK,) if executable.loaded else (),
        entry.keeping.names,
    )
    return _without_paths(record) if executable.loaded else record


def _without_paths(record: records.Compiled) -> records.Compiled:
    """Remove equations from a record loaded from disk: its names may be those of another program."""
    kernels = tuple(replace(item, equations=(), moves=(), unknown=item.instructions) for item in record.kernels)
    memory_plan = record.memory
    if memory_plan is not None:
        memory_plan = replace(memory_plan, buffers=tuple(replace(item, equations=()) for item in memory_plan.buffers))
    return replace(record, kernels=kernels, memory=memory_plan)


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
    """Compile as jax does without a disk cache; jax reads that setting only once, at the first compilation."""
    return compiler.backend_compile_and_load(backend, computation, executable_devices, compile_options, host_callbacks)


def _call(trace_arguments: tuple[Any, ...], trace_result: Any) -> Call:
    """Return what is compared with other calls of a function."""
    info, _, _, _, args, kwargs = trace_arguments
    parameters = list(getattr(info.fun_signature, "parameters", ()))
    numbers = [number % len(args) for number in info.static_argnums if -len(args) <= number < len(args)]
    static = {(parameters[n] if n < len(parameters) else f"argument {n}"): args[n] for n in numbers}
    static |= {name: kwargs[name] for name in info.static_argnames if name in kwargs}
    names = trace_result.arg_names or tuple(f"argument {number}" for number in range(len(trace_result.in_avals)))
    mesh = trace_result.params.get("ctx_mesh")
    return Call(
        tuple(trace_result.in_avals),
        tuple(names),
        trace_result.in_tree,
        static,
        (mesh,),
        _arguments(info, args, numbers),
    )


def _arguments(info: Any, args: tuple[Any, ...], static: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the non-static positional arguments."""
    parameters = getattr(info.fun_signature, "parameters", {}).values()
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    variadic = next((parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL), "args")
    names += [f"{variadic}[{i}]" for i in range(len(args) - len(names))]
    return tuple(name for i, name in enumerate(names[: len(args)]) if i not in static)


def _again(closed: Callable[[], Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Callable[[str], Any]:
    """Return a function that lowers a program again for a platform, as long as jax keeps its jaxpr."""

    def relower(platform: str) -> Any:
        jaxpr = closed()
        if jaxpr is None:
            return None
        return pxla.lower_sharding_computation(jaxpr, *arguments, **{**options, "lowering_platforms": (platform,)})

    return relower


def _operands(jaxpr: Any, constants: int, tokens: Any) -> tuple[bool, ...] | None:
    """Return which constants and inputs are operands of the executable; None if that is unknown.

    Constants are operands, unless they are inlined in the program.
    """
    if tokens or constants not in (0, len(jaxpr.constvars)):
        return None
    return (constants > 0,) * len(jaxpr.constvars) + (True,) * len(jaxpr.invars)


def _blocks(function: Any) -> Any:
    return (block for region in function.regions for block in region.blocks)


@contextmanager
def _harmless() -> Iterator[None]:
    """Log exceptions raised inside instead of propagating them to the user's program."""
    try:
        yield
    except Exception:
        _log.exception("watching a program of jax failed")
