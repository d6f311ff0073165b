"""The questions themselves: explore, jaxpr, fusions, timings, memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import records
from ..analysis.folded_products import with_folded
from . import text
from .memory_text import memory_text
from .programs import Call, compiled_again, trace_call, traced_again
from .quiet import inspection
from .result import Inspection
from .running.measure import ceilings, measure


def explore(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
    """The program that ``fun(*args, **kwargs)`` is: traced, not run.

    Takes any function of arrays, jitted or not; arguments may be :class:`xlascope.ShapeDtypeStruct`. Raises what
    tracing raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.inspect.explore(lambda x: jnp.sin(x) * 2.0, 1.0)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    with inspection():
        traced = traced_call(fun, args, kwargs)[1]
    return Inspection("explore", (traced,), traced.text)


def jaxpr(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
    """The same as :func:`explore`, shown as the jaxpr's text everywhere, pictures or not."""
    found = explore(fun, *args, **kwargs)
    return Inspection("jaxpr", found.records, found.text)


def fusions(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
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
    with inspection():
        _, *found = compiled_call(fun, args, kwargs)
    return Inspection("fusions", found, text.fusions(found))


def timings(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
    """How long each kernel of ``fun(*args, **kwargs)`` takes on each device, measured: runs it many times.

    It runs a few times to warm up and then, for about a tenth of a second, inside profiler windows, on copies of those
    arguments whose memory the function would reuse. The text says which times are the profiler's and which the host
    clock's, what share of the devices' time belongs to a known equation, and how near each kernel comes to what the
    device can do, which is measured once per process. Raises :class:`xlascope.xla.profile.ProfilerInUseError` when
    somebody else is profiling this process.
    """
    with inspection():
        call, *found = compiled_call(fun, args, kwargs)
        found.append(measure(call, found[-1]))
        found.append(ceilings(call, found[-1]))
    return Inspection("timings", found, text.timings(found))


def memory(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
    """How much memory ``fun(*args, **kwargs)`` needs at most, while which kernel, and which arrays hold it then.

    Compiles, does not run: it is the compiler's own plan (its buffer assignment), in bytes. Raises what tracing and
    compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.memory(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0)))
    <lambda>: 32 B needed at most, while broadcast_multiply_fusion runs (kernel 1 of 1); 32 B allocated for the call
    ...
    """
    with inspection():
        _, *found = compiled_call(fun, args, kwargs)
    return Inspection("memory", found, memory_text(found))


def traced_call(fun: Any, args: Any, kwargs: Any) -> tuple[Call, records.Traced]:
    """The call, and the record of its trace."""
    seen: list[records.Record] = []
    with records.watch(seen.append):
        call = trace_call(fun, args, kwargs)
    mine = (each for each in seen if isinstance(each, records.Traced) and each.program == call.traced.number)
    return call, next(mine, None) or traced_again(call.traced)


def compiled_call(fun: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """The call, and the records of its stages: Traced, Lowered (unless that was before), Compiled."""
    call, traced = traced_call(fun, args, kwargs)
    return call, traced, *compiled_records(call, traced)


def compiled_records(call: Call, traced: records.Traced) -> list[records.Record]:
    """The records of a call's compilation, made now if it was not before: Compiled, and Lowered if it is now."""
    seen: list[records.Record] = []
    with records.watch(seen.append):
        executable = call.executable()
    made = [
        each for each in seen if isinstance(each, records.Lowered | records.Compiled) and each.program == traced.program
    ]
    made = made or [compiled_again(executable, call.traced)]
    return [with_folded(each, traced) if isinstance(each, records.Compiled) else each for each in made]
