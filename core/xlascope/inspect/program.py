"""A program that is asked about: StableHLO whose names say which equation each operation belongs to."""

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

#: What is said of a program that nobody here can call.
NO_CALL = "of this program only StableHLO is known, and no call"


class QuestionError(ValueError):
    """A question needs what the program does not have: an equation, an operation, a kernel, a call to be made."""


class ChangeError(ValueError):
    """A change that cannot be made to a call."""


class Variant(NamedTuple):
    """A program with one thing changed: what it is now, in words, and what is to be known when the two are compared.

    ``unmeasured`` says why its time cannot be compared (``""`` when it can), ``on_cpu`` what else is different there;
    ``complaining`` is entered while it is compiled, and turns what is said against the change into an error of its own.
    """

    program: Program
    words: str
    unmeasured: str = ""
    on_cpu: str = ""
    complaining: AbstractContextManager[Any] = nullcontext()


class Host:
    """What the process that made a program can do with it besides compiling its StableHLO: this one nothing.

    A producer of programs derives from it, and answers what it can. ``kept`` holds results for as long as the program
    lives; ``variety`` tells apart what several programs keep in one.
    """

    def __init__(self, kept: dict[Any, Any] | None = None, variety: tuple[Any, ...] = ()) -> None:
        self.kept: dict[Any, Any] = {} if kept is None else kept
        self.variety = variety

    def compiled(self) -> list[records.Record] | None:
        """``Compiled`` (after ``Lowered``, if that happens now) of what runs here; None when nothing can run here."""
        return None

    def running(self) -> str:
        """The optimized HLO of what has run here, ``""`` when nothing has."""
        return ""

    def keeps_nothing(self) -> str:
        """Why nothing is kept that would be computed again, whatever it costs; ``""`` where what is worth it is."""
        return ""

    def check_callable(self) -> None:
        """Raise QuestionError unless there is a call that can be made (or changed)."""
        raise QuestionError(f"{NO_CALL}: ask about a call instead, as in inspect.timings(f, x)")

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """``Executed`` and ``Ceilings``, measured now."""
        self.check_callable()
        return []

    def copied(self) -> Copied | None:
        """What it costs that arguments of the call lie in NumPy arrays, measured now; None where none do."""
        return None

    def numbers(self) -> frozenset[int]:
        """The numbers of all programs that the call's function has led to, where that is known."""
        return frozenset()

    def unmeasured(self) -> str:
        """Why the call cannot be run now, ``""`` when it can."""
        return NO_CALL

    def runner(self) -> Callable[[], None]:
        """A function that makes the call once, and waits for its results."""
        self.check_callable()
        return lambda: None

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """The same program with one thing changed, for a platform (``""`` for where it runs)."""
        raise ChangeError(f"{NO_CALL}, which could be changed: ask about a call instead")


