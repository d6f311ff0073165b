"""What a function would become on hardware that is not here: one target, or several side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal, TypeVar, overload

from ... import records
from ...analysis.folded_products import with_folded
from ...xla.targets import (
    Prepared,
    Stopped,
    Target,
    Watch,
    compile_prepared,
    find_target,
    known_targets,
    plugin_of,
    prepare,
)
from ..asked import Asked, asked_of
from ..jobs import Cancelled, Job
from ..programs import Call
from ..questions import compiled_call, traced_call
from ..quiet import inspection
from ..result import Inspection
from .target_text import side_by_side, target_text

__all__ = ["known_targets", "target", "targets"]

T = TypeVar("T")

#: A target's record: at hand (the CPU's, or one that was made before), or still to be compiled.
_Part = records.Compiled | tuple[Prepared, Callable[[records.Compiled], records.Compiled]]


@overload
def target(
    fun: Callable[..., Any] | Asked, /, *args: Any, target: str, background: Literal[True], **kwargs: Any
) -> Job[Inspection]: ...
@overload
def target(
    fun: Callable[..., Any] | Asked, /, *args: Any, target: str, background: Literal[False] = False, **kwargs: Any
) -> Inspection: ...
def target(
    fun: Callable[..., Any] | Asked, /, *args: Any, target: str, background: bool = False, **kwargs: Any
) -> Inspection | Job[Inspection]:
    """What ``fun(*args, **kwargs)`` becomes for a ``target`` (``gpu:h100``, ``tpu:v5e``, ``cpu``).

    The target's own compiler makes it: the hardware is not needed, the extra ``targets`` is. Nothing is run: times are
    estimates, and say whose. The compilers work in a process of their own; with ``background=True`` the answer is a
    :class:`~.jobs.Job`, to wait for or to cancel. A function that takes a keyword ``target`` is given as :func:`call`.

    Raises ``UnknownTargetError`` (a ValueError that lists the targets), ``MissingTargetError`` (which names the extra),
    ``NoLoweringError`` for an operation that the target lacks, ``TargetCompileError`` with the compiler's words.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.target(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), target="cpu"))
    <lambda> for cpu: 2 equations, compiled in ... to 1 kernel
    ...
    """
    asked = asked_of(fun, args, kwargs)
    chosen = find_target(target)
    with inspection():
        call, traced = traced_call(*asked)
        part = _part(call, traced, asked, chosen)

    def answer(watch: Watch | None) -> Inspection:
        compiled = _finished(part, watch)
        return Inspection("target", (traced, compiled), target_text(traced, compiled))

    return Job(lambda job: in_job(answer, job)) if background else answer(None)


@overload
def targets(
    fun: Callable[..., Any] | Asked, /, *args: Any, targets: Sequence[str], background: Literal[True], **kwargs: Any
) -> Job[Inspection]: ...
@overload
def targets(
    fun: Callable[..., Any] | Asked,
    /,
    *args: Any,
    targets: Sequence[str] = ...,
    background: Literal[False] = False,
    **kwargs: Any,
) -> Inspection: ...
def targets(
    fun: Callable[..., Any] | Asked,
    /,
    *args: Any,
    targets: Sequence[str] = ("cpu", "tpu:v5e:2x2", "gpu:h100"),
    background: bool = False,
    **kwargs: Any,
) -> Inspection | Job[Inspection]:
    """Several targets side by side: one ``Compiled`` record each, and a table of what they make of the call.

    The targets are compiled at the same time, as many as the machine has cores. Raises what :func:`target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.targets(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), targets=["cpu"]))
    <lambda>: 2 equations, for 1 target; nothing was run
    target  kernels  fused equations  saved  moved  memory  at least  compiled in
    cpu           1           2 of 2  32 B   32 B     32 B  ...
    ...
    """
    asked = asked_of(fun, args, kwargs)
    if isinstance(targets, str):
        raise TypeError(f"targets is a list of names, not the text {targets!r}. Example: targets=['cpu', 'gpu:h100']")
    chosen = list({each.name: each for each in map(find_target, targets)}.values())
    if not chosen:
        raise ValueError(f"targets names none; there are {', '.join(known_targets())}")
    with inspection():
        call, traced = traced_call(*asked)
        parts = [_part(call, traced, asked, each) for each in chosen]

    def answer(watch: Watch | None) -> Inspection:
        compiled = _all_finished(parts, watch)
        return Inspection("targets", (traced, *compiled), side_by_side(traced, compiled))

    return Job(lambda job: in_job(answer, job)) if background else answer(None)


def compiled_for(call: Call, traced: records.Traced, target: Target, watch: Watch | None = None) -> records.Compiled:
    """The record of a call's program compiled for a target other than the CPU, kept with the program."""
    return _finished(_prepared(call, traced, target), watch)


def _part(call: Call, traced: records.Traced, asked: Asked, target: Target) -> _Part:
    if target.platform != "cpu":
        return _prepared(call, traced, target)
    _, *found = compiled_call(*asked)
    return next(replace(each, target="cpu") for each in found if isinstance(each, records.Compiled))


def _prepared(call: Call, traced: records.Traced, target: Target) -> _Part:
    """What a target's compiler is given; the record itself when it was made before."""
    plugin_of(target)  # says so now, and not when a job has begun, that the extra is missing
    options, kept = call.jitted.options, call.traced.program.derived
    key = ("target", target.name, call.donated, options.keep_unused, options.compiler_options)
    if key in kept:
        return kept[key]  # type: ignore[no-any-return]
    prepared = prepare(
        call.traced.program,
        target,
        call.traced.number,
        donated=call.donated,
        keep_unused=options.keep_unused,
        overrides=options.compiler_options,
    )

    def keep(compiled: records.Compiled) -> records.Compiled:
        kept[key] = found = with_folded(compiled, traced)
        return found

    return prepared, keep


def _finished(part: _Part, watch: Watch | None) -> records.Compiled:
    if isinstance(part, records.Compiled):
        return part
    prepared, keep = part
    return keep(compile_prepared(prepared, watch))


def _all_finished(parts: Sequence[_Part], watch: Watch | None) -> list[records.Compiled]:
    """All of them, some at a time; when one fails, or somebody interrupts, the others are stopped."""
    stops: list[Callable[[], None]] = []
    over = threading.Event()

    def started(stop: Callable[[], None]) -> None:
        stops.append(stop)
        if watch is not None:
            watch.started(stop)
        if over.is_set():
            stop()

    own = Watch(watch.tell if watch is not None else lambda message: None, started)
    with ThreadPoolExecutor(max_workers=min(len(parts), os.cpu_count() or 1)) as pool:
        asked = [pool.submit(_finished, part, own) for part in parts]
        try:
            return [each.result() for each in asked]
        except BaseException:
            over.set()
            for each in asked:
                each.cancel()
            for stop in list(stops):
                stop()
            raise


def in_job(answer: Callable[[Watch], T], job: Job[T]) -> T:
    """What ``answer(watch)`` says, with its steps told to the job, and its compiler stopped with the job."""
    try:
        return answer(Watch(lambda message: job.report(None, message), job.on_cancel))
    except Stopped as stopped:
        raise Cancelled(str(stopped)) from None
