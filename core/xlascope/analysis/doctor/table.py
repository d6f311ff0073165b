"""The table of all rules, and the diagnosis: at most three findings, the largest share first."""

from __future__ import annotations

from collections.abc import Iterator

from ...records import Diagnosis, Finding
from ..formatting import percent, plural, seconds, size
from . import calls, donation, eager, loops, products, recomputation, values
from .evidence import Evidence
from .rule import MIN_FINDING_SECONDS, MIN_FINDING_SHARE, MIN_FINDING_TOTAL_SECONDS, Rule

#: Maximum number of findings in a diagnosis.
MAX_FINDINGS = 3

_PER_CALL = f"{percent(MIN_FINDING_SHARE)} of the kernels' time, {seconds(MIN_FINDING_SECONDS)} a call"
_COST = f"{_PER_CALL}, {seconds(MIN_FINDING_TOTAL_SECONDS)} in all calls"

RULES = (
    Rule(
        "traced again",
        f"{calls.MIN_TRACES} traces that could have been spared, {seconds(calls.MIN_LOST_SECONDS)} lost",
        calls.find_retraces,
    ),
    Rule(
        "jit in a loop",
        f"{calls.MIN_TRACES} functions made from the same code, {seconds(calls.MIN_LOST_SECONDS)} lost",
        calls.find_jit_in_loop,
    ),
    Rule(
        "copied arguments",
        f"{percent(MIN_FINDING_SHARE)} of a call and {seconds(MIN_FINDING_SECONDS)}, by a 99 % interval",
        calls.find_copied_arguments,
    ),
    Rule(
        "not jitted",
        f"{eager.MIN_OPERATIONS} eager operations; jitted, {percent(MIN_FINDING_SHARE)} and "
        f"{seconds(MIN_FINDING_SECONDS)} of a call less",
        eager.find_eager_calls,
    ),
    Rule(
        "fetched in a loop",
        f"{eager.MIN_FETCHES} values a call; {percent(MIN_FINDING_SHARE)} of it and {seconds(MIN_FINDING_SECONDS)}; "
        f"in a cell, {percent(eager.MIN_WAITED_SHARE)} of its calls, with an idle device",
        eager.find_fetches,
    ),
    Rule(
        "float64 to float32",
        f"{eager.MIN_ROUNDED_VALUES} values of NumPy arguments that are not exact in float32",
        eager.find_narrowed_arguments,
    ),
    Rule(
        "waits",
        f"{percent(calls.MIN_WAITING_SHARE)} of the loop, {calls.MIN_CALLS} calls in {seconds(calls.MIN_LOOP_SECONDS)}",
        calls.find_waits,
    ),
    Rule(
        "unrolled loop",
        f"{loops.MIN_REPEATS} rounds, {percent(loops.MIN_SHARE)} of the equations, "
        f"{seconds(loops.MIN_BUILD_SECONDS)} to build",
        loops.find_unrolled_loops,
    ),
    Rule(
        "one by one",
        f"{loops.MIN_STEPS} steps below {seconds(loops.SMALL_STEP_SECONDS)}; {_COST}",
        loops.find_small_scan_steps,
    ),
    Rule("calls Python", _COST, loops.find_python_callbacks),
    Rule("float64", f"no data in float64 given; {_COST}", values.find_float64_promotions),
    Rule(
        "sorted for few",
        f"{values.MIN_SORTED_ELEMENTS:,} values, an eighth of them kept; {_COST}",
        values.find_partial_sorts,
    ),
    Rule(
        "computed again",
        f"a CPU, {recomputation.MIN_MEAN_COUNT:g} kernels for what is cheap on average, "
        f"{recomputation.MIN_MAX_COUNT} for one equation; {_COST}",
        recomputation.find_recomputation,
    ),
    Rule("copies", f"{_COST}, and {percent(values.MIN_COMPUTING_SHARE)} computes", values.find_copies),
    Rule(
        "product order",
        f"{products.MIN_FLOP_RATIO:g} times the operations of the other order; {_COST}",
        products.find_product_order,
    ),
    Rule("inverse", f"twice the columns that are needed; {_COST}", products.find_inverses),
    Rule("one-hot product", f"{products.MIN_CLASSES} classes; {_COST}", products.find_one_hot_products),
    Rule(
        "integer product",
        f"a CPU, below {percent(products.SLOW_RATE_FRACTION)} of its rate in float32; {_COST}",
        products.find_integer_products,
    ),
    Rule(
        "float32 products",
        f"a GPU or TPU, {percent(products.MIN_FLOAT32_SHARE)} of the kernels' time",
        products.find_float32_products,
    ),
    Rule(
        "not donated",
        f"{size(donation.MIN_SAVED_BYTES)} and {percent(donation.MIN_SAVED_SHARE)} of the memory needed at most",
        donation.find_missing_donation,
    ),
)


def diagnose(evidence: Evidence) -> Diagnosis:
    """Return the findings of the rules, at most :data:`MOST`, the largest share first, and notes on missing data."""
    findings = sorted(_largest_findings(evidence), key=lambda item: -item.share)
    traced = evidence.traced
    names = tuple(item.name for item in RULES)
    return Diagnosis(
        traced.program, traced.function, traced.time, tuple(findings[:MAX_FINDINGS]), names, tuple(_notes(evidence))
    )


def _largest_findings(evidence: Evidence) -> Iterator[Finding]:
    """Yield for each rule the finding with the largest share, if the rule finds anything."""
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
    """Return a diagnosis as text: a line about the program, then each finding with its action, and the notes."""
    return "\n".join(_format_lines(diagnosis, evidence))


def _format_lines(diagnosis: Diagnosis, evidence: Evidence) -> Iterator[str]:
    run = evidence.executed
    measured = f", {seconds(run.step)} per call (measured)" if run is not None and run.step else ""
    number = plural(len(diagnosis.findings), "finding") if diagnosis.findings else "no finding"
    yield f"{diagnosis.function}: {number}, by {len(diagnosis.rules)} rules{measured}"
    for count, finding in enumerate(diagnosis.findings, 1):
        places = (evidence.format_location(finding.source), f"kernel {finding.kernel}" if finding.kernel else "")
        location = ", ".join(filter(None, places))
        yield f"{count}. {finding.sentence}{f' ({location})' if location else ''}"
        yield f"   do: {finding.action}"
    for note in diagnosis.notes:
        yield f"note: {note}"
