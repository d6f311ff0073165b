"""Compilation of programs to loaded executables through StableHLO, and its records for watchers."""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from jaxlib import _jax
from jaxlib.mlir import ir

from ... import records
from ...analysis.retrace_reasons import OUTSIDE_JIT
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.jaxpr_record import make_traced_record
from ...ir.operation import UnusableResultError
from ...ir.user_frames import locate, user_frame
from ...records.stage_spans import stage_span
from ...records.watchers import watchers
from ..arrays.runtime_errors import compilation_error, is_out_of_memory, memory_error, require_memory
from ..cache.background_compilation import CompilationSource, compile_source
from ..cache.persistent_cache import LoadedExecutable, is_cached, load_or_compile
from ..devices.backend import client
from ..devices.xla_options import compile_options
from ..known_faults import workaround_options
from ..lowering.callbacks import SharedFailure, capture_failures
from ..lowering.module_lowering import LoweredModule, lower
from ..materialization import MAX_OPERATIONS, Materialization, disable_passes, is_size_analyzable, materialize
from ..mlir.builder import bytecode, bytecode_without_name, copy_to_new_context
from ..sharding.named_shardings import MultiDeviceSharding
from ..sharding.partitions import Partition, is_even, result_shardings, set_partition, sharding_descriptions
from ..system.collection_pause import pause_collection
from ..system.hooks import HOOKS
from ..system.logs import log_compilation
from .compile_request import CompileRequest, Flags
from .executable_record import cost_analysis, describe_executable, memory_stats
from .program_agreement import require_agreement
from .reroll_policy import reroll_repeats
from .vector_width import wide_vector_options

_module_counter = itertools.count(1)
#: Matches XLA's errors about unknown options and about invalid values of options.
_OPTION_ERROR_PATTERN = re.compile("compile option|While setting option")


def unique_module_name(function: str) -> str:
    """Return a name for a new module, unique in the process: ``jit_<function>.<number>``.

    ``function`` is the name of the compiled function. Profiles identify programs by module name, and several programs
    may share a function's name.
    """
    return f"jit_{re.sub(r'[^A-Za-z0-9_]', '_', function)}.{next(_module_counter)}"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Compilation:
    """Compiled program: the loaded executable, the operands that it takes, and data for its records.

    ``kept_operands`` says for each operand, constants first, whether the executable takes it. ``device`` is the device
    that runs it; for a program that several devices share, ``partition`` names them. ``module`` is the name of the HLO
    module, ``number`` the program's number in records, and ``began`` (seconds since the epoch) and ``seconds`` say
    when it was compiled and how long that took. ``materialized_ops`` are the names of the operations whose results XLA
    was told to materialize. ``replacement`` gives the optimized version that takes the place of this one if it was
    compiled quickly, else it is None. ``failure`` holds exceptions of Python callbacks where several devices share the
    program.
    """

    executable: Any
    kept_operands: tuple[bool, ...]
    device: Any
    module: str
    number: int
    began: float
    seconds: float
    cache: Literal["hit", "miss"] = "miss"
    calls_python: bool = False
    partition: Partition | None = None
    materialized_ops: tuple[str, ...] = ()
    replacement: OptimizedReplacement | None = None
    failure: SharedFailure | None = None

    @property
    def devices(self) -> tuple[Any, ...]:
        """Return the devices that run the program."""
        return (self.device,) if self.partition is None else self.partition.devices

    def text(self) -> str:
        """Return the optimized HLO."""
        return self.executable.hlo_modules()[0].to_string()

    def cost(self) -> dict[str, float]:
        """Return XLA's cost estimates by XLA's names (``flops``); {} where the back end has none."""
        return cost_analysis(self.executable).cost

    def memory(self) -> Any:
        """Return the compiler's memory statistics, None where the back end has none."""
        return memory_stats(self.executable)


class OptimizedReplacement(Protocol):
    """Source of the optimized version of a program that was compiled quickly at first (tiered compilation)."""

    @property
    def is_pending(self) -> bool:
        """Return whether the optimized version is being compiled or is ready; False after that failed."""

    def compilation(self) -> Compilation | None:
        """Return the optimized version; None until it is ready, and if it cannot be compiled."""


