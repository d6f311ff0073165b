"""Questions about a call: explore, jaxpr, kept, fusions, timings, memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analysis.eager_call import EagerCall
from ..records import Compiled, Executed, Record
from . import text
from .materialization_text import materialization_text
from .memory_text import memory_text
from .producers import Subject, program_of, written_call_of
from .program import QuestionError
from .result import Inspection
from .written_call import WrittenCall, add_eager_note, measure_unjittable_call, measure_written_call


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


class Timings(Inspection):
    """Result of :func:`timings`; ``eager`` is the call as written if the function is not jitted, otherwise None."""

    def __init__(
        self, records: Sequence[Record], shown: str, eager: EagerCall | None, question: str = "timings"
    ) -> None:
        super().__init__(question, records, shown)
        self.eager = eager

    def to_json(self) -> dict[str, Any]:
        """Return the records and the breakdown as for any inspection, and ``eager``: the call as written, or None."""
        return {**super().to_json(), "eager": self.eager.to_json() if self.eager is not None else None}


def timings(fun: Subject, /, *args: Any, **kwargs: Any) -> Timings:
    """Measure how long ``fun(*args, **kwargs)`` and each of its kernels take, by running it many times.

    A function that is not jitted is measured as written first, operation by operation, and then jitted, which is
    what kernels and lines belong to. The text has both times and the number of operations that a call dispatches. If
    the function cannot be jitted, there is only the time as written, and the reason. It is called some 60 times or for
    half a second, with copies of its arguments; what it prints is shown once.

    It runs a few times to warm up and then, for about a tenth of a second, inside profiler windows, on copies of
    arguments that the function donates; what ``debug.print`` gives is shown for the first call alone. The text says
    which times are the profiler's and which the host clock's, what share of the devices' time belongs to a known
    equation, and how close each kernel comes to the device's peak, which is calibrated once per machine, in fresh
    processes, and stored. Raises
    :class:`xlascope.xla.profiling.profiler_windows.ProfilerInUseError` when this process is being profiled already.
    """
    written = written_call_of(fun, args, kwargs)
    try:
        program = program_of(fun, args, kwargs)
    except Exception as error:
        if written is None:
            raise
        return _time_as_written(written, error)
    program.host.check_callable()
    if reason := program.host.unmeasured():
        raise QuestionError(f"{program.record.function} cannot be timed: {reason} (fusions and memory run nothing)")
    records: list[Record] = [program.record, *program.compiled()]
    records += program.host.measured(text.first_record(Compiled, records))
    if written is None:
        return Timings(records, text.format_timings(records), None)
    eager = measure_written_call(written).with_jitted(text.first_record(Executed, records).step)
    return Timings(add_eager_note(records, eager), text.format_timings(records, eager), eager)


def _time_as_written(written: WrittenCall, error: Exception) -> Timings:
    """Return the time of a call that cannot be jitted because of ``error``; raise that if it cannot be made either."""
    eager = measure_unjittable_call(written, error)
    return Timings((), "\n".join(text.eager_lines(eager)), eager, "written")


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
