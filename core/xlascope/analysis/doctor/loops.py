"""Loops in the wrong place: written out by Python, one by one on the device, or calling Python from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...records import Equation, Finding, Jaxpr, Measure, SourceRange
from ...records.traits import Trait
from ..figures import plural, seconds
from .evidence import Evidence, parameter
from .rule import CLOCK, COUNT, Stake

#: How often the same equation of one line has to stand in a program, which part of the program such lines have to be,
#: and how many seconds it has to take to build it.
TIMES, PART, BUILDING = 100, 0.5, 1.0
#: Steps of a loop without a carry, and the seconds of one below which it is too small to be alone.
STEPS, SMALL_STEP = 64, 20e-6
#: What all steps together may need at once, and how many to take together where they need more.
MOST_BYTES = 1 << 28


def unrolled(evidence: Evidence) -> Iterator[Finding]:
    """A loop that Python ran while the function was traced: the program holds each of its rounds."""
    total = len(evidence.equations)
    if total < TIMES or evidence.building < BUILDING or evidence.compiled is None:
        return
    for level in evidence.levels:
        counts: Counter[tuple[SourceRange, str, tuple[object, ...]]] = Counter()
        for each in level.jaxpr.equations:
            if each.source is not None and each.role == "forward":
                counts[each.source, each.operation, _types(level.jaxpr, each)] += 1
        lines = {(source.file, source.line) for (source, *_), count in counts.items() if count >= TIMES}
        inside = [x for x in level.jaxpr.equations if x.source is not None and (x.source.file, x.source.line) in lines]
        if not lines or len(inside) < PART * total:
            continue
        (place, _, _), times = counts.most_common(1)[0]
        built = evidence.building
        parts = (("tracing", evidence.traced), ("lowering", evidence.lowered), ("compiling", evidence.compiled))
        yield Finding(
            "unrolled loop",
            f"Line {place.line} stands {times:,} times in the program, and with the lines around it is {len(inside):,} "
            f"of its {total:,} equations: building it took {seconds(built)}",
            "let the device loop: lax.fori_loop, or lax.scan over the stacked values, holds the round once",
            len(inside) / total,
            built,
            place,
            "",
            next(each.path for each in inside if each.source == place),
            (
                *(Measure(f"{name}", record.seconds, "s", CLOCK) for name, record in parts if record is not None),
                Measure("rounds", times, "", COUNT),
                Measure("equations", total, "", COUNT),
            ),
        )
        return


def _types(jaxpr: Jaxpr, equation: Equation) -> tuple[object, ...]:
    """The types of an equation's results: rounds of a loop have equal ones."""
    return tuple((jaxpr.variables[name].shape, jaxpr.variables[name].dtype) for name in equation.outputs)


def one_by_one(evidence: Evidence) -> Iterator[Finding]:
    """A loop whose steps need nothing of each other, each too small for the device."""
    for equation in evidence.equations.values():
        steps = int(parameter(equation, "length") or 0)
        alone = equation.operation == "scan" and parameter(equation, "num_carry") == "0"
        if not alone or steps < STEPS or equation.role != "forward" or _calls_python(evidence, equation):
            continue
        stake = Stake.of(evidence, (equation.path,))
        if stake is None or stake.seconds / steps >= SMALL_STEP or evidence.kernel_seconds == 0:
            continue
        needed = steps * sum(variable.bytes for body in equation.bodies for variable in body.variables.values())
        together = max(2, int(MOST_BYTES * steps / needed)) if needed > MOST_BYTES else 0
        action = (
            f"map several at a time: lax.map(f, xs, batch_size={min(together, steps)})"
            if together
            else "map them at once: vmap(f)(xs)"
        )
        yield stake.finding(
            "one by one",
            equation,
            f"{steps:,} steps that need nothing of each other run one by one, {seconds(stake.seconds / steps)} each: "
            f"they take {stake.words}",
            action,
            Measure("steps", steps, "", COUNT),
        )


def calls_python(evidence: Evidence) -> Iterator[Finding]:
    """A program that stops to call Python in the middle."""
    calling = [each for each in evidence.equations.values() if evidence.traced.has(each, Trait.PYTHON)]
    stake = Stake.of(evidence, [each.path for each in calling])
    if stake is None:
        return
    printing = all(each.operation == "debug_callback" for each in calling)
    yield stake.finding(
        "calls Python",
        max(calling, key=lambda each: evidence.seconds_of((each.path,))),
        f"The program calls Python in {plural(len(calling), 'place')}, and the device waits for it: that takes "
        f"{stake.words}; such a call is waited for, too, before the next one is made",
        "take the print out, or return the value and look at it every so many steps"
        if printing
        else "write that function with xlascope.numpy, or call it between the steps, on the results",
        Measure("calls of Python", len(calling), "", COUNT),
    )


def _calls_python(evidence: Evidence, equation: Equation) -> bool:
    return any(evidence.traced.has(each, Trait.PYTHON) for body in equation.bodies for each in body.walk())
