"""Programs that can be inspected: StableHLO whose names contain the equation of each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from .. import records
from ..analysis.doctor import Copied, Narrowed
from ..analysis.folded_products import add_folded_products
from ..records.op_names import equation_paths
from ..records.values import Position
from ..xla.mlir.stablehlo_reader import StableHLOProgram, read_stablehlo
from ..xla.targets import (
    CompileProgress,
    CompilerInput,
    NoLoweringError,
    Target,
    check_callbacks,
    compile_input,
    find_plugin,
    find_target,
)
from .stablehlo_names import trace_from_names

#: The reason for a program without a call.
NO_CALL_REASON = "of this program only StableHLO is known, and no call"

#: Why a call with an argument that was donated or deleted cannot be run; the argument's name stands before it.
DELETED = (
    "was donated to an earlier call or deleted, and has no values any more: ask with a new array, or copy it before "
    "that call, as in jnp.copy(x)"
)

#: The reason for a program whose values are not known.
NO_VALUES_REASON = (
    "the values of this program are not known: that needs a call of a function of xlascope or jax, whose equations are "
    "known"
)


class QuestionError(ValueError):
    """Question that needs something the program lacks: an equation, an operation, a kernel, or a callable."""


class ChangeError(ValueError):
    """Change that cannot be applied to a call."""


class Variant(NamedTuple):
    """Program with one thing changed, and what to say about the comparison with the original.

    ``words`` describe the change. ``unmeasured`` is the reason why its time cannot be compared (``""`` when it can),
    ``on_cpu`` names other differences on a CPU. ``error_context`` is entered while it is compiled, and turns errors
    about the change into ChangeError.
    """

    program: Program
    words: str
    unmeasured: str = ""
    on_cpu: str = ""
    error_context: AbstractContextManager[Any] = nullcontext()


class ProbedRun(NamedTuple):
    """Measurements of one twin of a program.

    ``values`` are in program order, and lack the names, types and lines, which the record of the trace has.
    ``seconds`` is the time of the run, ``outputs`` are the program's results.
    """

    values: list[records.ProbedValue]
    seconds: float
    outputs: list[Any]


class CapturedValue(NamedTuple):
    """Value of a call that was computed again: the array, and where in loops.

    ``loops`` has the length of each loop around it, outermost first, -1 where that is not known before it runs;
    ``iterations`` the chosen iteration of each, ``()`` for the last. With ``devices`` > 1 the first axis of the array
    has its value on each device of a ``shard_map``.
    """

    array: Any
    loops: tuple[int, ...]
    iterations: tuple[int, ...]
    devices: int


class ComparedOutputs(NamedTuple):
    """Comparison of a twin's results with those of the program itself.

    ``seconds`` is the time of the program, 0.0 if it was not run; ``equal`` the number of results that are equal to the
    bit, ``difference`` the largest relative difference of others; ``notes`` say what was not compared.
    """

    seconds: float
    equal: int
    difference: float | None
    notes: tuple[str, ...]


class Host:
    """Operations of the process that made a program, besides compiling its StableHLO; the base class has none.

    A producer of programs derives from it and implements what it can. ``kept`` caches results for as long as the
    program lives; ``variety`` distinguishes programs that share one cache.
    """

    def __init__(self, cache: dict[Any, Any] | None = None, variety: tuple[Any, ...] = ()) -> None:
        self.kept: dict[Any, Any] = {} if cache is None else cache
        self.variety = variety

    def compiled(self) -> list[records.Record] | None:
        """Compile the program for the device it runs on and return the records; None if this process cannot do that.

        The records are ``Compiled``, after ``Lowered`` if it is lowered now.
        """
        return None

    def running(self) -> str:
        """Return the optimized HLO of an executable of the program that has run here, ``""`` if there is none."""
        return ""

    def keeps_nothing(self) -> str:
        """Return why results are never kept in memory instead of being recomputed, ``""`` if they may be."""
        return ""

    def check_callable(self) -> None:
        """Raise QuestionError unless there is a call that can be made or changed."""
        raise QuestionError(f"{NO_CALL_REASON}: ask about a call instead, as in inspect.timings(f, x)")

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Measure the compiled call now and return the records ``Executed`` and ``Ceilings``."""
        self.check_callable()
        return []

    def copied(self) -> Copied | None:
        """Return the measured cost of NumPy arrays among the arguments, or None if there are none."""
        return None

    def compare_narrowed(self) -> Narrowed | None:
        """Return what narrowing does to the NumPy arrays among the arguments, or None if none is narrowed."""
        return None

    def numbers(self) -> frozenset[int]:
        """Return the program numbers of all traces of the function that is called; empty where they are unknown."""
        return frozenset()

    def unmeasured(self) -> str:
        """Return why the call cannot be run now, ``""`` when it can."""
        return NO_CALL_REASON

    def runner(self) -> Callable[[], None]:
        """Return a function that makes the call once and waits for its results."""
        self.check_callable()
        return lambda: None

    def user_runner(self) -> Callable[[], None]:
        """Return a function that makes the call as its user does, where that is possible, and waits for results."""
        return self.runner()

    def argument_bytes(self) -> int:
        """Return the bytes of the arrays among the call's arguments, which are held to look into its values."""
        return 0

    def probed_ranges(self, selection: frozenset[records.EquationPath] | None) -> ProbedRun:
        """Run the call as a twin that finds the range of each value; ``selection`` are equations, None for all."""
        raise QuestionError(NO_VALUES_REASON)

    def probed_statistics(self, selection: frozenset[records.EquationPath] | None, until: str) -> ProbedRun:
        """Run the call as a twin with full statistics of equations and their operands.

        In loops these are of all iterations, or with ``until`` (``nan``, ``inf``) of the first one in which a result of
        the equation holds that.
        """
        raise QuestionError(NO_VALUES_REASON)

    def captured_value(
        self,
        path: records.EquationPath,
        position: Position,
        index: int,
        iterations: Sequence[int] = (),
        max_bytes: int = 1 << 30,
    ) -> CapturedValue:
        """Compute one value of the call again: an operand, a result, or (with the path ``""``) an argument.

        ``iterations`` are those of the loops around it, outermost first; ``()``: the last. Only what the value needs is
        run; each choice is compiled once. Raises QuestionError for a value that is larger than ``max_bytes``, was not
        computed, or is not there.
        """
        raise QuestionError(NO_VALUES_REASON)

    def has_bad_results(self) -> bool | None:
        """Run the call once, and return whether a result holds NaN or infinity; None where that is not known."""
        return None

    def compared_outputs(self, outputs: Sequence[Any]) -> ComparedOutputs:
        """Run the call itself, and compare its results with those of a twin."""
        raise QuestionError(NO_VALUES_REASON)

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Return the program with one thing changed; raise ChangeError if that is impossible.

        ``change`` is as in :func:`~xlascope.inspect.what_if`, ``platform`` is what it will be compiled for (``""``:
        where it runs).
        """
        raise ChangeError(f"{NO_CALL_REASON}, which could be changed: ask about a call instead")


class Source(NamedTuple):
    """StableHLO of a program in the form its producer has: text, bytes, or parsed.

    ``callbacks`` is the number of Python functions it calls (None: as many as there are such calls in it),
    ``kept`` tells which of the jaxpr's constants and inputs it takes (None: all of them), ``options`` are XLA's
    flags that its producer compiles it with. ``kept_values`` are the names of operations whose results are kept,
    each with the number of kernels that would otherwise recompute it (0 if unknown).
    """

    stablehlo: bytes | str | StableHLOProgram
    callbacks: int | None = None
    kept: tuple[bool, ...] | None = None
    options: tuple[tuple[str, Any], ...] = ()
    kept_values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """Program of any origin that can be inspected.

    ``stablehlo`` is text, MLIR bytecode or a portable artifact, or a :class:`Source`; if lowering depends on the
    platform, a function that takes ``cpu``, ``cuda`` or ``tpu`` and returns one of these (it raises
    NotImplementedError for an operation that the platform lacks). Operations have the names of their equations
    (``jit(f)/e3/jit(g)/e0/sin``), and ``traced`` is the record of these. Without that record equations are known
    by name only, and if the names have none, answers are about kernels.

    ``options`` are XLA's flags for this program, ``host`` provides what its own process can do with it;
    ``function`` and ``number`` replace those of a missing ``traced``. Raises
    :class:`~xlascope.xla.mlir.stablehlo_reader.StableHLOError` (a ValueError of one line) for invalid StableHLO.

    >>> program = Program('''module @jit_f {
    ...   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    ...     %0 = stablehlo.sine %x : tensor<4xf32> loc("jit(f)/e0/sin")
    ...     return %0 : tensor<4xf32>
    ...   }
    ... }''')
    >>> program.record.function, [(each.path, each.operation) for each in program.record.jaxpr.walk()]
    ('f', [('0', 'sin')])
    """

    stablehlo: StableHLOSource | Callable[[str], StableHLOSource]
    traced: records.Traced | None = None
    function: str = ""
    number: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    host: Host = field(default_factory=Host)
    _sources: dict[str, Source] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"Program({self.record.function}, number {self.record.program})"

    def __post_init__(self) -> None:
        if not callable(self.stablehlo):
            self._source_for("")

    @cached_property
    def record(self) -> records.Traced:
        """Return the record of the trace, or one built from the names in the StableHLO."""
        if self.traced is not None:
            return self.traced
        number = records.next_program() if self.number is None else self.number
        return trace_from_names(self._stablehlo_for("cpu"), self.function, number)

    def input_for(self, target: Target) -> CompilerInput:
        """Return the input of a target's compiler; raise what lowering for it raises."""
        record, name = self.record, self.record.function or "main"
        try:
            source, read = self._source_for(target.platform), self._stablehlo_for(target.platform)
        except NotImplementedError as error:
            if target.platform == "cpu":
                raise
            raise NoLoweringError(f"{name} cannot be compiled for {target.name}: {error}") from error
        compiler_input = CompilerInput(
            target, read.module, record.program, name, _merge_options(self.options, source.options)
        )
        callbacks = read.callbacks if source.callbacks is None else source.callbacks
        return check_callbacks(
            compiler_input._replace(callbacks=callbacks, kept_operands=self._kept_operands(source, read))
        )

    def compiled(self, watch: CompileProgress | None = None) -> list[records.Record]:
        """Return ``Compiled`` for the present device: from the program's own process, or from a CPU compiler.

        ``Lowered`` precedes it if the program is lowered now. ``watch`` reports progress and can stop a compiler in a
        subprocess.
        """
        host_records = self.host.compiled()
        if host_records is None:
            return [replace(self._compile_in_subprocess(find_target("cpu"))(watch), target="")]
        return [
            add_folded_products(record, self.record) if isinstance(record, records.Compiled) else record
            for record in host_records
        ]

    def compiled_for(self, target: Target) -> Callable[[CompileProgress | None], records.Compiled]:
        """Return a function that compiles for a target, reports progress to its argument, and returns ``Compiled``.

        An invalid target or program raises an error now, not when the function is called. For the CPU, the process that
        runs the program may compile it at once; the function then only returns that record.
        """
        if target.platform != "cpu":
            find_plugin(target)
            return self._compile_in_subprocess(target)
        host_compiled = next(
            (record for record in self.host.compiled() or () if isinstance(record, records.Compiled)), None
        )
        if host_compiled is None or host_compiled.platform != "cpu":
            return self._compile_in_subprocess(target)
        compiled = replace(add_folded_products(host_compiled, self.record), target=target.name)
        return lambda watch: compiled

    def _compile_in_subprocess(self, target: Target) -> Callable[[CompileProgress | None], records.Compiled]:
        """Return a function that compiles for a target in a subprocess; the record is cached in ``host.kept``."""
        cache, key = self.host.kept, ("target", target.name, *self.host.variety, self.options)
        if key in cache:
            return lambda watch: cache[key]
        compiler_input = self.input_for(target)

        def finish(watch: CompileProgress | None) -> records.Compiled:
            compiled = cache[key] = add_folded_products(compile_input(compiler_input, watch), self.record)
            return compiled

        return finish

    def kept_values(self) -> dict[records.EquationPath, int]:
        """Return the equations whose results a CPU's compiler must keep, with the kernels that would recompute.

        The number of kernels is 0 if it is unknown.
        """
        values = self._source_for("cpu").kept_values
        return dict(sorted((path, kernels) for name, kernels in values for path in equation_paths(name)))

    def _source_for(self, platform: str) -> Source:
        """Return the parsed StableHLO for a platform, read once.

        StableHLO that was given as text or bytes, and not as a function of the platform, is returned for every
        platform.
        """
        key = platform if callable(self.stablehlo) else ""
        if key not in self._sources:
            stablehlo = self.stablehlo(platform) if callable(self.stablehlo) else self.stablehlo
            source = stablehlo if isinstance(stablehlo, Source) else Source(stablehlo)
            if not isinstance(source.stablehlo, StableHLOProgram):
                source = source._replace(stablehlo=read_stablehlo(source.stablehlo))
            self._sources[key] = source
        return self._sources[key]

    def _stablehlo_for(self, platform: str) -> StableHLOProgram:
        read = self._source_for(platform).stablehlo
        assert isinstance(read, StableHLOProgram)
        return read

    def _kept_operands(self, source: Source, read: StableHLOProgram) -> tuple[bool, ...] | None:
        """Return the mask of constants and inputs that the executable takes; None if it is unknown.

        It is what the producer says, or all of them if the StableHLO has as many arguments.
        """
        if source.kept is not None:
            return source.kept
        jaxpr = self.record.jaxpr
        operands = len(jaxpr.constants) + len(jaxpr.inputs)
        return (True,) * operands if operands == len(read.arguments) else None


def _merge_options(
    options: tuple[tuple[str, Any], ...], more: tuple[tuple[str, Any], ...]
) -> tuple[tuple[str, Any], ...]:
    """Return options merged with more of them; values in both are joined by commas."""
    merged = dict(options)
    for name, value in more:
        merged[name] = f"{merged[name]},{value}" if name in merged else value
    return tuple(merged.items())


StableHLOSource = bytes | str | Source
