"""One thing about a call changed, and what becomes of it: equations, kernels, memory, and measured time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ... import records
from ...analysis.diff import Timing, compare
from ...xla.targets import Target, Watch, find_target
from ..compiler.answered import answered
from ..jobs import Job
from ..producers import Subject, program_of
from ..program import ChangeError, Program, Variant
from ..quiet import inspection
from ..running.alternate import alternate
from .diff import Comparison

__all__ = ["ChangeError", "WhatIf", "what_if"]


class WhatIf(Comparison):
    """What :func:`what_if` returns: a comparison of the call as it is with the call as it would be."""

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
    """What ``fun(*args, **kwargs)`` would be with one thing changed, the ``change``.

    ``{"options": {"xla_…": value}}`` XLA's flags; ``{"split": ("3", "5")}`` a barrier between two equations;
    ``{"donate": 0}`` the memory of arguments given away, by place or name;
    ``{"precision": "highest"}`` that of matrix products; ``{"dtype": "bfloat16"}`` all floating-point arguments in it;
    ``{"batch": {"x": 64}}`` leading axes of that size; ``{"keep": "off"}`` what is kept that XLA would compute again;
    ``{"reroll": "always"}`` which repeats are compiled once, as loops.

    Both are compiled and, unless ``timings=False``, run by turns for about half a second. With a ``target``
    (``gpu:h100``) both are compiled for that, and not run. With ``background=True`` the answer is a
    :class:`~.jobs.Job`. A function with such keywords itself is given as :func:`call`. Raises :class:`ChangeError` for
    a change that cannot be made, and what tracing and compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = jnp.arange(4.0)
    >>> found = what_if(lambda x: jnp.sin(x) * 2.0, x, change={"split": ("0", "1")}, timings=False)
    >>> [change.sign for change in found.diff.equations]
    ['=', '+', '~']
    """
    chosen = find_target(target) if target else None
    before = program_of(fun, args, kwargs)
    after = before.host.changed(change, chosen.platform if chosen is not None else "")

    def answer(watch: Watch | None) -> WhatIf:
        old = _compiled(before, chosen, watch)
        with after.complaining:
            new = _compiled(after.program, chosen, watch)
        measured, why_not = _measured(before, after, timings and chosen is None)
        found = compare(old, new, labels=("as it is", after.words), timing=measured)
        platform = next(each.platform for each in new if isinstance(each, records.Compiled))
        on_cpu = after.on_cpu if platform == "cpu" else ""
        return WhatIf(found, note="\n".join(filter(None, [why_not, on_cpu])))

    return answered(answer, background)


def _compiled(program: Program, target: Target | None, watch: Watch | None) -> list[records.Record]:
    """The records of a program, compiled for where it runs or for a target."""
    if target is None or target.platform == "cpu":
        return [program.record, *program.compiled(watch)]
    return [program.record, program.compiled_for(target)(watch)]


def _measured(before: Program, after: Variant, wanted: bool) -> tuple[Timing | None, str]:
    """Both measured in turn, and what to say when they are not."""
    if not wanted:
        return None, ""
    why = after.unmeasured or before.host.unmeasured() or after.program.host.unmeasured()
    if why:
        return None, f"not measured: {why}"
    with inspection():
        return alternate(before.host.runner(), after.program.host.runner()), ""
