"""The values of a call: where a NaN or an infinity is born, the range of each value, and statistics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..analysis.values import ValueFlow, find_births, find_problems, report_text
from ..analysis.values.births import Candidate, Kind, find_differentiated, first_birth
from ..analysis.values.health import interesting_equations
from ..analysis.values.naming import complete_values
from ..analysis.values.sentences import BirthCase, birth_sentence
from ..records import Birth, EquationPath, ProbedValue, Traced, ValueReport
from .producers import Query, Subject, program_of
from .program import Host, Program, QuestionError
from .result import Inspection

#: Called with each call whose values were asked for, the report about them, and the bytes of the call's arguments.
value_listeners: list[Callable[[Query, ValueReport, int], None]] = []
#: The largest number of equations that are probed at once; of more the first bad one is bisected.
MAX_PROBED = 2000
#: The largest number of equations of which a program without births gets full statistics; of more, it gets those that
#: the rules read, at most twice as many.
MAX_FULL = 100


class Values(Inspection):
    """Result of :func:`values`: an inspection whose last record is the ``report``."""

    def __init__(self, traced: Traced, report: ValueReport) -> None:
        super().__init__("values", (traced, report), report_text(report, traced))
        self.report = report


def values(fun: Subject, /, *args: Any, **kwargs: Any) -> Values:
    """Show where ``fun(*args, **kwargs)`` computes its first NaN or infinity, and the range of each value.

    The call runs as a twin program that also computes one number for each value; then once more with full statistics:
    of the equation where NaN or infinity was born, with its operands at that iteration, or else of all values. Rules
    about values (underflow, vanishing gradients, dead units, saturation) read the statistics. Prints are left out;
    functions of Python whose results are needed (``pure_callback``, ``io_callback``) run again. Donated arguments
    stay. A function of jax is taken as one of xlascope is. Raises :class:`QuestionError` for a call of shapes and for
    arguments that were donated before or deleted, and what tracing and compiling raise.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.inspect.values(lambda x: jnp.log(x).sum(), jnp.arange(4.0)))
    <lambda>: 1 of 1 result holds infinity (2 values looked at)
    infinity born: log of 0: 1 of 4 elements is 0 (...)
      operand 0, x: f32[4], 0 to 3, mean 1.5, root mean square 1.87, 1 zero
    ...
    """
    program = program_of(fun, args, kwargs)
    traced, host = program.record, program.host
    host.check_callable()
    why_not = host.unmeasured()
    if why_not:
        raise QuestionError(f"the values of {traced.function or 'the program'} are not known: {why_not}")
    report = probe_call(traced, host)
    if not isinstance(fun, Program):
        query = fun if isinstance(fun, Query) else Query(fun, args, kwargs)
        for listener in value_listeners:
            listener(query, report, host.argument_bytes())
    return Values(traced, report)


def probe_call(traced: Traced, host: Host) -> ValueReport:
    """Return the report about a call's values; run it as twins of its program."""
    began, notes = time.time(), []
    first = host.probed_ranges(_coarse_selection(traced))
    probed = complete_values(traced.jaxpr, first.values)
    refined = _refine(traced, probed)
    if refined is not None:
        probed = _merge(probed, complete_values(traced.jaxpr, host.probed_ranges(refined).values))
    if _coarse_selection(traced) is not None:
        notes.append(f"of {_count(traced):,} equations every {_stride(traced)}th was looked at, and those near a birth")
    flow = ValueFlow.of(traced.jaxpr, probed)
    outputs = [value for value in probed if value.position == "output"]
    full_seconds, births = 0.0, []
    for kind, candidate in _births(flow):
        birth, seconds = _describe_birth(kind, candidate, flow, host, outputs)
        births.append(birth)
        full_seconds = max(full_seconds, seconds)
    if not any(birth.reaches_results for birth in births):
        chosen = _chosen_for_statistics(traced)
        full = host.probed_statistics(chosen, "")
        probed = _with_statistics(probed, complete_values(traced.jaxpr, full.values))
        flow, full_seconds = ValueFlow.of(traced.jaxpr, probed), max(full_seconds, full.seconds)
    comparison = host.compared_outputs(first.outputs)
    notes += comparison.notes
    return ValueReport(
        program=traced.program,
        function=traced.function,
        time=began,
        values=tuple(value for value in probed if value.position != "operand"),
        births=tuple(births),
        findings=find_problems(flow, births),
        results=tuple(value.health for value in outputs),
        call_seconds=comparison.seconds,
        first_seconds=first.seconds,
        full_seconds=full_seconds,
        equal_results=comparison.equal,
        difference=comparison.difference,
        notes=tuple(notes),
    )


# Births ---------------------------------------------------------------------------------------------------------------


