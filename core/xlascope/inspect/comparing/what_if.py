"""One thing about a call changed, and what becomes of it: equations, kernels, memory, and measured time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, overload

from ... import records
from ...analysis.diff import Timing, compare
from ...ir.avals import ShapeDtypeStruct
from ...runtime.errors import JaxRuntimeError
from ...xla.targets import Target, Watch, find_target
from ..asked import Asked, asked_of
from ..compiler.targets import compiled_for, in_job
from ..jobs import Job
from ..programs import Call
from ..questions import compiled_records, traced_call
from ..quiet import inspection
from ..running.alternate import alternate
from .changes import Changed, ChangeError, changed
from .diff import Comparison

__all__ = ["ChangeError", "WhatIf", "what_if"]


class _Side(NamedTuple):
    call: Call
    records: list[records.Record]


class WhatIf(Comparison):
    """What :func:`what_if` returns: a comparison of the call as it is with the call as it would be."""

    def __init__(self, *args: Any, note: str = "") -> None:
        super().__init__(*args)
        self.text = f"{self.text}\n{note}" if note else self.text


@overload
def what_if(
    fun: Callable[..., Any] | Asked,
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
    fun: Callable[..., Any] | Asked,
    /,
    *args: Any,
    change: Mapping[str, Any],
    timings: bool = ...,
    target: str = ...,
    background: Literal[False] = False,
    **kwargs: Any,
) -> WhatIf: ...
def what_if(
    fun: Callable[..., Any] | Asked,
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
    ``{"donate": 0}`` the memory of arguments given away; ``{"precision": "highest"}`` that of matrix products;
    ``{"dtype": "bfloat16"}`` all floating-point arguments in it; ``{"batch": {"x": 64}}`` leading axes of that size.

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
    plan = _Plan(asked_of(fun, args, kwargs), change, target)
    if background:
        return Job(lambda job: in_job(lambda watch: plan.answer(timings, watch), job))
    return plan.answer(timings, None)


class _Plan:
    """A question: which call, what about it changes, and for which hardware."""

    def __init__(self, asked: Asked, change: Mapping[str, Any], target: str) -> None:
        self.asked, self.change = asked, change
        self.changed = changed(asked, change)
        self.target = find_target(target) if target else None

    def answer(self, timings: bool, watch: Watch | None) -> WhatIf:
        plan, where = self.changed, self.target
        with inspection():
            before = _side(self.asked, where, watch)
            with plan.setting, _complaining(self.change):
                after = _changed_side(plan, where, watch)
            measured, why_not = _measured(before, after, plan, timings and where is None)
        found = compare(before.records, after.records, labels=("as it is", plan.words), timing=measured)
        compiled = next(each for each in after.records if isinstance(each, records.Compiled))
        on_cpu = plan.on_cpu if compiled.platform == "cpu" else ""
        return WhatIf(found, note="\n".join(filter(None, [why_not, on_cpu])))


@contextmanager
def _complaining(change: Mapping[str, Any]) -> Iterator[None]:
    """XLA's word against one of its options is one against the change."""
    try:
        yield
    except JaxRuntimeError as error:
        if "options" not in change:
            raise
        raise ChangeError(str(error)) from None


def _side(asked: Asked, target: Target | None, watch: Watch | None) -> _Side:
    call, traced = traced_call(*asked)
    return _compiled(call, traced, target, watch)


def _changed_side(plan: Changed, target: Target | None, watch: Watch | None) -> _Side:
    call, traced = traced_call(*plan.asked)
    if plan.rewrite is not None:
        platform = call.place.device.platform if target is None else target.platform
        call, traced = plan.rewrite(call, platform)
    return _compiled(call, traced, target, watch)


def _compiled(call: Call, traced: records.Traced, target: Target | None, watch: Watch | None) -> _Side:
    if target is None or target.platform == "cpu":
        return _Side(call, [traced, *compiled_records(call, traced)])
    return _Side(call, [traced, compiled_for(call, traced, target, watch)])


def _measured(before: _Side, after: _Side, plan: Changed, wanted: bool) -> tuple[Timing | None, str]:
    """Both measured in turn, and what to say when they are not."""
    if not wanted:
        return None, ""
    why = plan.unmeasured
    if any(isinstance(x, ShapeDtypeStruct) for side in (before, after) for x in side.call.arguments.operands):
        why = "there are shapes and no values among the arguments"
    if why:
        return None, f"not measured: {why}"
    return alternate(before.call, after.call), ""
