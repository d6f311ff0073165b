"""What this process can do with a program of jax: of one that was met, and of a call."""

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
#: One of XLA's options, as it is anyhow.
_OPTIONS_OF_ITS_OWN = {"xla_dump_hlo_as_text": False}
#: Makes the variant of a program, or a call, that has one thing changed.
Change = Callable[[Mapping[str, Any]], Variant]


class KnownHost(Host):
    """What this process can do with a program that was met: it knows what was compiled.

    ``change`` makes variants; ``apart`` is what compiles one that stands apart from its function, jax's lowering.
    """

    def __init__(self, stages: Stages, known: Known, change: Change, apart: Any = None) -> None:
        super().__init__(known.kept)
        self.stages, self.known = stages, known
        self._change, self._apart = change, apart
        self._own: Any = None

    def compiled(self) -> list[records.Record] | None:
        """What runs here; None where that is not known, or came from the disk without names."""
        made = self._made()
        return None if made is None else [compiled_again(self.known, made)]

    def _made(self) -> Made | None:
        found = next((each for each in reversed(self.known.made) if not each.loaded), None)
        return self._compile_apart() if found is None and self._apart is not None else found

    def _compile_apart(self) -> Made:
        """With its own options, past jax's cache on disk; what can be called then is ``_own``."""
        with inspection(), self.stages.past_the_disk():
            self._own = self._apart.compile(options_of(self.known))
        return self._made_of(self._own)

    def _made_of(self, compiled: Any) -> Made:
        executable = getattr(compiled, "_executable", compiled).xla_executable
        return next(each for each in self.known.made if each.executable is executable)

    def running(self) -> str:
        """The optimized HLO of the first executable."""
        return str(self.known.made[0].executable.hlo_modules()[0].to_string()) if self.known.made else ""

    def keeps_nothing(self) -> str:
        """A program that stands apart from its function may keep something; jax itself has no such thing."""
        if self._apart is not None:
            return ""
        return "jax compiles programs as they are; what if, with keep='auto', shows what is worth it"

    def check_callable(self) -> None:
        """No call is kept."""
        raise QuestionError(NO_CALL)

    def unmeasured(self) -> str:
        """Arguments are not kept."""
        return NO_CALL

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """With one thing changed, traced again where that is needed."""
        with inspection():
            return self._change(change)


class CallHost(KnownHost):
    """What this process can do with a call: compile and run it as its user does, and change it.

    ``lowered`` is jax's; ``apart`` says that it stands apart from its function.
    """

    def __init__(
        self,
        stages: Stages,
        known: Known,
        asked: Asked,
        lowered: Any,
        change: Change,
        *,
        apart: bool,
    ) -> None:
        super().__init__(stages, known, change, lowered if apart else None)
        self._asked, self._lowered = asked, lowered

    def _made(self) -> Made | None:
        """As the function itself runs it; where that came from the disk, compiled for itself."""
        if self._own is not None:
            return self._made_of(self._own)
        if any(each.loaded for each in self.known.made):
            return self._compile_afresh()
        return super()._made() or self._compile()

    def _compile(self) -> Made:
        with inspection():
            return self._made_of(self._lowered.compile())

    def _compile_afresh(self) -> Made:
        """Past jax's cache on disk; what jax keeps in memory it finds by options, too, of which one says nothing."""
        with inspection(), self.stages.past_the_disk():
            self._own = self._lowered.compile(_OPTIONS_OF_ITS_OWN)
        return self._made_of(self._own)

    def check_callable(self) -> None:
        """It is a call."""

    def unmeasured(self) -> str:
        """A call of types has no values to run with."""
        given = tree_util.tree_leaves((self._asked.args, self._asked.kwargs))
        shapes = any(isinstance(each, jax.ShapeDtypeStruct) for each in given)
        return "there are shapes and no values among the arguments" if shapes else ""

    def runner(self) -> Callable[[], None]:
        """The call itself; on copies where it reuses the memory of its arguments."""
        self._made()
        function, args, kwargs = self._called()
        donates = any(each.donated for each in tree_util.tree_leaves(self._lowered.args_info))

        def run() -> None:
            given = tree_util.tree_map(_copied, (args, kwargs)) if donates else (args, kwargs)
            jax.block_until_ready(function(*given[0], **given[1]))

        return run

    def _called(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """What is called, and with what: of a program compiled for itself that, which takes no static arguments."""
        function, args, kwargs = self._asked
        if self._own is None:
            return function, args, kwargs
        options = getattr(function, "_jit_info", None)
        static, names = (options.static_argnums, options.static_argnames) if options else ((), ())
        positions = {each % len(args) for each in static if args}
        dynamic = tuple(each for number, each in enumerate(args) if number not in positions)
        return self._own, dynamic, {name: each for name, each in kwargs.items() if name not in names}

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Inside profiler windows."""
        if reason := self.unmeasured():
            raise QuestionError(f"{self.known.name} cannot be run: {reason}")
        with inspection():
            run = self.runner()
            run()
            executed = measure(run, compiled, labels_of([self.known]))
            device = self.known.made[0].devices[0]
            found = measure_ceilings(device)
        told = executed.program, executed.function, found.time, device_name(device)
        return [executed, records.Ceilings(*told, found.flops, found.bytes_per_second, found.source)]

    def numbers(self) -> frozenset[int]:
        """Those of the function's traces."""
        function = getattr(self._asked.function, "_fun", None)
        return frozenset(each.number for each in self.stages.programs.of_function(function))


def _copied(x: Any) -> Any:
    return jax.numpy.array(x, copy=True) if isinstance(x, jax.Array) else x
