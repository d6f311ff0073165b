"""Compilation of programs to loaded executables through StableHLO, and its records for watchers."""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from jaxlib import _jax
from jaxlib.mlir import ir

from ... import records
from ...analysis.retrace_words import OUTSIDE
from ...ir.describe import traced_record
from ...ir.jaxpr import ClosedJaxpr
from ...records.watchers import watchers
from ..arrays.failures import compilation_error, is_out_of_memory, memory_error, require_room
from ..cache.compiling import Source, compile_source
from ..cache.persistent_cache import Loaded, is_kept, load_or_compile
from ..devices.backend import client
from ..devices.xla_options import compile_options
from ..keeping import Kept, keep_in, may_be_judged, with_barriers
from ..known_faults import workaround_options
from ..lowering.callbacks import SharedFailure, guarded
from ..lowering.lowering import Lowered, lower
from ..mlir.builder import bytecode, nameless_bytecode, of_its_own
from ..sharding.named_shardings import OnSeveral
from ..sharding.partitions import Partition, is_even, lying_texts, results_of_partition, set_partition
from ..system.logs import log_compilation
from .compile_request import CompileRequest, Flags
from .describe import cost_of, describe_executable, memory_stats_of
from .reroll import with_loops

_modules = itertools.count(1)
#: Matches XLA's errors about unknown options and about invalid values of options.
_OF_AN_OPTION = re.compile("compile option|While setting option")


def module_name(function: str) -> str:
    """Return a name for a new module, unique in the process.

    Profiles identify programs by module name, and several programs may share a function's name.
    """
    return f"jit_{re.sub(r'[^A-Za-z0-9_]', '_', function)}.{next(_modules)}"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Compilation:
    """Compiled program: the loaded executable, the operands that it takes, and data for its records.

    ``materialized_ops`` are the names of the operations whose results XLA was told to materialize. ``replacement`` is
    the optimized version of a program that was compiled quickly.
    """

    executable: Any
    kept: tuple[bool, ...]
    device: Any
    module: str
    number: int
    began: float
    seconds: float
    cache: Literal["hit", "miss"] = "miss"
    calls_python: bool = False
    partition: Partition | None = None
    kept_values: tuple[str, ...] = ()
    better: Better | None = None
    failure: SharedFailure | None = None

    @property
    def devices(self) -> tuple[Any, ...]:
        """Return the devices that run it."""
        return (self.device,) if self.partition is None else self.partition.devices

    def text(self) -> str:
        """Return the optimized HLO."""
        return self.executable.hlo_modules()[0].to_string()

    def cost(self) -> dict[str, float]:
        """Return XLA's estimates, by its names; empty where the back end has none."""
        return cost_of(self.executable).cost

    def memory(self) -> Any:
        """Return the compiler's memory statistics, None where the back end has none."""
        return memory_stats_of(self.executable)


class Better(Protocol):
    """Optimized version of a program, while it is being compiled and afterwards."""

    @property
    def awaited(self) -> bool:
        """Return whether it is being compiled or is ready."""

    def compilation(self) -> Compilation | None:
        """Return the optimized version; None until it is ready."""


class LoweredProgram(NamedTuple):
    """Program as StableHLO, ready to be compiled: the module, its name, the request, and the program's number.

    ``materialization`` says which values are materialized.
    """

    lowered: Lowered
    module: str
    request: CompileRequest
    number: int
    kept: Kept = Kept()

    @property
    def name(self) -> str:
        """Return the program's name."""
        return self.request.name

    @property
    def program(self) -> ClosedJaxpr:
        """Return the program."""
        return self.request.program

    @property
    def partition(self) -> Partition | None:
        """Return the shardings of its operands over the devices that share it."""
        return self.request.partition

    def with_flags(self, flags: Flags) -> LoweredProgram:
        """Return the program with other XLA flags for its compilation."""
        return self._replace(request=self.request.with_flags(flags))

    def devices(self, device: Any) -> tuple[Any, ...]:
        """Return the devices that run it when it is compiled for this one, or those of its partition."""
        return (device,) if self.partition is None else self.partition.devices

    def text(self, dialect: str, *, debug_info: bool) -> str:
        """Return the module as text, in the dialect ``stablehlo`` or ``hlo``."""
        module = self.object(dialect)
        if dialect == "hlo":
            return module.as_hlo_text(debug_info)
        return module.operation.get_asm(enable_debug_info=debug_info)

    def object(self, dialect: str) -> Any:
        """Return the module as MLIR (``stablehlo``) or as an XLA computation (``hlo``)."""
        if dialect == "stablehlo":
            return self.lowered.module
        if dialect == "hlo":
            return _jax.mlir.mlir_module_to_xla_computation(str(self.lowered.module), use_tuple_args=False)
        raise ValueError(f"there is no dialect {dialect!r}; the dialects are stablehlo and hlo")


