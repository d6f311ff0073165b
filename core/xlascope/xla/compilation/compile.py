"""Compilation: StableHLO in, a loaded executable out; and the records of both for whoever watches."""

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
#: How XLA begins what it says of an option that it does not know, and of a value that an option cannot have.
_OF_AN_OPTION = re.compile("compile option|While setting option")


def module_name(function: str) -> str:
    """A name for a new module, unique in the process: profiles name modules, and several programs may share a
    function's name.
    """
    return f"jit_{re.sub(r'[^A-Za-z0-9_]', '_', function)}.{next(_modules)}"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Compilation:
    """A compiled program: the loaded executable, which operands it takes (``kept``), and what its records say.

    ``kept_values`` are the names of the operations whose results XLA was told to keep. ``better`` is the optimized
    version of one that was compiled quickly.
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
        """The devices that run it."""
        return (self.device,) if self.partition is None else self.partition.devices

    def text(self) -> str:
        """The optimized HLO."""
        return self.executable.hlo_modules()[0].to_string()

    def cost(self) -> dict[str, float]:
        """XLA's estimates, by its names; empty where the back end has none."""
        return cost_of(self.executable).cost

    def memory(self) -> Any:
        """The compiler's memory statistics, None where the back end has none."""
        return memory_stats_of(self.executable)


class Better(Protocol):
    """The optimized version of a program, while it is compiled and when it is there."""

    @property
    def awaited(self) -> bool:
        """Whether it is going to be there, or is."""

    def compilation(self) -> Compilation | None:
        """The version; None while there is none."""


class LoweredProgram(NamedTuple):
    """A program as StableHLO, ready to be compiled: the module, its name, what was asked for, and the number of the
    program; ``kept`` says which values are kept.
    """

    lowered: Lowered
    module: str
    request: CompileRequest
    number: int
    kept: Kept = Kept()

    @property
    def name(self) -> str:
        """What the program is called."""
        return self.request.name

    @property
    def program(self) -> ClosedJaxpr:
        """The program."""
        return self.request.program

    @property
    def partition(self) -> Partition | None:
        """How its operands lie on the devices that share it."""
        return self.request.partition

    def with_flags(self, flags: Flags) -> LoweredProgram:
        """The same, to be compiled with other flags of XLA."""
        return self._replace(request=self.request.with_flags(flags))

    def devices(self, device: Any) -> tuple[Any, ...]:
        """The devices that run it when it is compiled for this one: those among which it is partitioned."""
        return (device,) if self.partition is None else self.partition.devices

    def text(self, dialect: str, *, debug_info: bool) -> str:
        """The module as text, in the dialect ``stablehlo`` or ``hlo``."""
        made = self.object(dialect)
        if dialect == "hlo":
            return made.as_hlo_text(debug_info)
        return made.operation.get_asm(enable_debug_info=debug_info)

    def object(self, dialect: str) -> Any:
        """The module as MLIR (``stablehlo``) or as an XLA computation (``hlo``)."""
        if dialect == "stablehlo":
            return self.lowered.module
        if dialect == "hlo":
            return _jax.mlir.mlir_module_to_xla_computation(str(self.lowered.module), use_tuple_args=False)
        raise ValueError(f"there is no dialect {dialect!r}; the dialects are stablehlo and hlo")


def estimated_cost(program: LoweredProgram, platform: str) -> dict[str, float]:
    """XLA's estimates for a program before optimization, with repeats written out: it counts loops once."""
    if program.lowered.rerolled:
        written_out = lower(program.program, program.module, platform=platform, partition=program.partition)
        program = program._replace(lowered=written_out)
    module = program.object("hlo").get_hlo_module()
    return dict(_jax.hlo_module_cost_analysis(client(platform), module))


def compile_program(request: CompileRequest, device: Any) -> Compilation:
    """Lower and compile a program for one device, or for those that share it; raises what those two raise."""
    require_room(request.program, request.donated, device)
    return compile_lowered(lower_program(request, device.platform), device)


def _explained(error: Exception, program: ClosedJaxpr, device: Any, overridden: bool) -> Exception:
    """What XLA says of a program, in the user's words."""
    if is_out_of_memory(error):
        return memory_error(error, program.jaxpr, None, device)
    if overridden and _OF_AN_OPTION.search(str(error)):  # those are the user's words
        return error
    return compilation_error(error, program, device.platform)


def lower_program(request: CompileRequest, platform: str) -> LoweredProgram:
    """The StableHLO of a program for a platform, with what is kept of its values; raises CompilationError when there is
    none.
    """
    program, name, number = request.program, request.name, request.number
    if number is None:
        number = records.next_program()
        if watchers:  # nobody traced it on the way here: a single operation, or the half of a jitted function
            records.publish(traced_record(program, number, time.time(), 0.0, OUTSIDE, "", None, "operation"))
    module = module_name(name)
    began = _begin(number, name, "lower")
    log_compilation("Compiling jit(%s) with global shapes and types %s.", name, program.in_avals)
    try:
        lowered, kept = lower_keeping(request, module, platform)
    except ir.MLIRError as error:
        raise compilation_error(error, program, platform) from None
    seconds = time.perf_counter() - began[1]
    log_compilation("Finished jaxpr to MLIR module conversion jit(%s) in %.9f sec", name, seconds)
    if watchers:
        records.publish(records.Lowered(number, name, began[0], seconds, lowered.operations))
    return LoweredProgram(lowered, module, request, number, kept)