def _births(flow: ValueFlow) -> Iterator[tuple[Kind, Candidate]]:
    """Yield the first infinity, where a NaN comes after it or none comes, and the first NaN."""
    nan, inf = first_birth(find_births(flow, "nan")), first_birth(find_births(flow, "inf"))
    if inf is not None and inf.is_born and (nan is None or inf.moment <= nan.moment):
        yield "inf", inf
    if nan is not None:
        yield "nan", nan


def _describe_birth(
    kind: Kind, candidate: Candidate, flow: ValueFlow, host: Host, outputs: Sequence[ProbedValue]
) -> tuple[Birth, float]:
    """Return a birth with the statistics of its operands when it happened, and the seconds of measuring them."""
    value = candidate.value
    reaches = any(output.health in ("nan", "inf")[: 1 if kind == "nan" else 2] for output in outputs)
    iterations = (value.first_nan if kind == "nan" else value.first_inf) or ()
    if value.position == "argument":
        name = value.label or value.name
        word = "NaN" if kind == "nan" else "infinity"
        sentence = f"argument {name} holds {word} before the program begins"
        return Birth(kind, EquationPath(""), "", sentence, None, (), (), reaches, is_argument=True), 0.0
    full = host.probed_statistics(frozenset([value.path]), kind)
    measured = complete_values(flow.jaxpr, full.values)
    equation = flow.places[value.path].equation
    operands = {item.index: item for item in measured if item.position == "operand"}
    derivative_of = find_differentiated(flow, equation)
    case = BirthCase(equation, kind, operands, _literals(equation.inputs), value.dtype, derivative_of)
    sentence = birth_sentence(case)
    if not candidate.is_born:
        sentence = f"{sentence} (an operand held it already)"
    birth = Birth(
        kind, value.path, equation.operation, sentence, value.source, iterations, tuple(operands.values()), reaches
    )
    return birth, full.seconds


def _literals(inputs: Sequence[str]) -> dict[int, float]:
    """Return the operands that are literals, by their numbers."""
    literals = {}
    for index, text in enumerate(inputs):
        try:
            literals[index] = float(text.partition(":")[0])
        except ValueError:
            continue
    return literals


# Selection ------------------------------------------------------------------------------------------------------------


def _count(traced: Traced) -> int:
    return sum(1 for _ in traced.jaxpr.walk())


def _stride(traced: Traced) -> int:
    return -(-_count(traced) // MAX_PROBED)


def _coarse_selection(traced: Traced) -> frozenset[EquationPath] | None:
    """Return the equations to probe at first: None for all, else every so many, and those that compute results."""
    stride = _stride(traced)
    if stride <= 1:
        return None
    results = set(traced.jaxpr.outputs)
    last = [equation.path for equation in traced.jaxpr.equations if not results.isdisjoint(equation.outputs)]
    return frozenset([*(item.path for item in list(traced.jaxpr.walk())[stride - 1 :: stride]), *last[-MAX_PROBED:]])


def _refine(traced: Traced, probed: Iterable[ProbedValue]) -> frozenset[EquationPath] | None:
    """Return the equations before the first bad ones that were looked at coarsely; None if nothing is left out."""
    if _stride(traced) <= 1:
        return None
    flow = ValueFlow.of(traced.jaxpr, probed)
    order = [equation.path for equation in traced.jaxpr.walk()]
    index_of = {path: index for index, path in enumerate(order)}
    chosen: set[EquationPath] = set()
    for kind in ("nan", "inf"):
        candidates = [item for item in find_births(flow, kind) if item.value.position == "result"]
        if candidates:
            last = index_of[candidates[0].value.path]
            chosen.update(order[max(0, last - 2 * _stride(traced)) : last + 1])
    return frozenset(chosen) or None


def _merge(probed: Iterable[ProbedValue], more: Iterable[ProbedValue]) -> tuple[ProbedValue, ...]:
    values = {(value.path, value.position, value.index): value for value in (*probed, *more)}
    return tuple(sorted(values.values(), key=lambda value: value.path))


def _chosen_for_statistics(traced: Traced) -> frozenset[EquationPath] | None:
    """Return the equations of which a program without births gets full statistics; None for all."""
    if _count(traced) <= MAX_FULL:
        return None
    return frozenset(list(interesting_equations(traced.jaxpr))[: 2 * MAX_FULL])


def _with_statistics(probed: Sequence[ProbedValue], full: Iterable[ProbedValue]) -> tuple[ProbedValue, ...]:
    """Return the values with statistics where they were measured, and the operands that were measured with them."""
    measured = {(value.path, value.position, value.index): value for value in full}
    joined = []
    for value in probed:
        more = measured.pop((value.path, value.position, value.index), None)
        joined.append(value if more is None else replace(value, statistics=more.statistics))
    return (*joined, *(value for value in measured.values() if value.position == "operand"))
