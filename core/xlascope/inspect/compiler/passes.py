"""Changes of a program by each pass of the compiler, and the pass that removed an operation."""

from __future__ import annotations

from typing import Any, Literal, overload

from ... import records
from ...analysis.formatting import seconds
from ...analysis.pass_descriptions import describe_pass
from ...xla.explain import compile_passes
from ...xla.targets import CompileProgress, find_target
from ..jobs import Job
from ..producers import Subject, program_of
from ..program import QuestionError
from ..result import Inspection
from ..text import table
from .background import run_or_start_job

_MAX_PATHS = 6


class PassByPass(Inspection):
    """Result of :func:`passes`: an inspection whose ``passes`` are those that changed something."""

    def __init__(self, traced: records.Traced, passes: records.Passes) -> None:
        super().__init__("passes", (traced, passes), passes_text(traced, passes))
        self._equations = {equation.path: equation.operation for equation in traced.jaxpr.walk()}
        self._dropped_early = dropped_early(traced, passes)
        self._passes = passes

    @property
    def passes(self) -> tuple[records.Pass, ...]:
        """Return the passes that changed something, in order."""
        return self._passes.passes

    def operation(self, path: records.EquationPath) -> str:
        """Return the operation of the equation at a path."""
        return self._equations[path]

    def removed(self, what: str) -> tuple[tuple[records.EquationPath, records.Pass | None], ...]:
        """Return for each equation of an operation the pass that removed its last instruction.

        ``what`` is an operation's name (``"tanh"``), or the path of one equation (``"3/1"``). Equations that remain
        in the optimized program are left out. The pass is None for an equation that was gone before the first pass:
        in the conversion of StableHLO to HLO, or before calls were inlined. A pass may fold an equation into others
        rather than drop it, as its ``diff`` shows. Raises QuestionError (a ValueError) for a name or path that the
        program never had.
        """
        paths = {path for path, operation in self._equations.items() if what in (path, operation)}
        if not paths:
            if not self._equations:
                raise QuestionError(f"the equations of {self._passes.function} are unknown: its names tell none")
            operations = ", ".join(sorted(set(self._equations.values())))
            raise QuestionError(f"no equation of the program is {what!r}; its operations are {operations}")
        last: dict[records.EquationPath, records.Pass | None] = {
            path: None for path in self._dropped_early if path in paths
        }
        last |= {path: compiler_pass for compiler_pass in self.passes for path in compiler_pass.gone if path in paths}
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
    """Show what each pass of the compiler changed in ``fun(*args, **kwargs)``, without passes that changed nothing.

    The program is compiled once more, in a subprocess and without caches, for this machine's CPU or another
    ``target``. When ``budget`` (seconds) is over the compiler is stopped, and the answer has the passes until
    then. The records are ``Traced`` and ``Passes``. With ``background=True`` the answer is a :class:`~.jobs.Job`.
    Raises what :func:`~xlascope.inspect.target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> found = xs.inspect.passes(lambda x: jnp.sin(x) + 0.0 * x, jnp.arange(4))
    >>> found.passes[-1].instructions > 0
    True
    """
    resolved_target = find_target(target)
    program = program_of(fun, args, kwargs)
    compiler_input = program.input_for(resolved_target)

    def answer(watch: CompileProgress | None) -> Inspection:
        return PassByPass(program.record, compile_passes(compiler_input, budget=budget, watch=watch))

    return run_or_start_job(answer, background)


def passes_text(traced: records.Traced, record: records.Passes) -> str:
    """Return a table with a row for each pass that changed something; ``traced`` names the equations."""
    equations = {item.path: item.operation for item in traced.jaxpr.walk()}
    heads = ("step", "equations gone", "what it does", "added", "removed", "changed", "instructions", "XLA's pass")
    rows: list[tuple[str, ...]] = [heads]
    for item in record.passes:
        paths = [f"{equations.get(path, '?')} {path}" for path in item.gone]
        more = f" and {len(paths) - _MAX_PATHS:,} more" if len(paths) > _MAX_PATHS else ""
        counts = (f"{item.added:,}", f"{item.removed:,}", f"{item.changed:,}", f"{item.instructions:,}")
        gone_text = ", ".join(paths[:_MAX_PATHS]) + more
        rows.append((str(item.step), gone_text, describe_pass(item.name), *counts, f"{item.name} in {item.pipeline}"))
    first = (
        f"{record.function} for {record.target}: {_count_passes(len(record.passes))} changed "
        f"{record.module}, compiled in {seconds(record.seconds)}"
    )
    early = [f"{equations[path]} {path}" for path in dropped_early(traced, record)]
    more = f" and {len(early) - _MAX_PATHS:,} more" if len(early) > _MAX_PATHS else ""
    notes = [f"gone before the passes: {', '.join(early[:_MAX_PATHS])}{more}"] if early else []
    notes += [] if record.complete else ["This answer is partial."]
    notes += [f"({record.note})"] if record.note else []
    count_note = ["instructions of all computations, parameters included (counted by name)"]
    return "\n".join([first, *table(rows, right=(0, 3, 4, 5, 6)), *count_note, *notes])


def _count_passes(number: int) -> str:
    return f"{number:,} pass" + ("" if number == 1 else "es")


def dropped_early(traced: records.Traced, passes: records.Passes) -> tuple[records.EquationPath, ...]:
    """Return the paths of equations that no pass received: conversion to HLO dropped them, or inlining of calls.

    Equations with bodies are left out.
    """
    seen_paths = set(passes.seen)
    return tuple(
        equation.path for equation in traced.jaxpr.walk() if not equation.bodies and equation.path not in seen_paths
    )
