"""Effect of one change to a call on equations, kernels, memory, and measured time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ... import records
from ...analysis.diff import Timing, compare
from ...xla.targets import CompileProgress, Target, find_target
from ..compiler.background import run_or_start_job
from ..inspection_scope import inspection
from ..jobs import Job
from ..producers import Subject, program_of
from ..program import ChangeError, Program, Variant
from ..running.interleaved_timing import time_interleaved
from .diff import Comparison

__all__ = ["ChangeError", "WhatIf", "what_if"]


class WhatIf(Comparison):
    """Result of :func:`what_if`: a comparison of the call as it is with the changed call."""

    def __init__(self, *args: Any, note: str = "") -> None:
        super().__init__(*args)
        self.text = f"{self.text}\n{note}" if note else self.text


@overload
def what_if(
    fun: Subject,
    /,
    *args: Any,
    change: Mapping[str, Any],
    timings: bool = ...,
    target: str = ...,
    background: Literal[True],
    **kwargs: Any,
) -> Job[WhatIf]: ...
@overload
def what_if(
    fun: Subject,
    /,
    *args: Any,
    change: Mapping[str, Any],
    timings: bool = ...,
    target: str = ...,
    background: Literal[False] = False,
    **kwargs: Any,
) -> WhatIf: ...
def what_if(
    fun: Subject,
    /,
    *args: Any,
    change: Mapping[str, Any],
    timings: bool = True,
    target: str = "",
    background: bool = False,
    **kwargs: Any,
) -> WhatIf | Job[WhatIf]:
    """Compare ``fun(*args, **kwargs)`` with the same call after one ``change``.

    ``{"options": {"xla_…": value}}`` sets XLA's flags; ``{"split": ("3", "5")}`` puts a barrier between two
    equations; ``{"donate": 0}`` donates arguments, by position or name; ``{"precision": "highest"}`` sets that of
    matrix products; ``{"dtype": "bfloat16"}`` converts all floating-point arguments; ``{"batch": {"x": 64}}``
    sets the size of leading axes; ``{"keep": "off"}`` sets which results are kept that XLA would recompute;
    ``{"reroll": "always"}`` sets which repeats are compiled once, as loops.

    Both are compiled and, unless ``timings=False``, run interleaved for about half a second. With a ``target``
    (``gpu:h100``) both are compiled for that, and not run. With ``background=True`` the answer is a
    :class:`~.jobs.Job`. A function with such keywords itself is given as :func:`call`. Raises
    :class:`ChangeError` for a change that cannot be made, and what tracing and compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = what_if(lambda x: jnp.sin(x) * 2.0, x, change={"split": ("0", "1")}, timings=False)
    >>> [change.sign for change in found.diff.equations]
    ['=', '+', '~']
    """
    resolved_target = find_target(target) if target else None
    before = program_of(fun, args, kwargs)
    after = before.host.changed(change, resolved_target.platform if resolved_target is not None else "")

    def answer(watch: CompileProgress | None) -> WhatIf:
        old = _compile(before, resolved_target, watch)
        with after.error_context:
            new = _compile(after.program, resolved_target, watch)
        measured, why_not = _time_both(before, after, timings and resolved_target is None)
        comparison = compare(old, new, labels=("as it is", after.words), timing=measured, unmeasured=why_not)
        platform = next(record.platform for record in new if isinstance(record, records.Compiled))
        return WhatIf(comparison, note=after.on_cpu if platform == "cpu" else "")

    return run_or_start_job(answer, background)


def _compile(program: Program, target: Target | None, watch: CompileProgress | None) -> list[records.Record]:
    """Return the record of a program's trace and the records of its compilation.

    ``target`` is None to compile for the device on which the program runs; ``watch`` reports the compiler's progress
    and can stop it, None does neither.
    """
    if target is None or target.platform == "cpu":
        return [program.record, *program.compiled(watch)]
    return [program.record, program.compiled_for(target)(watch)]


def _time_both(before: Program, after: Variant, is_requested: bool) -> tuple[Timing | None, str]:
    """Time both programs interleaved; return the timing, and the reason if there is none.

    ``is_requested`` says whether a timing is wanted: without it the result is ``(None, "")``.
    """
    if not is_requested:
        return None, ""
    why = after.unmeasured or before.host.unmeasured() or after.program.host.unmeasured()
    if why:
        return None, why
    with inspection():
        return time_interleaved(before.host.runner(), after.program.host.runner()), ""
