"""A program pass by pass: what each pass of the compiler changed, and which one removed an operation."""

from __future__ import annotations

from typing import Any, Literal, overload

from ... import records
from ...analysis.figures import seconds
from ...analysis.pass_words import pass_words
from ...xla.explain import compile_passes
from ...xla.targets import Watch, find_target
from ..jobs import Job
from ..producers import Subject, program_of
from ..program import QuestionError
from ..result import Inspection
from ..text import table
from .answered import answered

_PATHS = 6


class PassByPass(Inspection):
    """What :func:`passes` returns: an inspection whose ``passes`` are those that changed something."""

    def __init__(self, traced: records.Traced, found: records.Passes) -> None:
        super().__init__("passes", (traced, found), passes_text(traced, found))
        self._equations = {each.path: each.operation for each in traced.jaxpr.walk()}
        self._unseen = unseen(traced, found)
        self._found = found

    @property
    def passes(self) -> tuple[records.Pass, ...]:
        """The passes that changed something, in order."""
        return self._found.passes

    def operation(self, path: records.EquationPath) -> str:
        """The operation of the equation at a path."""
        return self._equations[path]

    def removed(self, what: str) -> tuple[tuple[records.EquationPath, records.Pass | None], ...]:
        """Which pass removed an operation: for each equation, its path and the pass after which nothing of it is left.

        ``what`` is an operation's name (``"tanh"``), or the path of one equation (``"3/1"``). An equation that is left
        in the optimized program is not among them, and None stands for what was gone before any pass could be seen to
        do it: while StableHLO became HLO, or before calls were inlined. A pass may fold an equation into others rather
        than drop it, as its ``diff`` shows. Raises QuestionError (a ValueError) for what the program never had.
        """
        paths = {path for path, operation in self._equations.items() if what in (path, operation)}
        if not paths:
            if not self._equations:
                raise QuestionError(f"the equations of {self._found.function} are unknown: its names tell none")
            known = ", ".join(sorted(set(self._equations.values())))
            raise QuestionError(f"no equation of the program is {what!r}; its operations are {known}")
        last: dict[records.EquationPath, records.Pass | None] = {path: None for path in self._unseen if path in paths}
        last |= {path: each for each in self.passes for path in each.gone if path in paths}
        return tuple((path, last[path]) for path in self._equations if path in last)


@overload
def passes(
    fun: Subject,
    /,
    *args: Any,
    target: str = ...,
    budget: float = ...,
    background: Literal[True],
    **kwargs: Any,
) -> Job[Inspection]: ...
@overload
def passes(
    fun: Subject,
    /,
    *args: Any,
    target: str = ...,
    budget: float = ...,
    background: Literal[False] = False,
    **kwargs: Any,
) -> PassByPass: ...
def passes(
    fun: Subject,
    /,
    *args: Any,
    target: str = "cpu",
    budget: float = 60.0,
    background: bool = False,
    **kwargs: Any,
) -> Inspection | Job[Inspection]:
    """What each pass of the compiler changed in ``fun(*args, **kwargs)``; passes that changed nothing are left out.

    The program is compiled once more, in a process of its own and past every cache, for this machine's CPU or another
    ``target``. When ``budget`` (seconds) is over the compiler is stopped, and the passes until then are told. The
    records are ``Traced`` and ``Passes``. With ``background=True`` the answer is a :class:`~.jobs.Job`. Raises what
    :func:`~xlascope.inspect.target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> found = xs.inspect.passes(lambda x: jnp.sin(x) + 0.0 * x, jnp.arange(4))
    >>> found.passes[-1].instructions > 0
    True
    """
    chosen = find_target(target)
    program = program_of(fun, args, kwargs)
    given = program.input_for(chosen)

    def answer(watch: Watch | None) -> Inspection:
        return PassByPass(program.record, compile_passes(given, budget=budget, watch=watch))

    return answered(answer, background)


def passes_text(traced: records.Traced, found: records.Passes) -> str:
    """The passes as a table."""
    equations = {each.path: each.operation for each in traced.jaxpr.walk()}
    heads = ("step", "equations gone", "what it does", "added", "removed", "changed", "instructions", "XLA's pass")
    rows: list[tuple[str, ...]] = [heads]
    for each in found.passes:
        gone = [f"{equations.get(path, '?')} {path}" for path in each.gone]
        more = f" and {len(gone) - _PATHS:,} more" if len(gone) > _PATHS else ""
        counts = (f"{each.added:,}", f"{each.removed:,}", f"{each.changed:,}", f"{each.instructions:,}")
        told = ", ".join(gone[:_PATHS]) + more
        rows.append((str(each.step), told, pass_words(each.name), *counts, f"{each.name} in {each.pipeline}"))
    first = (
        f"{found.function} for {found.target}: {_passes(len(found.passes))} changed "
        f"{found.module}, compiled in {seconds(found.seconds)}"
    )
    early = [f"{equations[path]} {path}" for path in unseen(traced, found)]
    more = f" and {len(early) - _PATHS:,} more" if len(early) > _PATHS else ""
    notes = [f"gone before the passes: {', '.join(early[:_PATHS])}{more}"] if early else []
    notes += [] if found.complete else ["This answer is partial."]
    notes += [f"({found.note})"] if found.note else []
    counted = ["instructions of all computations, parameters included (our count, by name)"]
    return "\n".join([first, *table(rows, right=(0, 3, 4, 5, 6)), *counted, *notes])


def _passes(number: int) -> str:
    return f"{number:,} pass" + ("" if number == 1 else "es")


def unseen(traced: records.Traced, found: records.Passes) -> tuple[records.EquationPath, ...]:
    """The equations that no pass was given: dropped while StableHLO became HLO, or before calls were inlined.

    Those that only hold others are not among them.
    """
    seen = set(found.seen)
    return tuple(each.path for each in traced.jaxpr.walk() if not each.bodies and each.path not in seen)
