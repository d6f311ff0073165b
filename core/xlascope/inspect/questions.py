"""The questions themselves: explore, jaxpr, fusions, timings, memory."""

from __future__ import annotations

from typing import Any

from ..records import Compiled
from . import text
from .kept_text import kept_text
from .memory_text import memory_text
from .producers import Subject, program_of
from .program import QuestionError
from .result import Inspection


def explore(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """The program that ``fun(*args, **kwargs)`` is: traced, not run.

    Takes any function of arrays, jitted or not; arguments may be :class:`xlascope.ShapeDtypeStruct`. Raises what
    tracing raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.inspect.explore(lambda x: jnp.sin(x) * 2.0, 1.0)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    traced = program_of(fun, args, kwargs).record
    if not traced.text:
        raise QuestionError(
            f"{traced.function} has no jaxpr to show: only its StableHLO is known, which inspect.hlo(program, "
            "stage='stablehlo') shows"
        )
    return Inspection("explore", (traced,), traced.text)


def jaxpr(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """The same as :func:`explore`, shown as the jaxpr's text everywhere, pictures or not."""
    found = explore(fun, *args, **kwargs)
    return Inspection("jaxpr", found.records, found.text)


def kept(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """Which results of equations ``fun(*args, **kwargs)`` keeps in memory that XLA's CPU back end would compute again.

    Traces and lowers, does not compile. Each has the number of kernels in which XLA would compute it otherwise, by the
    model of its fusion that decides what is kept (``jit(keep=...)``); none where a policy said so. Raises what tracing
    and lowering raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.inspect.kept(lambda x: jnp.sin(x) * 2.0, 1.0)
    <lambda>: nothing is kept that would be computed again (2 equations)
    """
    program = program_of(fun, args, kwargs)
    return Inspection(
        "jaxpr", (program.record,), kept_text(program.record, program.kept_values(), program.host.keeps_nothing())
    )


def fusions(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """What XLA makes of ``fun(*args, **kwargs)``: the kernels, and which equations went into each.

    Compiles, does not run. A program that the function has compiled already is not compiled again. Raises what
    tracing and compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.fusions(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0)))
    <lambda>: 2 equations, compiled in ... to 1 kernel for cpu
    kernel                     kind  equations  saved  operations
    broadcast_multiply_fusion  loop          2  32 B   sin mul
    4 floating-point operations (XLA's estimate)
    """
    program = program_of(fun, args, kwargs)
    found = [program.record, *program.compiled()]
    return Inspection("fusions", found, text.fusions(found))


def timings(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """How long each kernel of ``fun(*args, **kwargs)`` takes on each device, measured: runs it many times.

    It runs a few times to warm up and then, for about a tenth of a second, inside profiler windows, on copies of those
    arguments whose memory the function would reuse. The text says which times are the profiler's and which the host
    clock's, what share of the devices' time belongs to a known equation, and how near each kernel comes to what the
    device can do, which is measured once, while the machine is idle, and kept. Raises
    :class:`xlascope.xla.profiling.profile.ProfilerInUseError` when somebody else is profiling this process.
    """
    program = program_of(fun, args, kwargs)
    program.host.check_callable()
    found = [program.record, *program.compiled()]
    found += program.host.measured(text.one(Compiled, found))
    return Inspection("timings", found, text.timings(found))


def memory(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """How much memory ``fun(*args, **kwargs)`` needs at most, while which kernel, and which arrays hold it then.

    Compiles, does not run: it is the compiler's own plan (its buffer assignment), in bytes. Raises what tracing and
    compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.memory(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0)))
    <lambda>: 32 B needed at most, while broadcast_multiply_fusion runs (kernel 1 of 1); 32 B allocated for the call
    ...
    """
    program = program_of(fun, args, kwargs)
    found = [program.record, *program.compiled()]
    return Inspection("memory", found, memory_text(found))
