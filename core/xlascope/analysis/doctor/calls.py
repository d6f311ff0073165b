"""What happens around a program: traces and copies that could be spared, and a device that waits."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Finding, Measure, Traced
from ..figures import percent, plural, seconds, size
from ..retraces import Retrace, made_from
from .evidence import Evidence
from .rule import CLOCK, COUNT, PROFILER, WORTH_SECONDS, WORTH_SHARE

#: Traces that could have been spared, and the seconds that they cost.
TRACES, LOST = 5, 0.1
#: Calls, their seconds, and the part of these that the device waits, from which on it waits too long.
CALLS, LASTED, WAITING = 100, 1.0, 0.7


def traced_again(evidence: Evidence) -> Iterator[Finding]:
    """A function that was traced again and again, since something about its arguments changed."""
    yield from _retraced(evidence, "traced again", new=False)


def jit_in_a_loop(evidence: Evidence) -> Iterator[Finding]:
    """A function that is made and jitted anew each time, so that nothing is found again."""
    yield from _retraced(evidence, "jit in a loop", new=True)


def _retraced(evidence: Evidence, rule: str, *, new: bool) -> Iterator[Finding]:
    found = [each for each in evidence.retraces if bool(made_from(each.reason)) == new and not each.inside]
    lost = sum(each.seconds for each in found)
    if len(found) < TRACES or lost < LOST or _is_of_a_library(evidence.traced):
        return
    latest = found[0]
    ran = evidence.executed.seconds if evidence.executed is not None else 0.0
    at = f" at {latest.where}" if latest.where else ""
    site = evidence.traced.call_site
    yield Finding(
        rule,
        f"{evidence.traced.function} was traced again {len(found):,} times{at}, {seconds(lost)} of tracing and "
        f"compiling; the last time: {latest.reason}",
        latest.fix,
        lost / (lost + ran),
        lost,
        site if evidence.at(site) == latest.where else None,
        "",
        None,
        (Measure("traces that could have been spared", len(found), "", COUNT), *_parts(found)),
    )


def _is_of_a_library(traced: Traced) -> bool:
    """Whether all of a function stands where it was called: its code is not the user's, and he wrote one line of it."""
    site = traced.call_site
    if site is None:
        return False
    lines = {(x.source.file, x.source.line, x.source.function) for x in traced.jaxpr.equations if x.source is not None}
    return lines <= {(site.file, site.line, site.function)}


def _parts(found: list[Retrace]) -> Iterator[Measure]:
    for name in ("trace", "lower", "compile"):
        yield Measure(f"{name} again", sum(getattr(each, name) for each in found), "s", CLOCK)


def copied_arguments(evidence: Evidence) -> Iterator[Finding]:
    """Arguments in NumPy's memory, which every call copies to the device."""
    copied = evidence.copied
    if copied is None or not copied.slower:
        return
    spent = copied.given - copied.kept
    share = spent / copied.given if copied.given else 0.0
    if share < WORTH_SHARE or spent < WORTH_SECONDS:
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


def waits(evidence: Evidence) -> Iterator[Finding]:
    """A device that waits from call to call: for Python, for data, for somebody who looks at each result."""
    run, account = evidence.executed, evidence.account
    if run is None or account is None or account.whole is None or run.at_most or not evidence.traced.seconds:
        return
    if run.calls < CALLS or run.seconds < LASTED or not run.observed_calls:
        return
    # The smaller of two: the pace between the calls that were timed, and the time that passed by all that were counted.
    every = min(max(run.window / run.observed_calls, run.step), run.seconds / run.calls)
    working = account.whole.running_seconds
    waiting = 1 - working / every
    if waiting < WAITING:
        return
    yield Finding(
        "waits",
        f"The device waits during {percent(waiting)} of the loop: a call keeps it busy for {seconds(working)}, and "
        f"calls come every {seconds(every)} ({plural(run.calls, 'call')})",
        "do more in one call (lax.scan or lax.fori_loop over several steps), and nothing between calls that waits for "
        "a result or copies data, such as float(loss) in every step",
        waiting,
        every - working,
        evidence.traced.call_site,
        "",
        None,
        (
            Measure("time from call to call", every, "s", CLOCK),
            Measure("time per call in which a kernel runs", working, "s", PROFILER),
            Measure("calls", run.calls, "", COUNT),
        ),
    )
