"""What a function would become on hardware that is not here: one target, or several side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from ... import records
from ...xla.targets import Watch, find_target, known_targets
from ..jobs import Job
from ..producers import Subject, program_of
from ..result import Inspection
from .all_finished import all_finished
from .answered import answered
from .target_text import side_by_side, target_text

__all__ = ["known_targets", "target", "targets"]

#: What will give a target's record.
_Part = Callable[[Watch | None], records.Compiled]


@overload
def target(fun: Subject, /, *args: Any, target: str, background: Literal[True], **kwargs: Any) -> Job[Inspection]: ...
@overload
def target(
    fun: Subject, /, *args: Any, target: str, background: Literal[False] = False, **kwargs: Any
) -> Inspection: ...
def target(
    fun: Subject, /, *args: Any, target: str, background: bool = False, **kwargs: Any
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
    chosen = find_target(target)
    program = program_of(fun, args, kwargs)
    part, traced = program.compiled_for(chosen), program.record

    def answer(watch: Watch | None) -> Inspection:
        compiled = part(watch)
        return Inspection("target", (traced, compiled), target_text(traced, compiled))

    return answered(answer, background)


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
    """Several targets side by side: one ``Compiled`` record each, and a table of what they make of the call.

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
    chosen = list({each.name: each for each in map(find_target, targets)}.values())
    if not chosen:
        raise ValueError(f"targets names none; there are {', '.join(known_targets())}")
    program = program_of(fun, args, kwargs)
    parts, traced = [program.compiled_for(each) for each in chosen], program.record

    def answer(watch: Watch | None) -> Inspection:
        compiled = all_finished(parts, watch)
        return Inspection("targets", (traced, *compiled), side_by_side(traced, compiled))

    return answered(answer, background)
