"""Rules about the surroundings of a program: avoidable traces and copies, and a device that waits."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding, Measure, Traced
from ..formatting import percent, plural, seconds, size
from ..retraces import Retrace, new_function_location
from .evidence import Evidence
from .rule import CLOCK, COUNT, MIN_FINDING_SECONDS, MIN_FINDING_SHARE, PROFILER

#: Minimum number of avoidable traces, and of the seconds that they cost.
MIN_TRACES, MIN_LOST_SECONDS = 5, 0.1
#: Minimum number of calls, of their seconds, and of the fraction of these that the device waits.
MIN_CALLS, MIN_LOOP_SECONDS, MIN_WAITING_SHARE = 100, 1.0, 0.7


def find_retraces(evidence: Evidence) -> Iterator[Finding]:
    """Find a function that was traced again, because something about its arguments changed."""
    yield from _find_avoidable_traces(evidence, "traced again", new=False)


def find_jit_in_loop(evidence: Evidence) -> Iterator[Finding]:
    """Find a function that is created and jitted anew each time, so that caches miss."""
    yield from _find_avoidable_traces(evidence, "jit in a loop", new=True)


def _find_avoidable_traces(evidence: Evidence, rule: str, *, new: bool) -> Iterator[Finding]:
    """Find enough avoidable traces of the function, as at most one finding of the rule named ``rule``.

    ``new`` selects traces of functions that were created anew; otherwise those of one function.
    """
    retraces = [
        retrace
        for retrace in evidence.retraces
        if bool(new_function_location(retrace.reason)) == new and not retrace.inside
    ]
    lost = sum(retrace.seconds for retrace in retraces)
    if len(retraces) < MIN_TRACES or lost < MIN_LOST_SECONDS or _is_library_function(evidence.traced):
        return
    latest = retraces[0]
    ran = evidence.executed.seconds if evidence.executed is not None else 0.0
    at = f" at {latest.where}" if latest.where else ""
    site = evidence.traced.call_site
    yield Finding(
        rule,
        f"{evidence.traced.function} was traced again {len(retraces):,} times{at}, {seconds(lost)} of tracing and "
        f"compiling; the last time: {latest.reason}",
        latest.fix,
        lost / (lost + ran),
        lost,
        site if evidence.format_location(site) == latest.where else None,
        "",
        None,
        (Measure("traces that could have been spared", len(retraces), "", COUNT), *_measure_parts(retraces)),
    )


def _is_library_function(traced: Traced) -> bool:
    """Return whether all equations stem from the call site: the function is a library's, not the user's."""
    site = traced.call_site
    if site is None:
        return False
    lines = {(x.source.file, x.source.line, x.source.function) for x in traced.jaxpr.equations if x.source is not None}
    return lines <= {(site.file, site.line, site.function)}


def _measure_parts(retraces: list[Retrace]) -> Iterator[Measure]:
    for name in ("trace", "lower", "compile"):
        yield Measure(f"{name} again", sum(getattr(retrace, name) for retrace in retraces), "s", CLOCK)


def find_copied_arguments(evidence: Evidence) -> Iterator[Finding]:
    """Find arguments in NumPy's memory, which every call copies to the device."""
    copied = evidence.copied
    if copied is None or not copied.slower:
        return
    spent = copied.given - copied.kept
    share = spent / copied.given if copied.given else 0.0
    if share < MIN_FINDING_SHARE or spent < MIN_FINDING_SECONDS:
        return
    names = ", ".join(copied.names[:3]) + (f" and {len(copied.names) - 3} more" if len(copied.names) > 3 else "")
    several = len(copied.names) > 1
    yield Finding(
        "copied arguments",
        f"{names} {'are NumPy arrays' if several else 'is a NumPy array'} of {size(copied.bytes)}, which every call "
        f"copies to the device: {percent(share)} of the call, {seconds(spent)} of {seconds(copied.given)}",
        f"put {'them' if several else 'it'} on the device once, before the loop: jnp.asarray({copied.names[0]})",
        share,
        spent,
        evidence.traced.call_site,
        "",
        None,
        (
            Measure("time per call as given", copied.given, "s", copied.source),
            Measure("time per call with device arrays", copied.kept, "s", copied.source),
            Measure("bytes copied per call", copied.bytes, "B", COUNT),
        ),
    )


def find_waits(evidence: Evidence) -> Iterator[Finding]:
    """Find a device that waits between calls: for Python, for data, or for code that reads each result."""
    run, account = evidence.executed, evidence.account
    if run is None or account is None or account.mean is None or run.at_most or not evidence.traced.seconds:
        return
    if run.calls < MIN_CALLS or run.seconds < MIN_LOOP_SECONDS or not run.observed_calls:
        return
    # The smaller of two: the interval between profiled calls, and the mean interval between all counted calls.
    interval = min(max(run.window / run.observed_calls, run.step), run.seconds / run.calls)
    working = account.mean.running_seconds
    waiting = 1 - working / interval
    if waiting < MIN_WAITING_SHARE:
        return
    yield Finding(
        "waits",
        f"The device waits during {percent(waiting)} of the loop: a call keeps it busy for {seconds(working)}, and "
        f"calls come every {seconds(interval)} ({plural(run.calls, 'call')})",
        "do more in one call (lax.scan or lax.fori_loop over several steps), and nothing between calls that waits for "
        "a result or copies data, such as float(loss) in every step",
        waiting,
        interval - working,
        evidence.traced.call_site,
        "",
        None,
        (
            Measure("time from call to call", interval, "s", CLOCK),
            Measure("time per call in which a kernel runs", working, "s", PROFILER),
            Measure("calls", run.calls, "", COUNT),
        ),
    )
