"""The doctor: at most three findings about the performance of a call."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..analysis.doctor import Evidence, diagnose, diagnosis_text
from ..analysis.values import add_value_findings
from ..records import Compiled, Diagnosis
from . import text
from .producers import Subject, program_of
from .recompile_log import avoidable_traces
from .result import Inspection
from .values import probe_call


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
    compiled and not run. Raises what tracing and compiling raise, and what :func:`timings` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> found = xs.inspect.doctor(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0))
    >>> print(found)
    <lambda>: no finding, by ... rules, ... per call (measured)
    >>> found.diagnosis.findings
    ()
    """
    program = program_of(fun, args, kwargs)
    records = [program.record, *program.compiled()]
    host, copied, is_bad, report = program.host, None, None, None
    unmeasured = host.unmeasured()
    if not unmeasured:
        records += host.measured(text.first_record(Compiled, records))
        copied = host.copied()
        is_bad = host.has_bad_results()
        report = probe_call(program.record, host) if is_bad else None
    evidence = Evidence.of(records, avoidable_traces(host.numbers()), copied)
    assert evidence is not None  # the trace is the first record
    diagnosis = diagnose(evidence)
    if unmeasured:
        diagnosis = dataclasses.replace(diagnosis, notes=(f"not run: {unmeasured}", *diagnosis.notes))
    if is_bad is not None:
        diagnosis = add_value_findings(diagnosis, report)
    return Examined(evidence, diagnosis, *records)