def estimated_cost(program: LoweredProgram, platform: str) -> dict[str, float]:
    """Return XLA's estimates for a program before optimization, with repeats unrolled: it counts loops once."""
    if program.lowered.rerolled:
        unrolled = lower(program.program, program.module, platform=platform, partition=program.partition)
        program = program._replace(lowered=unrolled)
    module = program.object("hlo").get_hlo_module()
    return dict(_jax.hlo_module_cost_analysis(client(platform), module))


def compile_program(request: CompileRequest, device: Any) -> Compilation:
    """Lower and compile a program for one device, or for those that share it; raises what those two raise."""
    require_room(request.program, request.donated, device)
    return compile_lowered(lower_program(request, device.platform), device)


def _explained(error: Exception, program: ClosedJaxpr, device: Any, overridden: bool) -> Exception:
    """Return the error that explains XLA's in the user's terms."""
    if is_out_of_memory(error):
        return memory_error(error, program.jaxpr, None, device)
    if overridden and _OF_AN_OPTION.search(str(error)):  # the user gave the option
        return error
    return compilation_error(error, program, device.platform)


def lower_program(request: CompileRequest, platform: str) -> LoweredProgram:
    """Lower a program to StableHLO for a platform, and materialize values in it.

    Raises CompilationError if it cannot be lowered.
    """
    program, name, number = request.program, request.name, request.number
    if number is None:
        number = records.next_program()
        if watchers:  # not traced before: a single operation, or half of a jitted function
            records.publish(traced_record(program, number, time.time(), 0.0, OUTSIDE, "", None, "operation"))
    module = module_name(name)
    began = _begin(number, name, "lower")
    log_compilation("Compiling jit(%s) with global shapes and types %s.", name, program.in_avals)
    try:
        lowered, materialization = lower_keeping(request, module, platform)
    except ir.MLIRError as error:
        raise compilation_error(error, program, platform) from None
    seconds = time.perf_counter() - began[1]
    log_compilation("Finished jaxpr to MLIR module conversion jit(%s) in %.9f sec", name, seconds)
    if watchers:
        records.publish(records.Lowered(number, name, began[0], seconds, lowered.operations))
    return LoweredProgram(lowered, module, request, number, materialization)


def lower_keeping(request: CompileRequest, module: str, platform: str) -> tuple[Lowered, Kept]:
    """Lower a program, with loops in place of repeats and barriers behind materialized values.

    Values are materialized on a CPU alone: the compilers of other platforms have a cost model of their own. Programs
    that several devices share are lowered without, since it is unknown what each device computes.
    """
    program, partition, options = request.program, request.partition, request.options.with_settings()
    policy, reroll = options.keep, options.reroll
    assert policy is not None and reroll is not None
    rerolled = with_loops(program, reroll, platform) if partition is None else program
    if platform != "cpu":
        policy = "off"
    lowered = lower(
        rerolled,
        module,
        donated=request.donated,
        keep_unused=options.keep_unused,
        platform=platform,
        partition=partition,
        chooses=policy if callable(policy) else None,
    )
    lowered = lowered._replace(rerolled=rerolled is not program)
    if policy == "off":
        return lowered, Kept()
    use_model = policy == "auto" and partition is None and may_be_judged(lowered.operations)
    return lowered, keep_in(lowered.module, lowered.chosen, judged=use_model, barriers=bool(lowered.barriers))


