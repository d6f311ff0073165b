"""The doctor: what is wrong with a call, in at most three sentences, or nothing."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..analysis.doctor import Evidence, diagnose, diagnosis_text
from ..records import Compiled, Diagnosis
from . import text
from .producers import Subject, program_of
from .recompile_log import spared_traces
from .result import Inspection


class Examined(Inspection):
    """What :func:`doctor` returns: an inspection whose last record is the ``diagnosis``, with its findings."""

    def __init__(self, evidence: Evidence, diagnosis: Diagnosis, *found: Any) -> None:
        super().__init__("doctor", (*found, diagnosis), diagnosis_text(diagnosis, evidence))
        self.diagnosis = diagnosis


def doctor(fun: Subject, /, *args: Any, **kwargs: Any) -> Examined:
    """What is wrong with ``fun(*args, **kwargs)``: at most three findings, each with its numbers and one thing to do.

    It compiles the call, runs it as :func:`timings` does, and asks a table of rules
    (``xlascope.analysis.doctor.RULES``) about what was measured. A rule without its evidence finds nothing, and what is
    not worth a change is no finding: a program that is well has none. Why functions are traced again is known since
    :func:`watch_recompiles` (``%load_ext xlascope`` watches). A call of shapes is compiled and not run. Raises what
    tracing and compiling raise, and what :func:`timings` raises.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> found = xs.inspect.doctor(lambda x: jnp.sin(x) * 2.0, jnp.arange(4.0))
    >>> print(found)
    <lambda>: no finding, by ... rules, ... per call (measured)
    >>> found.diagnosis.findings
    ()
    """
    program = program_of(fun, args, kwargs)
    found = [program.record, *program.compiled()]
    host, copied = program.host, None
    unmeasured = host.unmeasured()
    if not unmeasured:
        found += host.measured(text.one(Compiled, found))
        copied = host.copied()
    evidence = Evidence.of(found, spared_traces(host.numbers()), copied)
    assert evidence is not None  # the trace is the first record
    diagnosis = diagnose(evidence)
    if unmeasured:
        diagnosis = dataclasses.replace(diagnosis, notes=(f"not run: {unmeasured}", *diagnosis.notes))
    return Examined(evidence, diagnosis, *found)
