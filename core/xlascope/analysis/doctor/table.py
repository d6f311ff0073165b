"""The table of all rules, and the diagnosis: at most three findings, the largest share first."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Diagnosis, Finding
from ..figures import percent, plural, seconds, size
from . import again, calls, loops, products, reuse, values
from .evidence import Evidence
from .rule import WORTH_IN_ALL, WORTH_SECONDS, WORTH_SHARE, Rule

#: Maximum number of findings in a diagnosis.
MOST = 3

_A_CALL = f"{percent(WORTH_SHARE)} of the kernels' time, {seconds(WORTH_SECONDS)} a call"
_WORTH = f"{_A_CALL}, {seconds(WORTH_IN_ALL)} in all calls"

RULES = (
    Rule(
        "traced again",
        f"{calls.TRACES} traces that could have been spared, {seconds(calls.LOST)} lost",
        calls.traced_again,
    ),
    Rule(
        "jit in a loop",
        f"{calls.TRACES} functions made from the same code, {seconds(calls.LOST)} lost",
        calls.jit_in_a_loop,
    ),
    Rule(
        "copied arguments",
        f"{percent(WORTH_SHARE)} of a call and {seconds(WORTH_SECONDS)}, by a 99 % interval",
        calls.copied_arguments,
    ),
    Rule(
        "waits",
        f"{percent(calls.WAITING)} of the loop, {calls.CALLS} calls in {seconds(calls.LASTED)}",
        calls.waits,
    ),
    Rule(
        "unrolled loop",
        f"{loops.TIMES} rounds, {percent(loops.PART)} of the equations, {seconds(loops.BUILDING)} to build",
        loops.unrolled,
    ),
    Rule(
        "one by one",
        f"{loops.STEPS} steps below {seconds(loops.SMALL_STEP)}; {_WORTH}",
        loops.one_by_one,
    ),
    Rule("calls Python", _WORTH, loops.calls_python),
    Rule("float64", f"no data in float64 given; {_WORTH}", values.float64),
    Rule(
        "sorted for few",
        f"{values.SORTED:,} values, an eighth of them kept; {_WORTH}",
        values.sorted_for_few,
    ),
    Rule(
        "computed again",
        f"a CPU, {again.ON_AVERAGE:g} kernels for what is cheap on average, {again.ONE} for one equation; {_WORTH}",
        again.computed_again,
    ),
    Rule("copies", f"{_WORTH}, and {percent(values.COMPUTING)} computes", values.copies),
    Rule(
        "product order",
        f"{products.FEWER:g} times the operations of the other order; {_WORTH}",
        products.product_order,
    ),
    Rule("inverse", f"twice the columns that are needed; {_WORTH}", products.inverse),
    Rule("one-hot product", f"{products.CLASSES} classes; {_WORTH}", products.one_hot),
    Rule(
        "integer product",
        f"a CPU, below {percent(products.SLOW_PART)} of its rate in float32; {_WORTH}",
        products.integer_products,
    ),
    Rule(
        "float32 products",
        f"a GPU or TPU, {percent(products.FLOAT32_SHARE)} of the kernels' time",
        products.float32_products,
    ),
    Rule(
        "not donated",
        f"{size(reuse.BYTES)} and {percent(reuse.PART)} of the memory needed at most",
        reuse.not_donated,
    ),
)


def diagnose(evidence: Evidence) -> Diagnosis:
    """Return the findings of the rules, at most :data:`MOST` by share, and notes on missing data."""
    findings = sorted(_found(evidence), key=lambda item: -item.share)
    traced = evidence.traced
    names = tuple(item.name for item in RULES)
    return Diagnosis(
        traced.program, traced.function, traced.time, tuple(findings[:MOST]), names, tuple(_notes(evidence))
    )


def _found(evidence: Evidence) -> Iterator[Finding]:
    for rule in RULES:
        largest = max(rule.find(evidence), key=lambda finding: finding.share, default=None)
        if largest is not None:
            yield largest


def _notes(evidence: Evidence) -> Iterator[str]:
    """Yield notes about what could not be examined."""
    if evidence.traced.jaxpr.by_names:
        yield "of this program the names of equations are known, and nothing of their operands"
    if not evidence.kernel_seconds:
        yield "no kernel's time is known, so nothing is said about the time of a call"
        yield from evidence.executed.notes if evidence.executed is not None else ()
    elif evidence.account is not None and evidence.account.attributed < 0.5:
        yield f"{percent(evidence.account.attributed)} of the kernels' time has an equation: little could be judged"


def diagnosis_text(diagnosis: Diagnosis, evidence: Evidence) -> str:
    """Return a diagnosis as text."""
    return "\n".join(_lines(diagnosis, evidence))


def _lines(diagnosis: Diagnosis, evidence: Evidence) -> Iterator[str]:
    run = evidence.executed
    measured = f", {seconds(run.step)} per call (measured)" if run is not None and run.step else ""
    number = plural(len(diagnosis.findings), "finding") if diagnosis.findings else "no finding"
    yield f"{diagnosis.function}: {number}, by {len(diagnosis.rules)} rules{measured}"
    for count, finding in enumerate(diagnosis.findings, 1):
        places = (evidence.at(finding.source), f"kernel {finding.kernel}" if finding.kernel else "")
        location = ", ".join(filter(None, places))
        yield f"{count}. {finding.sentence}{f' ({location})' if location else ''}"
        yield f"   do: {finding.action}"
    for note in diagnosis.notes:
        yield f"note: {note}"
