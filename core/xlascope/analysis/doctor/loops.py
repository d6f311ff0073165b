"""Rules about loops: unrolled by Python, with steps too small for the device, or with Python callbacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...records import Equation, Finding, Jaxpr, Measure, SourceRange
from ...records.traits import Trait
from ..formatting import plural, seconds
from .evidence import Evidence, parameter
from .rule import CLOCK, COUNT, CallCost

#: Minimum number of repetitions of an equation of one line, fraction of the program in such lines, and seconds to
#: build the program.
MIN_REPEATS, MIN_SHARE, MIN_BUILD_SECONDS = 100, 0.5, 1.0
#: Minimum number of steps of a loop without a carry, and seconds below which a step is too small for the device.
MIN_STEPS, SMALL_STEP_SECONDS = 64, 20e-6
#: Maximum memory for all steps at once; above it the steps are batched.
MAX_BATCH_BYTES = 1 << 28


def find_unrolled_loops(evidence: Evidence) -> Iterator[Finding]:
    """Find a loop that Python ran during tracing, so that the program contains each of its iterations."""
    total = len(evidence.equations)
    if total < MIN_REPEATS or evidence.build_seconds < MIN_BUILD_SECONDS or evidence.compiled is None:
        return
    for level in evidence.levels:
        counts: Counter[tuple[SourceRange, str, tuple[object, ...]]] = Counter()
        for equation in level.jaxpr.equations:
            if equation.source is not None and equation.role == "forward":
                counts[equation.source, equation.operation, _types(level.jaxpr, equation)] += 1
        lines = {(source.file, source.line) for (source, *_), count in counts.items() if count >= MIN_REPEATS}
        inside = [x for x in level.jaxpr.equations if x.source is not None and (x.source.file, x.source.line) in lines]
        if not lines or len(inside) < MIN_SHARE * total:
            continue
        (site, _, _), times = counts.most_common(1)[0]
        built = evidence.build_seconds
        parts = (("tracing", evidence.traced), ("lowering", evidence.lowered), ("compiling", evidence.compiled))
        yield Finding(
            "unrolled loop",
            f"Line {site.line} stands {times:,} times in the program, and with the lines around it is {len(inside):,} "
            f"of its {total:,} equations: building it took {seconds(built)}",
            "let the device loop: lax.fori_loop, or lax.scan over the stacked values, holds the round once",
            len(inside) / total,
            built,
            site,
            "",
            next(equation.path for equation in inside if equation.source == site),
            (
                *(Measure(f"{name}", record.seconds, "s", CLOCK) for name, record in parts if record is not None),
                Measure("rounds", times, "", COUNT),
                Measure("equations", total, "", COUNT),
            ),
        )
        return


def _types(jaxpr: Jaxpr, equation: Equation) -> tuple[object, ...]:
    """Return the types of an equation's results, which are equal for all iterations of a loop."""
    return tuple((jaxpr.variables[name].shape, jaxpr.variables[name].dtype) for name in equation.outputs)


def find_small_scan_steps(evidence: Evidence) -> Iterator[Finding]:
    """Find a loop with independent steps, each too small for the device."""
    for equation in evidence.equations.values():
        steps = int(parameter(equation, "length") or 0)
        has_no_carry = equation.operation == "scan" and parameter(equation, "num_carry") == "0"
        if (
            not has_no_carry
            or steps < MIN_STEPS
            or equation.role != "forward"
            or _has_python_callback(evidence, equation)
        ):
            continue
        cost = CallCost.of(evidence, (equation.path,))
        if cost is None or cost.seconds / steps >= SMALL_STEP_SECONDS or evidence.kernel_seconds == 0:
            continue
        needed = steps * sum(variable.bytes for body in equation.bodies for variable in body.variables.values())
        batch_size = max(2, int(MAX_BATCH_BYTES * steps / needed)) if needed > MAX_BATCH_BYTES else 0
        action = (
            f"map several at a time: lax.map(f, xs, batch_size={min(batch_size, steps)})"
            if batch_size
            else "map them at once: vmap(f)(xs)"
        )
        yield cost.make_finding(
            "one by one",
            equation,
            f"{steps:,} steps that need nothing of each other run one by one, {seconds(cost.seconds / steps)} each: "
            f"they take {cost.words}",
            action,
            Measure("steps", steps, "", COUNT),
        )


def find_python_callbacks(evidence: Evidence) -> Iterator[Finding]:
    """Find a program that calls Python while it runs."""
    callers = [equation for equation in evidence.equations.values() if evidence.traced.has(equation, Trait.PYTHON)]
    cost = CallCost.of(evidence, [equation.path for equation in callers])
    if cost is None:
        return
    printing = all(equation.operation == "debug_callback" for equation in callers)
    yield cost.make_finding(
        "calls Python",
        max(callers, key=lambda equation: evidence.seconds_of((equation.path,))),
        f"The program calls Python in {plural(len(callers), 'place')}, and the device waits for it: that takes "
        f"{cost.words}; such a call is waited for, too, before the next one is made",
        "take the print out, or return the value and look at it every so many steps"
        if printing
        else "write that function with xlascope.numpy, or call it between the steps, on the results",
        Measure("calls of Python", len(callers), "", COUNT),
    )


def _has_python_callback(evidence: Evidence, equation: Equation) -> bool:
    return any(evidence.traced.has(inner, Trait.PYTHON) for body in equation.bodies for inner in body.walk())