class LoweredProgram(NamedTuple):
    """Program as StableHLO, ready to be compiled: the module, its name, the request, and the program's number.

    ``lowered_module`` is the module with what lowering found out about it, ``module`` is its name, and ``number``
    identifies the program in records. ``materialization`` says which values are materialized.
    """

    lowered_module: LoweredModule
    module: str
    request: CompileRequest
    number: int
    materialization: Materialization = Materialization()

    @property
    def name(self) -> str:
        """Return the program's name."""
        return self.request.name

    @property
    def program(self) -> ClosedJaxpr:
        """Return the program as a closed jaxpr."""
        return self.request.program

    @property
    def partition(self) -> Partition | None:
        """Return the shardings of its operands over the devices that share it; None for one device."""
        return self.request.partition

    def with_flags(self, flags: Flags) -> LoweredProgram:
        """Return the lowered program with ``flags`` as the XLA flags (name, value) of its compilation."""
        return self._replace(request=self.request.with_flags(flags))

    def devices(self, device: Any) -> tuple[Any, ...]:
        """Return the devices of the program's partition, or ``(device,)`` if it has none."""
        return (device,) if self.partition is None else self.partition.devices

    def text(self, dialect: str, *, debug_info: bool) -> str:
        """Return the module as text, in the dialect ``stablehlo`` or ``hlo``."""
        module = self.to_dialect(dialect)
        if dialect == "hlo":
            return module.as_hlo_text(debug_info)
        return module.operation.get_asm(enable_debug_info=debug_info)

    def to_dialect(self, dialect: str) -> Any:
        """Return the module as MLIR (``stablehlo``) or as an XLA computation (``hlo``)."""
        if dialect == "stablehlo":
            return self.lowered_module.module
        if dialect == "hlo":
            return _jax.mlir.mlir_module_to_xla_computation(str(self.lowered_module.module), use_tuple_args=False)
        raise ValueError(f"there is no dialect {dialect!r}; the dialects are stablehlo and hlo")


def estimated_cost(program: LoweredProgram, platform: str) -> dict[str, float]:
    """Return XLA's cost estimates for a lowered program before optimization, by XLA's names (``flops``).

    XLA counts the body of a loop once, so a program with rerolled loops is lowered again without them. ``platform``
    says whose cost analysis is used.
    """
    if program.lowered_module.has_rerolled_loops:
        unrolled = lower(program.program, program.module, platform=platform, partition=program.partition)
        program = program._replace(lowered_module=unrolled)
    module = program.to_dialect("hlo").get_hlo_module()
    return dict(_jax.hlo_module_cost_analysis(client(platform), module))


def compile_program(request: CompileRequest, device: Any) -> Compilation:
    """Lower a program and compile it for one device, or for the devices that share it.

    Raises OutOfMemoryError if its results do not fit on the device, and what :func:`lower_program` and
    :func:`compile_lowered` raise.
    """
    require_memory(request.program, request.donated, device)
    return compile_lowered(lower_program(request, device.platform), device)


def _explain_error(error: Exception, program: ClosedJaxpr, device: Any, overridden: bool) -> Exception:
    """Return the exception to raise for XLA's error: out of memory, an unknown option, or a compilation error.

    ``overridden`` says that the user gave XLA flags: an error about an option is then returned as it is.
    """
    if is_out_of_memory(error):
        return memory_error(error, program.jaxpr, None, device)
    if overridden and _OPTION_ERROR_PATTERN.search(str(error)):  # the user gave the option
        return error
    return compilation_error(error, program, device.platform)


def lower_program(request: CompileRequest, platform: str) -> LoweredProgram:
    """Lower a program to StableHLO for a platform, and materialize values in it.

    Publishes the records of it. Raises CompilationError if the program cannot be lowered.
    """
    program, name, number = request.program, request.name, request.number
    if number is None:
        number = records.next_program()
        if watchers:  # not traced before: a single operation, or half of a jitted function
            line = locate(*user_frame())
            records.publish(make_traced_record(program, number, time.time(), 0.0, OUTSIDE_JIT, "", line, "operation"))
    module = unique_module_name(name)
    began = _publish_start(number, name, "lower")
    log_compilation("Compiling jit(%s) with global shapes and types %s.", name, program.in_avals)
    try:
        with stage_span("lower", number, name), pause_collection():
            lowered, materialization = lower_with_materialization(request, module, platform)
    except ir.MLIRError as error:
        raise compilation_error(error, program, platform) from None
    seconds = time.perf_counter() - began[1]
    log_compilation("Finished jaxpr to MLIR module conversion jit(%s) in %.9f sec", name, seconds)
    if watchers:
        records.publish(records.Lowered(number, name, began[0], seconds, lowered.operations))
    return LoweredProgram(lowered, module, request, number, materialization)


