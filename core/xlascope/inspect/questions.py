"""The questions themselves: explore, jaxpr, fusions, timings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import records
from . import text
from .measure import measure
from .programs import Call, compiled_again, trace_call, traced_again
from .quiet import inspection
from .result import Inspection


def explore(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
    """The program that ``fun(*args, **kwargs)`` is: traced, not run.

    Takes any function of arrays, jitted or not; arguments may be :class:`xlascope.ShapeDtypeStruct`. Raises what
    tracing raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.inspect.explore(lambda x: jnp.sin(x) * 2.0, 1.0)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    with inspection():
        traced = _traced(fun, args, kwargs)[1]
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
        _, *found = _compiled(fun, args, kwargs)
    return Inspection("fusions", found, text.fusions(found))


def timings(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Inspection:
    """How long each kernel of ``fun(*args, **kwargs)`` takes on each device, measured: runs it many times.

    It runs a few times to warm up and then, for about a tenth of a second, inside profiler windows, on copies of those
    arguments whose memory the function would reuse. The text says which times are the profiler's and which the host
    clock's, and what share of the devices' time belongs to a known equation. Raises
    :class:`xlascope.xla.profile.ProfilerInUseError` when somebody else is profiling this process.
    """
    with inspection():
        call, *found = _compiled(fun, args, kwargs)
        found.append(measure(call, found[-1]))
    return Inspection("timings", found, text.timings(found))


def _traced(fun: Any, args: Any, kwargs: Any) -> tuple[Call, records.Traced]:
    seen: list[records.Record] = []
    with records.watch(seen.append):
        call = trace_call(fun, args, kwargs)
    mine = (each for each in seen if isinstance(each, records.Traced) and each.program == call.traced.number)
    return call, next(mine, None) or traced_again(call.traced)


def _compiled(fun: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """The call, and the records of its stages: Traced, Lowered (unless that was before), Compiled."""
    call, traced = _traced(fun, args, kwargs)
    seen: list[records.Record] = []
    with records.watch(seen.append):
        executable = call.executable()
    made = [
        each for each in seen if isinstance(each, records.Lowered | records.Compiled) and each.program == traced.program
    ]
    return call, traced, *(made or [compiled_again(executable, call.traced)])
