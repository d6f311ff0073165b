"""Hosts that compile, run and change a jax program in this process: one registered before, or one of a given call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import tree_util

from xlascope import records
from xlascope.analysis.doctor import Narrowed
from xlascope.inspect import Host, QuestionError
from xlascope.inspect.inspection_scope import inspection
from xlascope.inspect.narrowed_arguments import find_narrowed
from xlascope.inspect.producers import Query
from xlascope.inspect.program import DELETED, CapturedValue, ComparedOutputs, ProbedRun, Variant
from xlascope.inspect.running.measurement import measure
from xlascope.records.values import Position
from xlascope.xla.system.device_names import device_name

from .ceilings import measure_ceilings
from .detached import compiler_options
from .programs import ExecutableEntry, ProgramEntry, module_labels
from .stage_hooks import StageHooks, ensure_compiled_record
from .value_capture import capture
from .value_runs import (
    ProbedCall,
    calls_python,
    compare_with_original,
    find_probed_call,
    has_bad_results,
    run_first_pass,
    run_statistics,
)

NO_CALL = "of this program of jax no call is known now: ask about one, as in inspect.timings(f, x)"
#: An XLA option at its default value: it changes jax's cache key and nothing else.
_CACHE_BYPASSING_OPTIONS = {"xla_dump_hlo_as_text": False}
#: Makes the variant of a program or call in which one thing is changed.
MakeVariant = Callable[[Mapping[str, Any]], Variant]


class JaxProgramHost(Host):
    """Host of a registered program of jax, whose call is not known.

    ``make_variant(change)`` returns the program with one thing changed. ``detached_lowering`` is the lowering of a
    program that is detached from its function, and None for all others.
    """

    def __init__(
        self, stages: StageHooks, entry: ProgramEntry, make_variant: MakeVariant, detached_lowering: Any = None
    ) -> None:
        super().__init__(entry.answer_cache)
        self.stages, self.entry = stages, entry
        self._make_variant, self._detached_lowering = make_variant, detached_lowering
        self._private_executable: Any = None

    def compiled(self) -> list[records.Record] | None:
        """Return the record of the program's executable; None without one that was compiled in this process."""
        executable = self._get_executable()
        return None if executable is None else [ensure_compiled_record(self.entry, executable)]

    def _get_executable(self) -> ExecutableEntry | None:
        """Return the latest executable that was compiled here; a detached program is compiled if it has none."""
        latest = next(
            (executable for executable in reversed(self.entry.executables) if not executable.is_from_disk), None
        )
        return self._compile_detached() if latest is None and self._detached_lowering is not None else latest

    def _compile_detached(self) -> ExecutableEntry:
        """Compile the detached lowering with its own options, bypassing jax's disk cache."""
        with inspection(), self.stages.bypass_disk_cache():
            self._private_executable = self._detached_lowering.compile(compiler_options(self.entry))
        return self._entry_of(self._private_executable)

    def _entry_of(self, compiled: Any) -> ExecutableEntry:
        executable = getattr(compiled, "_executable", compiled).xla_executable
        return next(candidate for candidate in self.entry.executables if candidate.executable is executable)

    def running(self) -> str:
        """Return the optimized HLO of the program's first executable, ``""`` if it has none."""
        return str(self.entry.executables[0].executable.hlo_modules()[0].to_string()) if self.entry.executables else ""

    def keeps_nothing(self) -> str:
        """Return why no values are materialized; ``""`` for a detached program, where they may be."""
        if self._detached_lowering is not None:
            return ""
        return "jax compiles programs as they are; what if, with keep='auto', shows what is worth it"

    def check_callable(self) -> None:
        """Raise QuestionError: the arguments of registered programs are not stored."""
        raise QuestionError(NO_CALL)

    def unmeasured(self) -> str:
        """Return why the program cannot be measured: its arguments are not stored."""
        return NO_CALL

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Return the program with one thing changed, traced again if the change requires it.

        ``change`` is as in :func:`xlascope.inspect.what_if`; ``platform`` is not used.
        """
        with inspection():
            return self._make_variant(change)


class JaxCallHost(JaxProgramHost):
    """Host of a call of jax: it can be compiled and run as its user does, and changed.

    ``query`` is the call and ``lowered`` jax's Lowered of it; ``detached`` says that this is detached from its
    function.
    """

    def __init__(
        self,
        stages: StageHooks,
        entry: ProgramEntry,
        query: Query,
        lowered: Any,
        make_variant: MakeVariant,
        *,
        detached: bool,
    ) -> None:
        super().__init__(stages, entry, make_variant, lowered if detached else None)
        self._query, self._lowered = query, lowered
        self._probed: ProbedCall | None = None

    def _get_executable(self) -> ExecutableEntry | None:
        """Return the executable that the function itself runs; compile one if that came from disk or does not exist."""
        if self._private_executable is not None:
            return self._entry_of(self._private_executable)
        if any(executable.is_from_disk for executable in self.entry.executables):
            return self._compile_afresh()
        return super()._get_executable() or self._compile()

    def _compile(self) -> ExecutableEntry:
        with inspection():
            return self._entry_of(self._lowered.compile())

    def _compile_afresh(self) -> ExecutableEntry:
        """Compile again, bypassing jax's disk cache, and its in-memory cache by an option without effect."""
        with inspection(), self.stages.bypass_disk_cache():
            self._private_executable = self._lowered.compile(_CACHE_BYPASSING_OPTIONS)
        return self._entry_of(self._private_executable)

    def check_callable(self) -> None:
        """Do nothing: a call can be run."""

    def unmeasured(self) -> str:
        """Return why the call cannot be run: shapes or deleted arrays among its arguments; ``""`` if it can."""
        leaves = tree_util.tree_leaves_with_path((self._query.args, self._query.kwargs))
        if any(isinstance(leaf, jax.ShapeDtypeStruct) for _, leaf in leaves):
            return "there are shapes and no values among the arguments"
        deleted = [_argument_name(path) for path, leaf in leaves if isinstance(leaf, jax.Array) and leaf.is_deleted()]
        return f"{deleted[0]} {DELETED}" if deleted else ""

    def runner(self) -> Callable[[], None]:
        """Return a function that makes the call and waits for results; arguments are copied if some are donated."""
        call = self._make_caller()

        def run() -> None:
            jax.block_until_ready(call())

        return run

    def _make_caller(self) -> Callable[[], Any]:
        """Return a function that makes the call and returns its results; arguments are copied if some are donated."""
        self._get_executable()
        function, args, kwargs = self._resolve_call()
        donates = any(info.donated for info in tree_util.tree_leaves(self._lowered.args_info))

        def call() -> Any:
            call_arguments = tree_util.tree_map(copy_array, (args, kwargs)) if donates else (args, kwargs)
            return function(*call_arguments[0], **call_arguments[1])

        return call

    # Values ----------------------------------------------------------------------------------------------------------

    def probed_ranges(self, selection: frozenset[records.EquationPath] | None) -> ProbedRun:
        """Run the call as a twin that finds the range of each value; see :meth:`.Host.probed_ranges`."""
        with inspection():
            return run_first_pass(self.probed_call(), selection)

    def probed_statistics(self, selection: frozenset[records.EquationPath] | None, until: str) -> ProbedRun:
        """Run the call as a twin with full statistics; see :meth:`.Host.probed_statistics`."""
        with inspection():
            return run_statistics(self.probed_call(), selection, until)

    def has_bad_results(self) -> bool | None:
        """Run the call once, unless that has effects, and return whether a result holds NaN or infinity."""
        with inspection():
            if self.entry.closed_ref() is None or calls_python(self.entry.closed_ref()):
                return None
            return has_bad_results(self._run_original(self._make_caller()))

    def compared_outputs(self, outputs: Sequence[Any]) -> ComparedOutputs:
        """Run the call itself, unless that has effects, and compare its results with those of a twin."""
        with inspection():
            call = self._make_caller()
            return compare_with_original(self.probed_call().program, lambda: self._run_original(call), outputs)

    def captured_value(
        self,
        path: records.EquationPath,
        position: Position,
        index: int,
        iterations: Sequence[int] = (),
        max_bytes: int = 1 << 30,
    ) -> CapturedValue:
        """Compute one value of the call again; see :meth:`.Host.captured_value`."""
        if reason := self.unmeasured():
            raise QuestionError(f"the values of {self.entry.name} are not known: {reason}")
        with inspection():
            return capture(self.probed_call(), path, position, index, iterations, max_bytes)

    def argument_bytes(self) -> int:
        """Return the bytes of the arrays among the call's arguments; see :meth:`.Host.argument_bytes`."""
        return sum(int(getattr(leaf, "nbytes", 0)) for leaf in tree_util.tree_leaves(self._query[1:]))

    def _run_original(self, call: Callable[[], Any]) -> list[Any]:
        """Make the call and return the arrays among its results; NaN is no error here, whatever jax's settings say."""
        with jax.debug_nans(False), jax.debug_infs(False):
            return [leaf for leaf in tree_util.tree_leaves(call()) if isinstance(leaf, jax.Array)]

    def probed_call(self) -> ProbedCall:
        """Return the call as the jaxpr that jax lowers and its operands; raise QuestionError if they cannot be had."""
        if self._probed is None:
            with self.stages.capture_operands() as captured:
                lower_call(self._query)
            self._probed = find_probed_call(self.entry, captured, self._compiler_options(), self.stages)
        return self._probed

    def _compiler_options(self) -> dict[str, Any]:
        """Return the options with which the call's program is compiled."""
        info = getattr(self._query.function, "_jit_info", None)
        return {**dict(getattr(info, "compiler_options_kvs", ())), **dict(self.entry.options)}

    def _resolve_call(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function, arguments and keyword arguments to call.

        An executable compiled privately takes no static arguments.
        """
        function, args, kwargs = self._query
        if self._private_executable is None:
            return function, args, kwargs
        options = getattr(function, "_jit_info", None)
        static, names = (options.static_argnums, options.static_argnames) if options else ((), ())
        positions = {item % len(args) for item in static if args}
        dynamic = tuple(item for number, item in enumerate(args) if number not in positions)
        return self._private_executable, dynamic, {name: item for name, item in kwargs.items() if name not in names}

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Measure the call in profiler windows; return its record and the device's ceilings."""
        if reason := self.unmeasured():
            raise QuestionError(f"{self.entry.name} cannot be run: {reason}")
        with inspection():
            run = self.runner()
            run()
            executed = measure(run, compiled, module_labels([self.entry]))
            device = self.entry.executables[0].devices[0]
            ceilings = measure_ceilings(device)
        identity = executed.program, executed.function, ceilings.time, device_name(device)
        return [executed, records.Ceilings(*identity, ceilings.flops, ceilings.bytes_per_second, ceilings.source)]

    def compare_narrowed(self) -> Narrowed | None:
        """Return what narrowing does to the call's NumPy arrays in float64; None with x64."""
        if jax.config.jax_enable_x64:
            return None
        leaves = tree_util.tree_leaves_with_path((self._query.args, self._query.kwargs))
        return find_narrowed((_argument_name(path), leaf) for path, leaf in leaves)

    def numbers(self) -> frozenset[int]:
        """Return the program numbers of all known traces of the function that is called."""
        function = getattr(self._query.function, "_fun", None)
        return frozenset(entry.number for entry in self.stages.programs.of_function(function))


def lower_call(query: Query) -> Any:
    """Lower a call, and return jax's own Lowered, which libraries such as equinox and flax wrap in their own."""
    function: Any = query.function
    lowered = function.lower(*query.args, **query.kwargs)
    while not isinstance(lowered, jax.stages.Lowered):
        lowered = lowered.lowered
    return lowered


def _argument_name(path: tuple[Any, ...]) -> str:
    """Return the name of a leaf of the arguments: that of its keyword, or its number, and its place within."""
    _, first, *rest = path
    name = str(first.key) if hasattr(first, "key") else f"argument {first.idx}"
    return name + tree_util.keystr(tuple(rest))


def copy_array(x: Any) -> Any:
    """Return a copy of an array of jax, and anything else as it is."""
    return jax.numpy.array(x, copy=True) if isinstance(x, jax.Array) else x
