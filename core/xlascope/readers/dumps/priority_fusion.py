"""Reader of the steps of the GPU's priority fusion (``*.priority_fusion_dump.txt``), with its time estimates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...records.decisions import FusionDecision
from ..format_error import FormatError
from ..hlo.text import unescape
from .dump import Dump
from .labels import make_refusal

_PASS = "PriorityFusion"
_LINE = re.compile(r'\s*(?:(\w+) \{|(\})|(\w+): (?:"((?:[^"\\]|\\.)*)"|(\S+)))\s*')
_SUBJECT = "a dump of the priority fusion"
#: The kinds of steps that are read; others are passed over.
_KINDS = frozenset({"fusion", "update_priority", "producer_ineligible"})
_MAX_STEPS = 200_000
#: The pass's own reason for a pair whose estimates are against fusion (the dump has only the estimates).
_SLOWER_REASON = "will execute slower if fused"

Fields = dict[str, list[str]]


class _Step(NamedTuple):
    """Step of the priority fusion: its kind, and the values of its fields by name."""

    kind: str
    fields: Fields

    def text(self, name: str) -> str:
        return next(iter(self.fields.get(name, ())), "")

    def seconds(self, name: str) -> float | None:
        try:
            return float(self.text(name)) * 1e-6
        except ValueError:
            return None


def read_fusion_process(text: str, *, is_complete: bool = True) -> Dump:
    """Return the decisions in a priority fusion dump; ``is_complete`` is False for truncated text.

    A producer is fused into all of its consumers or into none, so its estimates are for all of them together. A refusal
    without a consumer is of the producer, whoever the consumer. Raises FormatError for text that is something else.

    >>> read_fusion_process('fusion_steps { }').decisions
    Traceback (most recent call last):
    xlascope.readers.format_error.FormatError: a dump of the priority fusion: expected fusion_steps, found none: ...
    """
    steps: list[_Step] = []
    complete = is_complete
    try:
        for step in _iter_steps(text):
            steps.append(step)
            if len(steps) == _MAX_STEPS:
                complete = False
                break
    except FormatError:
        complete = False
    if not steps and "fusion_steps {\n" not in text:
        raise FormatError(_SUBJECT, "expected fusion_steps, found none: it is damaged, or not a fusion dump of XLA's")
    if steps and not _KINDS.intersection(step.kind for step in steps):
        raise FormatError(_SUBJECT, f"expected steps such as {min(_KINDS)}, found such as {steps[0].kind}")
    return Dump(tuple(_iter_decisions(steps)), complete)


def with_estimates(logged: Sequence[FusionDecision], dumped: Sequence[FusionDecision]) -> tuple[FusionDecision, ...]:
    """Return the decisions in XLA's log, completed by those in a dump of the priority fusion.

    ``logged`` get the time estimates of the same fusions in ``dumped``, and the refusals for which the dump has
    estimates are added after the pass's last decision.
    """
    times: dict[tuple[str, str], list[FusionDecision]] = {}
    for decision in dumped:
        if decision.action == "fused":
            times.setdefault((decision.producer, decision.consumer), []).append(decision)
    merged: list[FusionDecision] = []
    for decision in logged:
        matching = times.get((decision.producer, decision.consumer)) if decision.action == "fused" else None
        if matching and decision.pass_name == _PASS:
            estimate = matching.pop(0)
            decision = replace(decision, fused_seconds=estimate.fused_seconds, unfused_seconds=estimate.unfused_seconds)
        merged.append(decision)
    last = max((index for index, decision in enumerate(merged) if decision.pass_name == _PASS), default=-1) + 1
    slower = [decision for decision in dumped if decision.action == "refused" and decision.fused_seconds is not None]
    merged[last:last] = slower
    return tuple(replace(decision, step=step) for step, decision in enumerate(merged))


def _iter_steps(text: str) -> Iterator[_Step]:
    """Yield the steps; raise FormatError where the text is malformed or truncated."""
    depth, kind, fields = 0, "", Fields()
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip() and depth:
                raise FormatError(_SUBJECT, f"expected a field, found {line.strip()[:80]!r}")
            continue
        opened_name, closed, name, quoted, bare = match.groups()
        if opened_name:
            if depth == 1:
                kind, fields = opened_name, {}
            depth += 1
        elif closed:
            depth -= 1
            if depth == 1 and kind:
                yield _Step(kind, fields)
                kind = ""
        elif depth == 2:
            fields.setdefault(name, []).append(unescape(quoted) if quoted is not None else bare)
    if depth:
        raise FormatError(_SUBJECT, "the text is cut off")


def _iter_decisions(steps: Sequence[_Step]) -> Iterator[FusionDecision]:
    """Yield the decisions: fusions, ineligible producers, and pairs that were not fused because that is slower."""
    latest: dict[str, _Step] = {}
    number = 0
    for step in steps:
        producer = step.text("producer_name")
        if step.kind == "update_priority":
            latest[producer] = step
        elif step.kind == "fusion":
            estimate = latest.get(producer)
            yield _make_fusion(number, step, estimate)
            number += 1
        elif step.kind == "producer_ineligible":
            latest.pop(producer, None)
            yield make_refusal(number, _PASS, producer, "", step.text("reason"))
            number += 1
    fused = {step.text("producer_name") for step in steps if step.kind == "fusion"}
    for producer, step in latest.items():
        if producer in fused:
            continue
        unfused_seconds, fused_seconds = step.seconds("us_unfused"), step.seconds("us_fused")
        if unfused_seconds is not None and fused_seconds is not None and fused_seconds > unfused_seconds:
            for consumer in step.fields.get("consumer_names", ()):
                decision = make_refusal(number, _PASS, producer, consumer, _SLOWER_REASON)
                yield replace(decision, fused_seconds=fused_seconds, unfused_seconds=unfused_seconds)
                number += 1


def _make_fusion(number: int, step: _Step, estimate: _Step | None) -> FusionDecision:
    return FusionDecision(
        number,
        _PASS,
        "fused",
        step.text("producer_name"),
        step.text("consumer_name"),
        step.text("fusion_name"),
        fused_seconds=estimate.seconds("us_fused") if estimate else None,
        unfused_seconds=estimate.seconds("us_unfused") if estimate else None,
    )
