"""Programs that can be inspected: StableHLO whose names contain the equation of each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from .. import records
from ..analysis.doctor import Copied
from ..analysis.folded_products import with_folded
from ..records.op_names import equation_paths
from ..xla.mlir.stablehlo import StableHLO, read_stablehlo
from ..xla.targets import (
    CompilerInput,
    NoLoweringError,
    Target,
    Watch,
    check_callbacks,
    compile_input,
    find_target,
    plugin_of,
)
from .named import traced_by_names

#: The reason for a program without a call.
NO_CALL = "of this program only StableHLO is known, and no call"


class QuestionError(ValueError):
    """Question that needs something the program lacks: an equation, an operation, a kernel, or a callable."""


class ChangeError(ValueError):
    """Change that cannot be applied to a call."""


class Variant(NamedTuple):
    """Program with one thing changed, a description of the change, and notes for the comparison.

    ``unmeasured`` is the reason why its time cannot be compared (``""`` when it can), ``on_cpu`` names other
    differences there; ``error_context`` is entered while it is compiled, and turns errors about the change into
    ChangeError.
    """

    program: Program
    words: str
    unmeasured: str = ""
    on_cpu: str = ""
    complaining: AbstractContextManager[Any] = nullcontext()


class Host:
    """Operations of the process that made a program, besides compiling its StableHLO; the base class has none.

    A producer of programs derives from it and implements what it can. ``kept`` caches results for as long as the
    program lives; ``variety`` distinguishes programs that share one cache.
    """

    def __init__(self, cache: dict[Any, Any] | None = None, variety: tuple[Any, ...] = ()) -> None:
        self.kept: dict[Any, Any] = {} if cache is None else cache
        self.variety = variety

    def compiled(self) -> list[records.Record] | None:
        """Return ``Compiled`` (after ``Lowered``, if that happens now) of what runs here; None if nothing can."""
        return None

    def running(self) -> str:
        """Return the optimized HLO of what has run here, ``""`` when nothing has."""
        return ""

    def keeps_nothing(self) -> str:
        """Return why no recomputed results are kept, whatever the cost, or ``""``."""
        return ""

    def check_callable(self) -> None:
        """Raise QuestionError unless there is a call that can be made or changed."""
        raise QuestionError(f"{NO_CALL}: ask about a call instead, as in inspect.timings(f, x)")

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Return ``Executed`` and ``Ceilings``, measured now."""
        self.check_callable()
        return []

    def copied(self) -> Copied | None:
        """Return the measured cost of NumPy arrays among the arguments, or None if there are none."""
        return None

    def numbers(self) -> frozenset[int]:
        """Return the numbers of all programs of the call's function, where that is known."""
        return frozenset()

    def unmeasured(self) -> str:
        """Return why the call cannot be run now, ``""`` when it can."""
        return NO_CALL

    def runner(self) -> Callable[[], None]:
        """Return a function that makes the call once and waits for its results."""
        self.check_callable()
        return lambda: None

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Return the program with one thing changed, for a platform (``""`` for where it runs)."""
        raise ChangeError(f"{NO_CALL}, which could be changed: ask about a call instead")


class Source(NamedTuple):
    """StableHLO of a program in the form its producer has: text, bytes, or parsed.

    ``callbacks`` is the number of Python functions it calls (None: as many as there are such calls in it),
    ``kept`` tells which of the jaxpr's constants and inputs it takes (None: all of them), ``options`` are XLA's
    flags that its producer compiles it with. ``kept_values`` are the names of operations whose results are kept,
    each with the number of kernels that would otherwise recompute it (0 if unknown).
    """

    stablehlo: bytes | str | StableHLO
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
    :class:`~xlascope.xla.mlir.stablehlo.StableHLOError` (a ValueError of one line) for invalid StableHLO.

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
            self._source("")

    @cached_property
    def record(self) -> records.Traced:
        """Return the record of the trace, or one built from the names in the StableHLO."""
        if self.traced is not None:
            return self.traced
        number = records.next_program() if self.number is None else self.number
        return traced_by_names(self._read("cpu"), self.function, number)

    def input_for(self, target: Target) -> CompilerInput:
        """Return the input of a target's compiler; raise what lowering for it raises."""
        record, name = self.record, self.record.function or "main"
        try:
            source, read = self._source(target.platform), self._read(target.platform)
        except NotImplementedError as error:
            if target.platform == "cpu":
                raise
            raise NoLoweringError(f"{name} cannot be compiled for {target.name}: {error}") from error
        compiler_input = CompilerInput(target, read.module, record.program, name, _joined(self.options, source.options))
        callbacks = read.callbacks if source.callbacks is None else source.callbacks
        return check_callbacks(compiler_input._replace(callbacks=callbacks, kept=self._kept(source, read)))

    def compiled(self, watch: Watch | None = None) -> list[records.Record]:
        """Return ``Compiled`` for the present device: by the program's own process, or by a CPU compiler."""
        host_records = self.host.compiled()
        if host_records is None:
            return [replace(self._compiled_apart(find_target("cpu"))(watch), target="")]
        return [
            with_folded(record, self.record) if isinstance(record, records.Compiled) else record
            for record in host_records
        ]

    def compiled_for(self, target: Target) -> Callable[[Watch | None], records.Compiled]:
        """Return a function that gives ``Compiled`` for a target; an invalid target or program raises now."""
        if target.platform != "cpu":
            plugin_of(target)
            return self._compiled_apart(target)
        host_compiled = next(
            (record for record in self.host.compiled() or () if isinstance(record, records.Compiled)), None
        )
        if host_compiled is None or host_compiled.platform != "cpu":
            return self._compiled_apart(target)
        compiled = replace(with_folded(host_compiled, self.record), target=target.name)
        return lambda watch: compiled

    def _compiled_apart(self, target: Target) -> Callable[[Watch | None], records.Compiled]:
        """Return a function that compiles in a subprocess, once for as long as the host caches results."""
        cache, key = self.host.kept, ("target", target.name, *self.host.variety, self.options)
        if key in cache:
            return lambda watch: cache[key]
        compiler_input = self.input_for(target)

        def finish(watch: Watch | None) -> records.Compiled:
            compiled = cache[key] = with_folded(compile_input(compiler_input, watch), self.record)
            return compiled

        return finish

    def kept_values(self) -> dict[records.EquationPath, int]:
        """Return the equations whose results a CPU's compiler must keep, with the kernels that would recompute.

        The number of kernels is 0 if it is unknown.
        """
        values = self._source("cpu").kept_values
        return dict(sorted((path, kernels) for name, kernels in values for path in equation_paths(name)))

    def _source(self, platform: str) -> Source:
        """Return the parsed StableHLO for a platform; a single text is for all platforms."""
        key = platform if callable(self.stablehlo) else ""
        if key not in self._sources:
            stablehlo = self.stablehlo(platform) if callable(self.stablehlo) else self.stablehlo
            source = stablehlo if isinstance(stablehlo, Source) else Source(stablehlo)
            if not isinstance(source.stablehlo, StableHLO):
                source = source._replace(stablehlo=read_stablehlo(source.stablehlo))
            self._sources[key] = source
        return self._sources[key]

    def _read(self, platform: str) -> StableHLO:
        read = self._source(platform).stablehlo
        assert isinstance(read, StableHLO)
        return read

    def _kept(self, source: Source, read: StableHLO) -> tuple[bool, ...] | None:
        """Return which operands are kept: as the producer says, or all if there are as many as arguments."""
        if source.kept is not None:
            return source.kept
        jaxpr = self.record.jaxpr
        operands = len(jaxpr.constants) + len(jaxpr.inputs)
        return (True,) * operands if operands == len(read.arguments) else None


def _joined(options: tuple[tuple[str, Any], ...], more: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Return options merged with more of them; values in both are joined by commas."""
    merged = dict(options)
    for name, value in more:
        merged[name] = f"{merged[name]},{value}" if name in merged else value
    return tuple(merged.items())


StableHLOSource = bytes | str | Source