def lower_with_materialization(
    request: CompileRequest, module: str, platform: str
) -> tuple[LoweredModule, Materialization]:
    """Lower a program, with loops in place of repeated regions and barriers behind materialized values.

    ``module`` is the name of the module. Returns the lowered module, and what is materialized in it. Values are
    materialized on a CPU alone: the compilers of other platforms have a cost model of their own. Programs that several
    devices share are lowered without, since it is unknown what each device computes.
    """
    program, partition, options = request.program, request.partition, request.options.with_settings()
    policy, reroll = options.keep, options.reroll
    assert policy is not None and reroll is not None
    rerolled = reroll_repeats(program, reroll, platform) if partition is None else program
    if platform != "cpu":
        policy = "off"
    use_model = policy == "auto" and partition is None
    lower_module = functools.partial(
        lower,
        module_name=module,
        donated=request.donated,
        keep_unused=options.keep_unused,
        platform=platform,
        partition=partition,
        requests=policy if callable(policy) else None,
        with_log=use_model and len(rerolled.jaxpr.raw) <= MAX_OPERATIONS,
    )
    lowered = _lower_live(rerolled, lower_module)
    log, lowered = lowered.log, lowered._replace(has_rerolled_loops=rerolled is not program, log=None)
    if policy == "off":
        return lowered, Materialization()
    return lowered, materialize(
        lowered.module,
        lowered.requested_values,
        use_model=use_model and is_size_analyzable(lowered.operations),
        has_barriers=bool(lowered.has_barriers),
        log=log,
    )


def _lower_live(program: ClosedJaxpr, lower_module: Callable[[ClosedJaxpr], LoweredModule]) -> LoweredModule:
    """Lower a program; without its dead equations where one of these may not be lowered."""
    try:
        return lower_module(program)
    except UnusableResultError:
        pass
    try:
        return lower_module(HOOKS.eliminate_dead_code(program))
    except UnusableResultError as error:
        raise TypeError(str(error)) from None


def compile_lowered(
    program: LoweredProgram, device: Any, replacement: OptimizedReplacement | None = None
) -> Compilation:
    """Compile a lowered program for one device, or for those among which it is partitioned.

    ``replacement`` is given by tiered compilation, which compiles the program quickly here and with all optimizations
    on another thread: it stands for that other version, and is stored in the result. Such a quick executable is
    neither loaded from the persistent cache nor stored in it. Raises CompilationError when XLA refuses the program,
    OutOfMemoryError when its results, or what XLA computes ahead, do not fit into memory, ProgramMismatchError when
    other processes are about to run another program in its place, and XLA's own error for an unknown flag.
    """
    require_memory(program.program, program.request.donated, device)
    name, kept_operands = program.name, program.lowered_module.kept_operands
    make_options = functools.partial(_compile_options, program, device)
    require_agreement(name, program.lowered_module.module, make_options, program.devices(device))
    began, clock = _publish_start(program.number, name, "compile")
    try:
        with stage_span("compile", program.number, name):
            executable, module, cache, compiled = _load_or_report(program, device, began, on_disk=replacement is None)
    except (ir.MLIRError, _jax.JaxRuntimeError) as error:
        if _is_barrier_refused(program, error):
            return compile_lowered(program._replace(materialization=Materialization()), device, replacement)
        raise _explain_error(error, program.program, device, bool(program.request.options.flags)) from None
    partition = program.partition
    if partition is not None:
        results = result_shardings(executable, partition, program.program.out_avals)
        if not all(map(is_even, results, program.program.out_avals)):
            return compile_lowered(_replicate_uneven_results(program, results, device), device, replacement)
        partition = partition._replace(results=tuple(results))
    seconds = time.perf_counter() - clock
    if compiled is not None and compiled.resumed:  # an interrupted call started it
        began, seconds = compiled.began, compiled.seconds
    log_compilation("Finished XLA compilation of jit(%s) in %.9f sec", name, seconds)
    if watchers:
        records.publish(
            describe_executable(
                executable,
                program.devices(device),
                program.number,
                name,
                began,
                seconds,
                cache,
                kept_operands,
                None if partition is None else sharding_descriptions(partition, len(kept_operands)),
                materialized_ops=program.materialization.names,
                is_quick=replacement is not None,
            )
        )
    return Compilation(
        executable,
        kept_operands,
        device,
        module,
        program.number,
        began,
        seconds,
        cache,
        calls_python=bool(program.lowered_module.callbacks),
        partition=partition,
        materialized_ops=program.materialization.names,
        replacement=replacement,
        failure=program.lowered_module.failure,
    )


