"""Questions about a call: explore, jaxpr, kept, fusions, timings, memory."""

from __future__ import annotations

from typing import Any

from ..records import Compiled
from . import text
from .materialization_text import materialization_text
from .memory_text import memory_text
from .producers import Subject, program_of
from .program import QuestionError
from .result import Inspection


def explore(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """Trace ``fun(*args, **kwargs)`` and show the program; nothing is run.

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
    """Trace like :func:`explore`, and show the jaxpr's text everywhere, also in a notebook."""
    inspection = explore(fun, *args, **kwargs)
    return Inspection("jaxpr", inspection.records, inspection.text)


def kept(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """Show the results that ``fun(*args, **kwargs)`` keeps in memory and XLA's CPU back end would recompute.

    The call is traced and lowered, not compiled. Each result has the number of kernels in which XLA would
    otherwise compute it, by the fusion model that selects what is kept (``jit(keep=...)``); results selected by a
    policy have none. Raises what tracing and lowering raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.inspect.kept(lambda x: jnp.sin(x) * 2.0, 1.0)
    <lambda>: nothing is kept that would be computed again (2 equations)
    """
    program = program_of(fun, args, kwargs)
    return Inspection(
        "jaxpr",
        (program.record,),
        materialization_text(program.record, program.kept_values(), program.host.keeps_nothing()),
    )


def fusions(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """Show the kernels that XLA compiles ``fun(*args, **kwargs)`` to, and the equations in each.

    The call is compiled, not run. An executable that the function has already is used again. Raises what tracing
    and compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.fusions(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0)))
    <lambda>: 2 equations, compiled in ... to 1 kernel for cpu
    kernel                     kind  equations  saved  operations
    broadcast_multiply_fusion  loop          2  32 B   sin mul
    4 floating-point operations (XLA's estimate)
    """
    program = program_of(fun, args, kwargs)
    records = [program.record, *program.compiled()]
    return Inspection("fusions", records, text.format_fusions(records))


def timings(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """Measure how long each kernel of ``fun(*args, **kwargs)`` takes on each device, by running it many times.

    It runs a few times to warm up and then, for about a tenth of a second, inside profiler windows, on copies of
    arguments that the function donates. The text says which times are the profiler's and which the host clock's,
    what share of the devices' time belongs to a known equation, and how close each kernel comes to the device's
    peak, which is measured once, while the machine is idle, and cached. Raises
    :class:`xlascope.xla.profiling.profiler_windows.ProfilerInUseError` when this process is being profiled already.
    """
    program = program_of(fun, args, kwargs)
    program.host.check_callable()
    records = [program.record, *program.compiled()]
    records += program.host.measured(text.first_record(Compiled, records))
    return Inspection("timings", records, text.format_timings(records))


def memory(fun: Subject, /, *args: Any, **kwargs: Any) -> Inspection:
    """Show the peak memory of ``fun(*args, **kwargs)``, the kernel at which it occurs, and the arrays live then.

    The call is compiled, not run: the numbers are from the compiler's buffer assignment, in bytes. Raises what
    tracing and compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.memory(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0)))
    <lambda>: 32 B needed at most, while broadcast_multiply_fusion runs (kernel 1 of 1); 32 B allocated for the call
    ...
    """
    program = program_of(fun, args, kwargs)
    records = [program.record, *program.compiled()]
    return Inspection("memory", records, memory_text(records))
