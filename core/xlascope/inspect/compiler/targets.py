"""Compilation of a function for hardware that is not present: one target, or several side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from ... import records
from ...xla.targets import CompileProgress, find_target, known_targets
from ..jobs import Job
from ..producers import Subject, program_of
from ..result import Inspection
from .background import run_or_start_job
from .parallel_compilation import run_all
from .target_text import target_text, targets_text

__all__ = ["known_targets", "target", "targets"]

#: Function that returns a target's record.
_Compilation = Callable[[CompileProgress | None], records.Compiled]


@overload
def target(fun: Subject, /, *args: Any, target: str, background: Literal[True], **kwargs: Any) -> Job[Inspection]: ...
@overload
def target(
    fun: Subject, /, *args: Any, target: str, background: Literal[False] = False, **kwargs: Any
) -> Inspection: ...
def target(
    fun: Subject, /, *args: Any, target: str, background: bool = False, **kwargs: Any
) -> Inspection | Job[Inspection]:
    """Compile ``fun(*args, **kwargs)`` for a ``target`` (``gpu:h100``, ``tpu:v5e``, ``cpu``).

    The target's own compiler is used: the hardware is not needed, the extra ``targets`` is. Nothing is run: times
    are estimates with their source. The compilers run in a subprocess; with ``background=True`` the answer is a
    :class:`~.jobs.Job`, to wait for or to cancel. A function that takes a keyword ``target`` is given as
    :func:`call`.

    Raises ``UnknownTargetError`` (a ValueError that lists the targets), ``MissingTargetError`` (which names the
    extra), ``NoLoweringError`` for an operation that the target lacks, ``TargetCompileError`` with the compiler's
    message.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.target(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), target="cpu"))
    <lambda> for cpu: 2 equations, compiled in ... to 1 kernel
    ...
    """
    resolved_target = find_target(target)
    program = program_of(fun, args, kwargs)
    part, traced = program.compiled_for(resolved_target), program.record

    def answer(watch: CompileProgress | None) -> Inspection:
        compiled = part(watch)
        return Inspection("target", (traced, compiled), target_text(traced, compiled))

    return run_or_start_job(answer, background)


@overload
def targets(
    fun: Subject, /, *args: Any, targets: Sequence[str], background: Literal[True], **kwargs: Any
) -> Job[Inspection]: ...
@overload
def targets(
    fun: Subject,
    /,
    *args: Any,
    targets: Sequence[str] = ...,
    background: Literal[False] = False,
    **kwargs: Any,
) -> Inspection: ...
def targets(
    fun: Subject,
    /,
    *args: Any,
    targets: Sequence[str] = ("cpu", "tpu:v5e:2x2", "gpu:h100"),
    background: bool = False,
    **kwargs: Any,
) -> Inspection | Job[Inspection]:
    """Compile a call for several targets: one ``Compiled`` record each, and a table that compares them.

    The targets are compiled at the same time, as many as the machine has cores. Raises what :func:`target` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.targets(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0), targets=["cpu"]))
    <lambda>: 2 equations, for 1 target; nothing was run
    target  kernels  fused equations  saved  moved  memory  at least  compiled in
    cpu           1           2 of 2  32 B   32 B     32 B  ...
    ...
    """
    if isinstance(targets, str):
        raise TypeError(f"targets is a list of names, not the text {targets!r}. Example: targets=['cpu', 'gpu:h100']")
    resolved_targets = list({item.name: item for item in map(find_target, targets)}.values())
    if not resolved_targets:
        raise ValueError(f"targets names none; there are {', '.join(known_targets())}")
    program = program_of(fun, args, kwargs)
    parts, traced = [program.compiled_for(item) for item in resolved_targets], program.record

    def answer(watch: CompileProgress | None) -> Inspection:
        compiled = run_all(parts, watch)
        return Inspection("targets", (traced, *compiled), targets_text(traced, compiled))

    return run_or_start_job(answer, background)
