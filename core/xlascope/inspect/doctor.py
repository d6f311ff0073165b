"""The doctor: at most three findings about the performance of a call."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from ..analysis.doctor import Evidence, diagnose, diagnosis_text
from ..analysis.values import add_value_findings
from ..records import Compiled, Diagnosis, Executed, Jaxpr, Record, Traced, next_program
from . import text
from .producers import Subject, program_of, written_call_of
from .recompile_log import avoidable_traces
from .result import Inspection
from .values import probe_call
from .written_call import WrittenCall, measure_unjittable_call, measure_written_call


class Examined(Inspection):
    """Result of :func:`doctor`: an inspection whose last record is the ``diagnosis``, with its findings."""

    def __init__(self, evidence: Evidence, diagnosis: Diagnosis, *records: Any) -> None:
        super().__init__("doctor", (*records, diagnosis), diagnosis_text(diagnosis, evidence))
        self.diagnosis = diagnosis


def doctor(fun: Subject, /, *args: Any, **kwargs: Any) -> Examined:
    """Find performance problems of ``fun(*args, **kwargs)``: at most three, each with its numbers and one action.

    The call is compiled and run as :func:`timings` does, and a table of rules
    (``xlascope.analysis.doctor.RULES``) examines the measurements. If a result holds NaN or infinity, it is
    found where that was born, as :func:`values` does, and said first. A rule without its evidence finds nothing, and
    insignificant problems are not reported, so a program without problems has no findings. The reasons of
    retraces are known from :func:`watch_recompiles` on (``%load_ext xlascope`` calls it). A call of shapes is
    compiled and not run. A function that is not jitted is also called as written; if it cannot be jitted, only that is
    examined. Raises what tracing and compiling raise, and what :func:`timings` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> found = xs.inspect.doctor(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0))
    >>> print(found)
    <lambda>: no finding, by ... rules, ... per call (measured)
    >>> found.diagnosis.findings
    ()
    """
    written = written_call_of(fun, args, kwargs)
    try:
        program = program_of(fun, args, kwargs)
    except Exception as error:
        if written is None:
            raise
        return _examine_unjittable(written, error)
    records: list[Record] = [program.record, *program.compiled()]
    host, copied, eager = program.host, None, None
    is_bad, report = None, None
    unmeasured = host.unmeasured()
    if not unmeasured:
        records += host.measured(text.first_record(Compiled, records))
        copied = host.copied()
        if written is not None:
            eager = measure_written_call(written).with_jitted(text.first_record(Executed, records).step)
        is_bad = host.has_bad_results()
        report = probe_call(program.record, host) if is_bad else None
    evidence = Evidence.of(records, avoidable_traces(host.numbers()), copied, eager, host.compare_narrowed())
    assert evidence is not None  # the trace is the first record
    diagnosis = diagnose(evidence)
    if unmeasured:
        diagnosis = dataclasses.replace(diagnosis, notes=(f"not run: {unmeasured}", *diagnosis.notes))
    if is_bad is not None:
        diagnosis = add_value_findings(diagnosis, report)
    return Examined(evidence, diagnosis, *records)


def _examine_unjittable(written: WrittenCall, error: Exception) -> Examined:
    """Return the findings about a call as written whose function cannot be jitted because of ``error``."""
    eager = measure_unjittable_call(written, error)
    name, now = eager.function, time.time()
    untraced = Traced(next_program(), name, now, 0.0, Jaxpr(name, (), (), (), {}, ()), "", "", origin="first")
    evidence = Evidence(untraced, eager=eager)
    diagnosis = dataclasses.replace(diagnose(evidence), notes=(eager.summary, *eager.notes))
    return Examined(evidence, diagnosis)
