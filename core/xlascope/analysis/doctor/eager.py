"""Rules about calls as written: operations outside of jit, values fetched in a loop, and data that lose digits."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding, Measure
from ..diff.timing import quartiles
from ..formatting import percent, plural, seconds
from .evidence import Evidence
from .rule import CLOCK, COUNT, MIN_FINDING_SECONDS, MIN_FINDING_SHARE, MIN_FINDING_TOTAL_SECONDS, PROFILER

#: Minimum number of operations of a call that jit would save, and of values fetched in a call.
MIN_OPERATIONS, MIN_FETCHES = 10, 10
#: Of a cell's loop: the least number of waits for a call, and the part of the time in them.
MIN_WAITED_SHARE, MIN_WAITED_PART = 0.8, 0.1
_DO_NOT_FETCH = (
    "leave values on the device and fetch them once after the loop, or every hundredth iteration; a condition on one "
    "becomes lax.while_loop, lax.cond or jnp.where"
)
#: Minimum number of float64 values that are rounded.
MIN_ROUNDED_VALUES = 100


def find_eager_calls(evidence: Evidence) -> Iterator[Finding]:
    """Find a function that runs operation by operation, and is faster as one program."""
    eager = evidence.eager
    if eager is None or not eager.jitted_seconds or eager.operations < MIN_OPERATIONS:
        return
    written, saved = eager.median_seconds, eager.median_seconds - eager.jitted_seconds
    if saved < max(MIN_FINDING_SECONDS, MIN_FINDING_SHARE * written):
        return
    if quartiles(eager.seconds)[0] <= eager.jitted_seconds:
        return
    yield Finding(
        "not jitted",
        f"{eager.function} is not jitted: {eager.dispatch_text}, {seconds(written)} a call; jitted it takes "
        f"{seconds(eager.jitted_seconds)}",
        f"jit this function: @jit above it, or jit({eager.function}); Python in it then runs once, when it is traced",
        saved / written,
        saved,
        eager.line,
        "",
        None,
        (
            Measure("time per call as written", written, "s", CLOCK),
            Measure("time per call jitted", eager.jitted_seconds, "s", CLOCK),
            Measure("eager operations per call", eager.operations, "", COUNT),
        ),
    )


def find_fetches(evidence: Evidence) -> Iterator[Finding]:
    """Find a loop that fetches a value from the device in each iteration, and waits for it."""
    yield from find_fetches_of_cell(evidence)
    eager = evidence.eager
    if eager is None or eager.fetches < MIN_FETCHES:
        return
    written = eager.median_seconds
    share = min(eager.fetch_seconds / written, 1.0) if written else 0.0
    if share < MIN_FINDING_SHARE or eager.fetch_seconds < MIN_FINDING_SECONDS:
        return
    part = f"{seconds(eager.fetch_seconds / eager.fetches)} of {seconds(written / eager.fetches)}"
    yield Finding(
        "fetched in a loop",
        f"a value is fetched to the host {eager.fetches:,} times a call, and Python waits for it: {part} each time",
        _DO_NOT_FETCH,
        share,
        eager.fetch_seconds,
        eager.fetch_line,
        "",
        None,
        (
            Measure("values fetched per call", eager.fetches, "", COUNT),
            Measure("time in fetching per call", eager.fetch_seconds, "s", CLOCK),
            Measure("time per call as written", written, "s", CLOCK),
        ),
    )


def find_fetches_of_cell(evidence: Evidence) -> Iterator[Finding]:
    """Find a cell's loop that waits for a result in each iteration while the device has nothing to do.

    A wait alone is none: it costs nothing while the device computes. So the time on the device has to be known, and
    what counts is when it is idle; building programs is left out.
    """
    cell, number = evidence.cell, evidence.traced.program
    if cell is None:
        return
    calls = sum(part.count for part in cell.parts if part.activity == "dispatch" and part.program == number)
    waits = next((part for part in cell.parts if part.activity == "wait"), None)
    working = sum(share.seconds for share in cell.devices)
    loop = cell.seconds - sum(part.seconds for part in cell.parts if part.activity in ("trace", "lower", "compile"))
    if waits is None or waits.count < MIN_FETCHES or waits.count < MIN_WAITED_SHARE * calls or not calls:
        return
    if all(share.program != number for share in cell.devices) or loop <= 0:
        return
    idle = min(1 - working / loop, 1.0)
    if idle < MIN_FINDING_SHARE or idle * loop < MIN_FINDING_TOTAL_SECONDS or waits.seconds < MIN_WAITED_PART * loop:
        return
    per_wait, per_call = seconds(waits.seconds / waits.count), seconds(loop / calls)
    yield Finding(
        "fetched in a loop",
        f"a value is fetched to the host in every iteration, and Python waits for it, {per_wait} of {per_call}: "
        f"{plural(waits.count, 'wait')} in {plural(calls, 'call')}; the device is idle for {percent(idle)} of the time",
        _DO_NOT_FETCH,
        idle,
        idle * loop / calls,
        waits.source,
        "",
        None,
        (
            Measure("waits for results", waits.count, "", COUNT),
            Measure("time in waiting", waits.seconds, "s", CLOCK),
            Measure("time in which the device worked", working, "s", PROFILER),
        ),
    )


def find_narrowed_arguments(evidence: Evidence) -> Iterator[Finding]:
    """Find NumPy arguments in float64 whose values are rounded to float32, because x64 is off."""
    narrowed = evidence.narrowed
    if narrowed is None or narrowed.values < MIN_ROUNDED_VALUES:
        return
    names = ", ".join(narrowed.names[:3]) + (f" and {len(narrowed.names) - 3} more" if len(narrowed.names) > 3 else "")
    verb = "are" if len(narrowed.names) > 1 else "is"
    yield Finding(
        "float64 to float32",
        f"{names} {verb} {narrowed.given} data that become {narrowed.used}, since x64 is off: "
        f"{plural(narrowed.values, 'value')} are rounded, by up to {narrowed.largest_error:.2g} "
        f"(a value near {narrowed.largest_at:.4g})",
        f"if float32 is enough, give {narrowed.names[0]}.astype('{narrowed.used}'), which also spares converting it at "
        "each call; if not, subtract the offset first, or set jax_enable_x64",
        0.0,
        0.0,
        evidence.traced.call_site,
        "",
        None,
        (
            Measure("values rounded", narrowed.values, "", COUNT),
            Measure("largest rounding", narrowed.largest_error, "", COUNT),
        ),
    )