def _is_barrier_refused(program: LoweredProgram, error: Exception) -> bool:
    """Return whether XLA failed because of the barriers behind materialized values.

    ``error`` is XLA's. The program can then be compiled without materialization.
    """
    return bool(program.materialization.disabled_passes) and "opt-barrier" in str(error)


def _replicate_uneven_results(
    program: LoweredProgram, results: Sequence[MultiDeviceSharding], device: Any
) -> LoweredProgram:
    """Lower the program again with results replicated that XLA would partition unevenly.

    ``results`` are the result shardings that XLA chose for the program as it is, which was compiled for ``device``.
    """
    partition, avals = program.partition, program.program.out_avals
    assert partition is not None
    requested = partition.results or (None,) * len(avals)
    result_shardings = tuple(
        old if is_even(new, aval) else partition.replicated_sharding
        for old, new, aval in zip(requested, results, avals, strict=True)
    )
    # It is the same program: its number and all requested options stay.
    request = program.request._replace(number=program.number, partition=partition._replace(results=result_shardings))
    return lower_program(request, device.platform)


def _load_or_report(program: LoweredProgram, device: Any, began: float, *, on_disk: bool) -> LoadedExecutable:
    """Return the executable of a lowered program; if that fails, publish a record of the failure and raise.

    ``began`` is the start of the compilation in seconds since the epoch. ``on_disk`` allows the use of the persistent
    cache. No record is published where the program will be compiled again without barriers.
    """
    try:
        return _load(program, program.devices(device), _compile_options(program, device), on_disk=on_disk)
    except Exception as error:
        if watchers and not _is_barrier_refused(program, error):
            failure = records.Failure(program.number, program.name, "compile", began, type(error).__name__, str(error))
            records.publish(failure)
        raise


def choose_options(request: CompileRequest, platform: str, jaxpr: Jaxpr) -> Flags:
    """Return the compiler options that a program has on ``platform`` beside the user's: workarounds, vector width."""
    flags = request.options.flags
    return (*workaround_options(jaxpr, platform, flags), *wide_vector_options(jaxpr, platform, flags))


def _compile_options(program: LoweredProgram, device: Any) -> Any:
    """Return XLA's options for a program: the user's flags, workarounds, vectors, disabled passes, its partition."""
    passes, flags = program.materialization.disabled_passes, program.request.options.flags
    flags = (*flags, *choose_options(program.request, device.platform, program.program.jaxpr))
    options = compile_options(device, disable_passes(flags, passes) if passes else flags)
    if program.partition is not None:
        results = len(program.program.out_avals) + program.lowered_module.returns_token
        set_partition(options, program.partition.devices, results)
    return options


def is_executable_cached(program: LoweredProgram, device: Any) -> bool:
    """Return whether the executable of a lowered program for a device is in the persistent cache."""
    return is_cached(program.lowered_module.module, program.module, device, _compile_options(program, device))


def _load(program: LoweredProgram, devices: tuple[Any, ...], options: Any, *, on_disk: bool) -> LoadedExecutable:
    """Return the executable of a lowered program, from disk if it is cached there, else compiled.

    With ``on_disk`` False, and for modules that call Python functions, the persistent cache is not used. ``options``
    are XLA's compile options.
    """
    lowered = program.lowered_module
    content = functools.partial(copy_to_new_context if lowered.callbacks else bytecode, lowered.module)
    program_number = program.number if lowered.callbacks else None  # the callbacks belong to one trace

    def identity() -> tuple[Any, ...]:
        return bytecode_without_name(lowered.module), options.SerializeAsString(), devices, program_number

    source = CompilationSource(content, program.module, identity, program.number, program.name)
    if on_disk and not lowered.callbacks:
        return load_or_compile(source, lowered.module, devices, options)
    compiled = compile_source(source, devices, options, [capture_failures(function) for function in lowered.callbacks])
    return LoadedExecutable(compiled.executable, compiled.module, "miss", compiled)


def _publish_start(number: int, name: str, stage: Any) -> tuple[float, float]:
    """Publish the record that a stage (``"lower"``, ``"compile"``) of a program starts, and return the time twice.

    The first time is in seconds since the epoch, the second one that of ``time.perf_counter``.
    """
    if watchers:
        records.publish(records.Started(number, name, stage, time.time()))
    return time.time(), time.perf_counter()