def lower_keeping(request: CompileRequest, module: str, platform: str) -> tuple[Lowered, Kept]:
    """The StableHLO of a program (:func:`.lower`), with loops in place of what repeats, and what is kept of its values,
    which have barriers in it.

    Values are kept on a CPU alone: the compilers of other platforms have a model of their own. Of programs that several
    devices share it is known too little what they compute; these are lowered as they are.
    """
    program, partition, options = request.program, request.partition, request.options.with_settings()
    keep, reroll = options.keep, options.reroll
    assert keep is not None and reroll is not None
    written = with_loops(program, reroll, platform) if partition is None else program
    if platform != "cpu":
        keep = "off"
    lowered = lower(
        written,
        module,
        donated=request.donated,
        keep_unused=options.keep_unused,
        platform=platform,
        partition=partition,
        chooses=keep if callable(keep) else None,
    )
    lowered = lowered._replace(rerolled=written is not program)
    if keep == "off":
        return lowered, Kept()
    judged = keep == "auto" and partition is None and may_be_judged(lowered.operations)
    return lowered, keep_in(lowered.module, lowered.chosen, judged=judged, barriers=bool(lowered.barriers))


def compile_lowered(program: LoweredProgram, device: Any, better: Better | None = None) -> Compilation:
    """Compile StableHLO for one device, or for those among which it is partitioned; one that a ``better`` version is to
    replace is not kept on disk.

    Raises CompilationError when XLA refuses it, OutOfMemoryError when its results, or what XLA computes ahead, have no
    room there, and XLA's own error for a flag that it does not know.
    """
    require_room(program.program, program.request.donated, device)
    name, kept = program.name, program.lowered.kept
    began, clock = _begin(program.number, name, "compile")
    try:
        executable, module, cache, made = _loaded_or_told(program, device, began, on_disk=better is None)
    except (ir.MLIRError, _jax.JaxRuntimeError) as error:
        if _barriers_cannot_stay(program, error):
            return compile_lowered(program._replace(kept=Kept()), device, better)
        raise _explained(error, program.program, device, bool(program.request.options.flags)) from None
    partition = program.partition
    if partition is not None:
        results = results_of_partition(executable, partition, program.program.out_avals)
        if not all(map(is_even, results, program.program.out_avals)):
            return compile_lowered(_with_even_results(program, results, device), device, better)
        partition = partition._replace(results=tuple(results))
    seconds = time.perf_counter() - clock
    if made is not None and made.taken_up:  # a call that was interrupted began it
        began, seconds = made.began, made.seconds
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
                kept,
                None if partition is None else lying_texts(partition, len(kept)),
                kept_values=program.kept.names,
                quick=better is not None,
            )
        )
    return Compilation(
        executable,
        kept,
        device,
        module,
        program.number,
        began,
        seconds,
        cache,
        calls_python=bool(program.lowered.callbacks),
        partition=partition,
        kept_values=program.kept.names,
        better=better,
        failure=program.lowered.failure,
    )


def _barriers_cannot_stay(program: LoweredProgram, error: Exception) -> bool:
    """Whether XLA refuses a program because of barriers that are left in it, in a place that we know nothing of."""
    return bool(program.kept.passes) and "opt-barrier" in str(error)


def _with_even_results(program: LoweredProgram, results: Sequence[OnSeveral], device: Any) -> LoweredProgram:
    """The program lowered again: results of which XLA would give devices unequal parts are whole on each of them."""
    partition, avals = program.partition, program.program.out_avals
    assert partition is not None
    given = partition.results or (None,) * len(avals)
    chosen = tuple(
        old if is_even(new, aval) else partition.whole for old, new, aval in zip(given, results, avals, strict=True)
    )
    # Not another program: its number stays, and all that was asked for.
    request = program.request._replace(number=program.number, partition=partition._replace(results=chosen))
    return lower_program(request, device.platform)


def _loaded_or_told(program: LoweredProgram, device: Any, began: float, *, on_disk: bool) -> Loaded:
    """The executable of a module; a failure becomes a record."""
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
    """Whether what XLA would make of a program was kept on disk."""
    return is_kept(program.lowered.module, program.module, device, _options(program, device))


def _loaded(program: LoweredProgram, devices: tuple[Any, ...], options: Any, *, on_disk: bool) -> Loaded:
    """The executable of a module: from disk if it may be there, unless it calls Python functions of this process."""
    lowered = program.lowered
    content = functools.partial(of_its_own if lowered.callbacks else bytecode, lowered.module)
    own = program.number if lowered.callbacks else None  # the functions called are those of one trace

    def identity() -> tuple[Any, ...]:
        return nameless_bytecode(lowered.module), options.SerializeAsString(), devices, own

    source = Source(content, program.module, identity, program.number, program.name)
    if on_disk and not lowered.callbacks:
        return load_or_compile(source, lowered.module, devices, options)
    made = compile_source(source, devices, options, [guarded(function) for function in lowered.callbacks])
    return Loaded(made.executable, made.module, "miss", made)


def _begin(number: int, name: str, stage: Any) -> tuple[float, float]:
    if watchers:
        records.publish(records.Started(number, name, stage, time.time()))
    return time.time(), time.perf_counter()