def compile_lowered(program: LoweredProgram, device: Any, replacement: Better | None = None) -> Compilation:
    """Compile StableHLO for one device, or for those among which it is partitioned.

    A program with a replacement (``replacement``) is not stored on disk. Raises CompilationError when XLA refuses it,
    OutOfMemoryError when its results, or what XLA computes ahead, do not fit into memory, and XLA's own error for an
    unknown flag.
    """
    require_room(program.program, program.request.donated, device)
    name, kept_operands = program.name, program.lowered.kept
    began, clock = _begin(program.number, name, "compile")
    try:
        executable, module, cache, compiled = _loaded_or_told(program, device, began, on_disk=replacement is None)
    except (ir.MLIRError, _jax.JaxRuntimeError) as error:
        if _barriers_cannot_stay(program, error):
            return compile_lowered(program._replace(kept=Kept()), device, replacement)
        raise _explained(error, program.program, device, bool(program.request.options.flags)) from None
    partition = program.partition
    if partition is not None:
        results = results_of_partition(executable, partition, program.program.out_avals)
        if not all(map(is_even, results, program.program.out_avals)):
            return compile_lowered(_with_even_results(program, results, device), device, replacement)
        partition = partition._replace(results=tuple(results))
    seconds = time.perf_counter() - clock
    if compiled is not None and compiled.taken_up:  # an interrupted call started it
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
                None if partition is None else lying_texts(partition, len(kept_operands)),
                kept_values=program.kept.names,
                quick=replacement is not None,
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
        calls_python=bool(program.lowered.callbacks),
        partition=partition,
        kept_values=program.kept.names,
        better=replacement,
        failure=program.lowered.failure,
    )


def _barriers_cannot_stay(program: LoweredProgram, error: Exception) -> bool:
    """Return whether XLA refuses a program because of barriers that it should have removed."""
    return bool(program.kept.passes) and "opt-barrier" in str(error)


def _with_even_results(program: LoweredProgram, results: Sequence[OnSeveral], device: Any) -> LoweredProgram:
    """Lower the program again with results replicated that XLA would partition unevenly."""
    partition, avals = program.partition, program.program.out_avals
    assert partition is not None
    requested = partition.results or (None,) * len(avals)
    result_shardings = tuple(
        old if is_even(new, aval) else partition.whole for old, new, aval in zip(requested, results, avals, strict=True)
    )
    # It is the same program: its number and all requested options stay.
    request = program.request._replace(number=program.number, partition=partition._replace(results=result_shardings))
    return lower_program(request, device.platform)


def _loaded_or_told(program: LoweredProgram, device: Any, began: float, *, on_disk: bool) -> Loaded:
    """Return the executable of a module, publishing a record of a failure."""
    try:
        return _loaded(program, program.devices(device), _options(program, device), on_disk=on_disk)
    except Exception as error:
        if watchers and not _barriers_cannot_stay(program, error):
            failure = records.Failure(program.number, program.name, "compile", began, type(error).__name__, str(error))
            records.publish(failure)
        raise


def _options(program: LoweredProgram, device: Any) -> Any:
    passes, flags = program.kept.passes, program.request.options.flags
    flags = (*flags, *workaround_options(program.program.jaxpr, device.platform, flags))
    options = compile_options(device, with_barriers(flags, passes) if passes else flags)
    if program.partition is not None:
        results = len(program.program.out_avals) + program.lowered.gives_token
        set_partition(options, program.partition.devices, results)
    return options


def is_on_disk(program: LoweredProgram, device: Any) -> bool:
    """Return whether the executable of a program is in the cache on disk."""
    return is_kept(program.lowered.module, program.module, device, _options(program, device))


def _loaded(program: LoweredProgram, devices: tuple[Any, ...], options: Any, *, on_disk: bool) -> Loaded:
    """Return the executable of a module: from disk if it is cached there, unless the module calls Python functions."""
    lowered = program.lowered
    content = functools.partial(of_its_own if lowered.callbacks else bytecode, lowered.module)
    program_number = program.number if lowered.callbacks else None  # the callbacks belong to one trace

    def identity() -> tuple[Any, ...]:
        return nameless_bytecode(lowered.module), options.SerializeAsString(), devices, program_number

    source = Source(content, program.module, identity, program.number, program.name)
    if on_disk and not lowered.callbacks:
        return load_or_compile(source, lowered.module, devices, options)
    compiled = compile_source(source, devices, options, [guarded(function) for function in lowered.callbacks])
    return Loaded(compiled.executable, compiled.module, "miss", compiled)


def _begin(number: int, name: str, stage: Any) -> tuple[float, float]:
    if watchers:
        records.publish(records.Started(number, name, stage, time.time()))
    return time.time(), time.perf_counter()
