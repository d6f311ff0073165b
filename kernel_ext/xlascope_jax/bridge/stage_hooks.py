"""Hooks at the stages that a jax program passes through, and the records made there.

=================================  ====================================================================================
``pjit._infer_params``             a call goes through Python, with which arguments
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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial, wraps
from typing import Any

from jax._src import compiler, core, monitoring, pjit
from jax._src.interpreters import mlir, pxla

from xlascope import records
from xlascope.analysis.retrace_reasons import OUTSIDE_JIT
from xlascope.inspect.running.engines import DispatchListener
from xlascope.ir.source_texts import collect_source_texts, excerpt
from xlascope.records.stage_spans import stage_span
from xlascope.records.watchers import watchers
from xlascope.xla.compilation.executable_record import describe_executable

from ..traits import traits_of
from .call_signatures import describe_arguments
from .equation_names import name_equations
from .jaxpr_records import describe_jaxpr
from .patching import PatchSet
from .programs import ExecutableEntry, ProgramEntry, ProgramRegistry
from .record_publisher import RecordPublisher
from .retrace_reasons import RetraceExplainer, TraceKey
from .source_lines import current_line, find_error_line

_log = logging.getLogger(__name__)

#: jax's monitoring event for a hit in its disk cache.
_CACHE_HIT_EVENT = "/jax/compilation_cache/cache_hits"
FROM_DISK = (
    "no source information: this program came from jax's compilation cache on disk, which is found without the names "
    "of equations and may bring those of another; ask for its fusions to compile it again and see"
)


#: Called with a function, jax's description of its options, arguments and keyword arguments of a call through Python.
CallListener = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], None]


class _HookThreadState(threading.local):
    """State of the hooks on one thread: the program it lowers, its disk cache hits, whether it bypasses that cache.

    ``is_paused`` says that its programs are not watched now; ``operands`` are those of the functions that it traces or
    lowers while they are captured, with the jaxprs.
    """

    lowering: ProgramEntry | None = None
    hits = 0
    bypasses_disk_cache = False
    is_paused = False
    operands: list[tuple[Any, Sequence[Any]]] | None = None


class StageHooks:
    """Hooks at the stages of jax's programs, active from :meth:`install` to :meth:`uninstall`.

    They add what jax traces, lowers and compiles to the registry ``programs``, and publish records of it.
    ``dispatched`` are the listeners for calls through Python; ``call_listeners`` get function, jax's options of it,
    arguments and keyword arguments before such a call.
    """

    def __init__(self, programs: ProgramRegistry) -> None:
        self.programs = programs
        self.dispatched: list[DispatchListener] = []
        self.call_listeners: list[CallListener] = []
        self._reasons = RetraceExplainer()
        self._thread = _HookThreadState()
        self._patches = PatchSet()
        self._publisher = RecordPublisher()

    def install(self) -> None:
        """Replace jax's functions by wrappers."""
        patch = self._patches.replace
        patch(pjit, "_infer_params", self._wrap_infer_params)
        patch(pjit, "_trace_for_jit", self._wrap_trace_for_jit)
        patch(pxla, "lower_sharding_computation", self._wrap_lower_sharding_computation)
        patch(mlir, "lower_jaxpr_to_module", self._wrap_lower_jaxpr_to_module)
        patch(compiler, "compile_or_get_cached", self._wrap_compile_or_get_cached)
        patch(pxla.MeshExecutable, "__init__", self._wrap_mesh_executable_init)
        patch(pxla.ExecuteReplicated, "__call__", self._wrap_execute)
        monitoring.register_event_listener(self._count_cache_hit)

    def uninstall(self) -> None:
        """Restore jax's functions."""
        self._patches.undo()
        self._publisher.close()
        monitoring.unregister_event_listener(self._count_cache_hit)

    # Tracing -------------------------------------------------------------------------------------------------------

    def _wrap_infer_params(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of jax's function that notifies the listeners of calls outside of any trace.

        What jax's function returns are the parameters of the call, with its jaxpr, and its flat operands.
        """

        @wraps(original)
        def infer_params(fun: Any, info: Any, args: Any, kwargs: Any) -> Any:
            if self.call_listeners and not self._thread.is_paused and core.trace_state_clean():
                for listener in tuple(self.call_listeners):
                    with _log_exceptions():
                        listener(fun, info, args, kwargs)
            result = original(fun, info, args, kwargs)
            if self._thread.operands is not None:
                self._thread.operands.append((result[0].params["jaxpr"], result[1]))
            return result

        return infer_params

    def _wrap_trace_for_jit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of jax's function that registers what is traced outside of any other trace."""

        @wraps(original)
        def trace_for_jit(fun: Any, *rest: Any) -> Any:
            if self._thread.is_paused or not core.trace_state_clean():
                return original(fun, *rest)
            began, clock = time.time(), time.perf_counter()
            try:
                with stage_span("trace", 0, ""):
                    result = original(fun, *rest)
            except Exception as error:
                with _log_exceptions():
                    self._publish_trace_failure(fun, began, error)
                raise
            with _log_exceptions():
                self._register_trace(fun, rest, result, began, time.perf_counter() - clock)
            return result

        return trace_for_jit

    def _register_trace(
        self, fun: Any, trace_arguments: tuple[Any, ...], trace_result: Any, began: float, seconds: float
    ) -> None:
        """Add a traced program with the reason of its trace to the registry, unless its jaxpr is known.

        ``trace_arguments`` and ``trace_result`` are those of jax's own function; ``began`` and ``seconds`` are its
        times.
        """
        jaxpr = trace_result.params["jaxpr"].jaxpr
        entry = self.programs.of_jaxpr(jaxpr)
        if entry is None:
            entry = ProgramEntry(
                records.next_program(), trace_result.params["name"], began, seconds, line=current_line()
            )
            entry.reason, entry.fix, entry.origin = self._reasons.explain(
                fun, _make_trace_key(trace_arguments, trace_result)
            )
            entry = self.programs.add(jaxpr, entry)
        if entry.origin != "operation":
            info, *_, args, kwargs = trace_arguments
            entry.traced_arguments.append(describe_arguments(info, args, kwargs))
        self.programs.link_function(fun, entry)

    def _publish_trace_failure(self, fun: Any, began: float, error: Exception) -> None:
        if watchers:
            line = find_error_line(error)
            details = type(error).__name__, str(error), line, excerpt(line)
            name = getattr(fun, "__name__", type(fun).__name__)
            records.publish(records.Failure(records.next_program(), name, "trace", began, *details))

    # Lowering ------------------------------------------------------------------------------------------------------

    def _wrap_lower_sharding_computation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of jax's function that notes which program this thread lowers, and how to lower it again."""

        @wraps(original)
        def lower_sharding_computation(closed_jaxpr: Any, api_name: str, fun_name: str, *rest: Any, **more: Any) -> Any:
            if self._thread.is_paused:
                return original(closed_jaxpr, api_name, fun_name, *rest, **more)
            before = self._thread.lowering
            with _log_exceptions():
                entry = self._thread.lowering = self._find_or_add_program(closed_jaxpr.jaxpr, fun_name)
                entry.unpruned_ref = weakref.ref(closed_jaxpr)
                entry.relower = entry.relower or _make_relower(
                    weakref.ref(closed_jaxpr), (api_name, fun_name, *rest), more
                )
            try:
                return original(closed_jaxpr, api_name, fun_name, *rest, **more)
            finally:
                self._thread.lowering = before

        return lower_sharding_computation

    def _find_or_add_program(self, jaxpr: Any, name: str) -> ProgramEntry:
        entry = self.programs.of_jaxpr(jaxpr)
        if entry is None:  # made by a transformation outside of any jitted function
            candidate = ProgramEntry(
                records.next_program(), name, time.time(), reason=OUTSIDE_JIT, origin="operation", line=current_line()
            )
            entry = self.programs.add(jaxpr, candidate)
        return entry

    def _wrap_lower_jaxpr_to_module(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of jax's function that names the equations in what it lowers and publishes the records."""

        @wraps(original)
        def lower_jaxpr_to_module(module_name: str, jaxpr: Any, *rest: Any, **more: Any) -> Any:
            if self._thread.is_paused:
                return original(module_name, jaxpr, *rest, **more)
            entry, named_jaxpr = self._thread.lowering, jaxpr
            with _log_exceptions():
                entry = entry or self._find_or_add_program(jaxpr.jaxpr, module_name.removeprefix("jit_"))
                entry.operands = _operand_mask(jaxpr.jaxpr, more.get("num_const_args", -1), more.get("ordered_effects"))
                entry.jaxpr_ref, entry.closed_ref = weakref.ref(jaxpr.jaxpr), weakref.ref(jaxpr)
                named_jaxpr = name_equations(jaxpr)
            began, clock = self._publish_start(entry, "lower")
            try:
                with stage_span("lower", 0, module_name):
                    result = original(module_name, named_jaxpr, *rest, **more)
            finally:
                with _log_exceptions():
                    self._publish_trace(entry, jaxpr.jaxpr)
            with _log_exceptions():
                self._register_lowering(entry, result.module, began, time.perf_counter() - clock)
            return result

        return lower_jaxpr_to_module

    def _publish_trace(self, entry: ProgramEntry | None, jaxpr: Any) -> None:
        """Queue the record of a trace for publication, once per program.

        It is called after lowering: before it, the publishing thread would compete for the GIL.
        """
        if watchers and entry is not None and not entry.is_trace_queued:
            entry.is_trace_queued = True
            self._publisher.publish(partial(ensure_traced_record, entry, jaxpr))

    def _register_lowering(self, entry: ProgramEntry | None, module: Any, began: float, seconds: float) -> None:
        if entry is None:
            return
        self.programs.add_module(module, entry)
        if watchers:
            operations = sum(
                len(block.operations) for function in module.body.operations for block in _iter_blocks(function)
            )
            self._publish_in_order(records.Lowered(entry.number, entry.name, began, seconds, operations))

    # Compiling -----------------------------------------------------------------------------------------------------

    def _wrap_compile_or_get_cached(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of jax's function that registers the executable and publishes its record or failure."""

        @wraps(original)
        def compile_or_get_cached(backend: Any, computation: Any, devices: Any, *rest: Any, **more: Any) -> Any:
            entry = self.programs.of_module(computation)
            hits = self._thread.hits
            began, clock = self._publish_start(entry, "compile")
            try:
                compile_executable = _compile_uncached if self._thread.bypasses_disk_cache else original
                with stage_span("compile", 0, ""):
                    executable = compile_executable(backend, computation, devices, *rest, **more)
            except Exception as error:
                if entry is not None and watchers:
                    details = type(error).__name__, str(error), entry.line
                    self._publish_in_order(records.Failure(entry.number, entry.name, "compile", began, *details))
                raise
            with _log_exceptions():
                if entry is not None:
                    seconds, loaded = time.perf_counter() - clock, self._thread.hits > hits
                    self._register_executable(entry, executable, tuple(devices.flat), began, seconds, loaded)
            return executable

        return compile_or_get_cached

    @contextmanager
    def bypass_disk_cache(self) -> Iterator[None]:
        """Return a context manager in which this thread compiles without jax's disk cache."""
        self._thread.bypasses_disk_cache = True
        try:
            yield
        finally:
            self._thread.bypasses_disk_cache = False

    @contextmanager
    def capture_operands(self) -> Iterator[list[tuple[Any, Sequence[Any]]]]:
        """Collect what functions that this thread traces or lowers in the ``with`` block are given.

        The list gets a pair for each: the jaxpr of the function, and the flat operands of the call. Functions that
        libraries wrap around ``jax.jit`` bring their arguments into a form of their own; these are what jax gets.
        """
        captured: list[tuple[Any, Sequence[Any]]] = []
        self._thread.operands = captured
        try:
            yield captured
        finally:
            self._thread.operands = None

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Return a context manager in which programs that this thread traces and compiles are not watched."""
        was_paused, self._thread.is_paused = self._thread.is_paused, True
        try:
            yield
        finally:
            self._thread.is_paused = was_paused

    def _register_executable(
        self, entry: ProgramEntry, executable: Any, devices: tuple[Any, ...], began: float, seconds: float, loaded: bool
    ) -> None:
        compiled = ExecutableEntry(executable, devices, began, seconds, loaded)
        self.programs.add_executable(entry, compiled)
        if watchers:
            self._publisher.publish(partial(ensure_compiled_record, entry, compiled))

    def _count_cache_hit(self, event: str, **_: Any) -> None:
        if event == _CACHE_HIT_EVENT:
            self._thread.hits += 1

    def _wrap_mesh_executable_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the constructor that keeps the program alive as long as the object that calls it."""

        @wraps(original)
        def __init__(mesh_executable: Any, xla_executable: Any, *rest: Any, **more: Any) -> None:  # noqa: N807
            original(mesh_executable, xla_executable, *rest, **more)
            with _log_exceptions():
                self.programs.keep_alive_with(mesh_executable, xla_executable)

        return __init__

    # Running -------------------------------------------------------------------------------------------------------

    def _wrap_execute(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of jax's call through Python that publishes its start and notifies the listeners."""

        @wraps(original)
        def __call__(execute: Any, *args: Any) -> Any:  # noqa: N807
            entry = self.programs.of_executable(execute.xla_executable)
            self._publish_start(entry, "run")
            with _call_span(entry):
                out = original(execute, *args)
            if entry is not None:
                for listener in tuple(self.dispatched):
                    with _log_exceptions():
                        listener(entry.number, out)
            return out

        return __call__

    def _publish_in_order(self, record: records.Record) -> None:
        """Publish a record after those that are still queued."""
        self._publisher.publish(lambda: record)

    def _publish_start(self, entry: ProgramEntry | None, stage: Any) -> tuple[float, float]:
        """Publish that a stage starts; return the time since the epoch and that of ``time.perf_counter``.

        Nothing is published for ``entry`` None, a program that is not known.
        """
        began = time.time()
        if entry is not None and watchers:
            started = records.Started(entry.number, entry.name, stage, began)
            if stage == "run":
                records.publish(started)
            else:
                self._publish_in_order(started)
        return began, time.perf_counter()


_record_lock = threading.RLock()


def get_traced_record(entry: ProgramEntry) -> records.Traced | None:
    """Return the record of a program's trace, or None if jax dropped the jaxpr before a record was built."""
    jaxpr = entry.jaxpr_ref()
    return entry.traced if jaxpr is None else ensure_traced_record(entry, jaxpr)


def ensure_traced_record(entry: ProgramEntry, jaxpr: Any) -> records.Traced:
    """Return the record of a program's trace; it is built from ``jaxpr`` once and stored in the entry."""
    with _record_lock:
        if entry.traced is None:
            entry.traced = build_traced_record(entry, jaxpr)
        return entry.traced


def ensure_compiled_record(entry: ProgramEntry, executable: ExecutableEntry) -> records.Compiled:
    """Return the record of an executable; it is built once and stored in the executable's entry."""
    with _record_lock:
        if executable.record is None:
            executable.record = build_compiled_record(entry, executable)
        return executable.record


def build_traced_record(entry: ProgramEntry, jaxpr: Any) -> records.Traced:
    """Build the record of a program's trace from the jaxpr that jax lowers."""
    described = describe_jaxpr(jaxpr, entry.line)
    return records.Traced(
        program=entry.number,
        function=entry.name,
        time=entry.began,
        seconds=entry.seconds,
        jaxpr=described,
        text=jaxpr.pretty_print(use_color=False),
        reason=entry.reason,
        call_site=entry.line,
        sources=collect_source_texts(described),
        fix=entry.fix,
        origin=entry.origin,
        traits=traits_of(equation.operation for equation in described.walk()),
    )


def build_compiled_record(entry: ProgramEntry, executable: ExecutableEntry) -> records.Compiled:
    """Build the record of a program's executable.

    An executable from jax's disk cache gets no equations, as its names may be those of another program.
    """
    record = describe_executable(
        executable.executable,
        executable.devices,
        entry.number,
        entry.name,
        executable.began,
        executable.seconds,
        "hit" if executable.is_from_disk else "miss",
        entry.operands,
        None,
        executable.label,
        (FROM_DISK,) if executable.is_from_disk else (),
        entry.materialized.names,
    )
    return _without_equations(record) if executable.is_from_disk else record


def _without_equations(record: records.Compiled) -> records.Compiled:
    """Return a record without equations, for an executable from disk: its names may be those of another program."""
    kernels = tuple(replace(item, equations=(), moves=(), unknown=item.instructions) for item in record.kernels)
    memory_plan = record.memory
    if memory_plan is not None:
        memory_plan = replace(memory_plan, buffers=tuple(replace(item, equations=()) for item in memory_plan.buffers))
    return replace(record, kernels=kernels, memory=memory_plan)


def _compile_uncached(
    backend: Any,
    computation: Any,
    devices: Any,
    compile_options: Any,
    host_callbacks: Any,
    executable_devices: Any,
    *_: Any,
    **__: Any,
) -> Any:
    """Compile as jax does without a disk cache, and return the executable.

    Takes the arguments of jax's function. Changing jax's setting would have no effect: jax reads it once, at the first
    compilation.
    """
    return compiler.backend_compile_and_load(backend, computation, executable_devices, compile_options, host_callbacks)


def _make_trace_key(trace_arguments: tuple[Any, ...], trace_result: Any) -> TraceKey:
    """Return the key by which a traced call is compared with other calls of its function.

    Both arguments are those of :meth:`StageHooks._register_trace`.
    """
    info, _, _, _, args, kwargs = trace_arguments
    parameters = list(getattr(info.fun_signature, "parameters", ()))
    numbers = [number % len(args) for number in info.static_argnums if -len(args) <= number < len(args)]
    static = {(parameters[n] if n < len(parameters) else f"argument {n}"): args[n] for n in numbers}
    static |= {name: kwargs[name] for name in info.static_argnames if name in kwargs}
    names = trace_result.arg_names or tuple(f"argument {number}" for number in range(len(trace_result.in_avals)))
    mesh = trace_result.params.get("ctx_mesh")
    return TraceKey(
        tuple(trace_result.in_avals),
        tuple(names),
        trace_result.in_tree,
        static,
        (mesh,),
        _positional_names(info, args, numbers),
    )


def _positional_names(info: Any, args: tuple[Any, ...], static: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the positional arguments of a call, without those at the positions ``static``.

    ``info`` is jax's description of the jitted function.
    """
    parameters = getattr(info.fun_signature, "parameters", {}).values()
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    variadic = next((parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL), "args")
    names += [f"{variadic}[{i}]" for i in range(len(args) - len(names))]
    return tuple(name for i, name in enumerate(names[: len(args)]) if i not in static)


def _make_relower(
    closed: Callable[[], Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Callable[[str], Any]:
    """Return a function that lowers a program again for a platform; it returns None if jax has dropped the jaxpr.

    ``closed()`` returns the closed jaxpr or None; ``arguments`` and ``options`` are those of its first lowering.
    """

    def relower(platform: str) -> Any:
        jaxpr = closed()
        if jaxpr is None:
            return None
        return pxla.lower_sharding_computation(jaxpr, *arguments, **{**options, "lowering_platforms": (platform,)})

    return relower


def _operand_mask(jaxpr: Any, constants: int, tokens: Any) -> tuple[bool, ...] | None:
    """Return the mask of constants and inputs that the executable takes as operands; None if that is unknown.

    Constants are operands, unless they are inlined in the program. ``constants`` is the number of constants that jax
    passes as operands, ``tokens`` are ordered effects.
    """
    if tokens or constants not in (0, len(jaxpr.constvars)):
        return None
    return (constants > 0,) * len(jaxpr.constvars) + (True,) * len(jaxpr.invars)


def _call_span(entry: ProgramEntry | None) -> AbstractContextManager[None]:
    """Announce the ``with`` block as a call of a program; one outside of jit is an eager operation."""
    if entry is None or entry.origin == "operation":
        return stage_span("eager", 0, "")
    return stage_span("run", entry.number, entry.name)


def _iter_blocks(function: Any) -> Any:
    return (block for region in function.regions for block in region.blocks)


@contextmanager
def _log_exceptions() -> Iterator[None]:
    """Log exceptions raised inside instead of propagating them to the user's program."""
    try:
        yield
    except Exception:
        _log.exception("watching a program of jax failed")