class Source(NamedTuple):
    """A program's StableHLO as its producer has it: text or bytes, or read already.

    ``callbacks`` is how many Python functions it calls (None: as many as there are such calls in it), ``kept`` which of
    the jaxpr's constants and inputs it takes (None: all of them), ``options`` XLA's flags without which it is not what
    its producer compiles. ``kept_values`` are the names of operations whose results are kept, each with the number of
    kernels that would compute it otherwise (0 where nobody knows).
    """

    stablehlo: bytes | str | StableHLO
    callbacks: int | None = None
    kept: tuple[bool, ...] | None = None
    options: tuple[tuple[str, Any], ...] = ()
    kept_values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A program that every question can be asked about, whoever made it.

    ``stablehlo`` is text, MLIR bytecode or a portable artifact, or a :class:`Source`; where each platform has rules of
    its own, a function that takes ``cpu``, ``cuda`` or ``tpu`` and returns one of these (NotImplementedError is for an
    operation that the platform lacks). Operations are named by their equations (``jit(f)/e3/jit(g)/e0/sin``), of which
    ``traced`` tells the rest. Without that record equations are known by their names alone, and where names say nothing
    answers are about kernels.

    ``options`` are XLA's flags for this program, ``host`` is what its own process can do with it; ``function`` and
    ``number`` stand for what ``traced`` would say. Raises :class:`~xlascope.xla.mlir.stablehlo.StableHLOError` (a
    ValueError of one line) for what is no StableHLO.

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
        """What is known of the equations: the record of the trace, or what the names in the StableHLO say."""
        if self.traced is not None:
            return self.traced
        number = records.next_program() if self.number is None else self.number
        return traced_by_names(self._read("cpu"), self.function, number)

    def input_for(self, target: Target) -> CompilerInput:
        """What a target's compiler is given; raises what lowering for it raises."""
        record, name = self.record, self.record.function or "main"
        try:
            source, read = self._source(target.platform), self._read(target.platform)
        except NotImplementedError as error:
            if target.platform == "cpu":
                raise
            raise NoLoweringError(f"{name} cannot be compiled for {target.name}: {error}") from error
        given = CompilerInput(target, read.module, record.program, name, _joined(self.options, source.options))
        callbacks = read.callbacks if source.callbacks is None else source.callbacks
        return check_callbacks(given._replace(callbacks=callbacks, kept=self._kept(source, read)))

    def compiled(self, watch: Watch | None = None) -> list[records.Record]:
        """``Compiled`` for the device that is here: by the program's own process, or by a compiler for this CPU."""
        made = self.host.compiled()
        if made is None:
            return [replace(self._compiled_apart(find_target("cpu"))(watch), target="")]
        return [with_folded(each, self.record) if isinstance(each, records.Compiled) else each for each in made]

    def compiled_for(self, target: Target) -> Callable[[Watch | None], records.Compiled]:
        """What will give ``Compiled`` for a target; what is wrong with the target or the program is said now."""
        if target.platform != "cpu":
            plugin_of(target)
            return self._compiled_apart(target)
        own = next((each for each in self.host.compiled() or () if isinstance(each, records.Compiled)), None)
        if own is None or own.platform != "cpu":
            return self._compiled_apart(target)
        found = replace(with_folded(own, self.record), target=target.name)
        return lambda watch: found

    def _compiled_apart(self, target: Target) -> Callable[[Watch | None], records.Compiled]:
        """The same from a compiler in a process of its own, asked once for as long as the host keeps answers."""
        kept, key = self.host.kept, ("target", target.name, *self.host.variety, self.options)
        if key in kept:
            return lambda watch: kept[key]
        given = self.input_for(target)

        def finish(watch: Watch | None) -> records.Compiled:
            made = kept[key] = with_folded(compile_input(given, watch), self.record)
            return made

        return finish

    def kept_values(self) -> dict[records.EquationPath, int]:
        """The equations whose results a CPU's compiler is told to keep, and in how many kernels it would compute each
        otherwise (0 where nobody knows).
        """
        values = self._source("cpu").kept_values
        return dict(sorted((path, kernels) for name, kernels in values for path in equation_paths(name)))

    def _source(self, platform: str) -> Source:
        """The StableHLO for a platform, read; one text is for all platforms."""
        key = platform if callable(self.stablehlo) else ""
        if key not in self._sources:
            given = self.stablehlo(platform) if callable(self.stablehlo) else self.stablehlo
            source = given if isinstance(given, Source) else Source(given)
            if not isinstance(source.stablehlo, StableHLO):
                source = source._replace(stablehlo=read_stablehlo(source.stablehlo))
            self._sources[key] = source
        return self._sources[key]

    def _read(self, platform: str) -> StableHLO:
        read = self._source(platform).stablehlo
        assert isinstance(read, StableHLO)
        return read

    def _kept(self, source: Source, read: StableHLO) -> tuple[bool, ...] | None:
        """Which operands are taken: as the producer says, or all when there are as many as arguments."""
        if source.kept is not None:
            return source.kept
        jaxpr = self.record.jaxpr
        operands = len(jaxpr.constants) + len(jaxpr.inputs)
        return (True,) * operands if operands == len(read.arguments) else None


def _joined(options: tuple[tuple[str, Any], ...], more: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Options with more of them; what is a list in both is one list."""
    found = dict(options)
    for name, value in more:
        found[name] = f"{found[name]},{value}" if name in found else value
    return tuple(found.items())


StableHLOSource = bytes | str | Source
