"""Hosts that compile, run and change a jax program in this process: one registered before, or one of a given call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
from jax import tree_util

from xlascope import records
from xlascope.inspect import Host, QuestionError
from xlascope.inspect.producers import Asked
from xlascope.inspect.program import Variant
from xlascope.inspect.quiet import inspection
from xlascope.inspect.running.measure import measure
from xlascope.xla.system.device_names import device_name

from .apart import options_of
from .ceilings import measure_ceilings
from .programs import Known, Made, labels_of
from .stages import Stages, compiled_again

NO_CALL = "of this program of jax no call is known now: ask about one, as in inspect.timings(f, x)"
#: An XLA option at its default value: it changes jax's cache key and nothing else.
_OPTIONS_OF_ITS_OWN = {"xla_dump_hlo_as_text": False}
#: Makes the variant of a program or call in which one thing is changed.
Change = Callable[[Mapping[str, Any]], Variant]


class KnownHost(Host):
    """The host of a registered program, with access to its executables.

    ``make_variant`` makes changed variants. ``detached_lowering`` is the lowering of a program that is
    detached from its function, and None for all others.
    """

    def __init__(self, stages: Stages, entry: Known, make_variant: Change, detached_lowering: Any = None) -> None:
        super().__init__(entry.kept)
        self.stages, self.known = stages, entry
        self._change, self._apart = make_variant, detached_lowering
        self._own: Any = None

    def compiled(self) -> list[records.Record] | None:
        """Return the records of the executable, or None if unknown or loaded from disk without names."""
        executable = self._made()
        return None if executable is None else [compiled_again(self.known, executable)]

    def _made(self) -> Made | None:
        latest = next((executable for executable in reversed(self.known.made) if not executable.loaded), None)
        return self._compile_apart() if latest is None and self._apart is not None else latest

    def _compile_apart(self) -> Made:
        """Compile the detached lowering with its own options, bypassing jax's disk cache."""
        with inspection(), self.stages.past_the_disk():
            self._own = self._apart.compile(options_of(self.known))
        return self._made_of(self._own)

    def _made_of(self, compiled: Any) -> Made:
        executable = getattr(compiled, "_executable", compiled).xla_executable
        return next(candidate for candidate in self.known.made if candidate.executable is executable)

    def running(self) -> str:
        """Return the optimized HLO of the first executable."""
        return str(self.known.made[0].executable.hlo_modules()[0].to_string()) if self.known.made else ""

    def keeps_nothing(self) -> str:
        """Return why no values are materialized; ``""`` for a detached program, where they may be."""
        if self._apart is not None:
            return ""
        return "jax compiles programs as they are; what if, with keep='auto', shows what is worth it"

    def check_callable(self) -> None:
        """Raise QuestionError: the arguments of registered programs are not stored."""
        raise QuestionError(NO_CALL)

    def unmeasured(self) -> str:
        """Return why the program cannot be measured: its arguments are not stored."""
        return NO_CALL

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Return the variant with one thing changed, traced again if needed."""
        with inspection():
            return self._change(change)


class CallHost(KnownHost):
    """The host of a call: it can be compiled and run as its user does, and changed.

    ``lowered`` is jax's Lowered; ``detached`` says that it is detached from its function.
    """

    def __init__(
        self,
        stages: Stages,
        entry: Known,
        query: Asked,
        lowered: Any,
        make_variant: Change,
        *,
        detached: bool,
    ) -> None:
        super().__init__(stages, entry, make_variant, lowered if detached else None)
        self._asked, self._lowered = query, lowered

    def _made(self) -> Made | None:
        """Return the executable that the function itself runs; compile one if that came from disk or does not exist."""
        if self._own is not None:
            return self._made_of(self._own)
        if any(executable.loaded for executable in self.known.made):
            return self._compile_afresh()
        return super()._made() or self._compile()

    def _compile(self) -> Made:
        with inspection():
            return self._made_of(self._lowered.compile())

    def _compile_afresh(self) -> Made:
        """Compile again, bypassing jax's disk cache, and its in-memory cache by an option without effect."""
        with inspection(), self.stages.past_the_disk():
            self._own = self._lowered.compile(_OPTIONS_OF_ITS_OWN)
        return self._made_of(self._own)

    def check_callable(self) -> None:
        """Do nothing: a call can be run."""

    def unmeasured(self) -> str:
        """Return why the call cannot be run: shapes without values among its arguments; ``""`` if it can."""
        leaves = tree_util.tree_leaves((self._asked.args, self._asked.kwargs))
        shapes = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
        return "there are shapes and no values among the arguments" if shapes else ""

    def runner(self) -> Callable[[], None]:
        """Return a function that runs the call, on copies of the arguments if it donates them."""
        self._made()
        function, args, kwargs = self._called()
        donates = any(info.donated for info in tree_util.tree_leaves(self._lowered.args_info))

        def run() -> None:
            call_arguments = tree_util.tree_map(_copied, (args, kwargs)) if donates else (args, kwargs)
            jax.block_until_ready(function(*call_arguments[0], **call_arguments[1]))

        return run

    def _called(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function, arguments and keyword arguments to call.

        An executable compiled privately takes no static arguments.
        """
        function, args, kwargs = self._asked
        if self._own is None:
            return function, args, kwargs
        options = getattr(function, "_jit_info", None)
        static, names = (options.static_argnums, options.static_argnames) if options else ((), ())
        positions = {item % len(args) for item in static if args}
        dynamic = tuple(item for number, item in enumerate(args) if number not in positions)
        return self._own, dynamic, {name: item for name, item in kwargs.items() if name not in names}

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Measure the call in profiler windows; return its record and the device's ceilings."""
        if reason := self.unmeasured():
            raise QuestionError(f"{self.known.name} cannot be run: {reason}")
        with inspection():
            run = self.runner()
            run()
            executed = measure(run, compiled, labels_of([self.known]))
            device = self.known.made[0].devices[0]
            ceilings = measure_ceilings(device)
        identity = executed.program, executed.function, ceilings.time, device_name(device)
        return [executed, records.Ceilings(*identity, ceilings.flops, ceilings.bytes_per_second, ceilings.source)]

    def numbers(self) -> frozenset[int]:
        """Return the numbers of all programs of the function."""
        function = getattr(self._asked.function, "_fun", None)
        return frozenset(entry.number for entry in self.stages.programs.of_function(function))


def _copied(x: Any) -> Any:
    return jax.numpy.array(x, copy=True) if isinstance(x, jax.Array) else x
