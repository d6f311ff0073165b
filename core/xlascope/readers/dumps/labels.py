"""Parser of the sentences that label the frames of XLA's fusion dumps."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...records.decisions import FusionDecision
from ..format_error import FormatError
from .reasons import explain_reason

#: Sentences longer than this are not XLA's.
_MAX_LABEL_CHARS = 20_000
_ABOUT = re.compile(
    r"About to (?:MOF-)?fuse (?:producer |sibling )?\|([^|]*)\| into (?:consumer |sibling )?\|([^|]*)\|"
)
_FUSED = re.compile(r"Fused \|([^|]*)\| into \|([^|]*)\| inside (\S+)")
_FUSED_INTO = re.compile(r"Fused into \|([^|]*)\| inside (\S+)")
_REFUSED = re.compile(r"Not fusing \|([^|]*)\| into \|([^|]*)\| as (.*)", re.DOTALL)
_NOT_CONSIDERED = re.compile(
    r"Not considering fusion (?:of|betwe+n) producer \|+([^|]*)\| into consumer \|([^|]*)\| due to: (.*)", re.DOTALL
)
_SIBLINGS = re.compile(r"Not fusing siblings \|([^|]*)\| and \|([^|]*)\| due to: (.*)", re.DOTALL)
_PATTERNS = (_ABOUT, _FUSED, _FUSED_INTO, _REFUSED, _NOT_CONSIDERED, _SIBLINGS)
#: Names of passes in the sentences, and the names in our records.
_PASSES = {"multi-output": "MultiOutputFusion"}


def parse_labels(labels: Iterable[str]) -> tuple[FusionDecision, ...]:
    """Return the decisions in labels, in order; other sentences are skipped.

    Raises FormatError if no sentence is a decision.

    >>> (decision,) = parse_labels(["About to fuse |sin| into |mul| inside InstructionFusion with may_duplicate=1",
    ...     "Fused |sin| into |sine_multiply_fusion| inside InstructionFusion with may_duplicate=1"])
    >>> decision.producer, decision.consumer, decision.result, decision.pass_name
    ('sin', 'mul', 'sine_multiply_fusion', 'InstructionFusion')
    """
    decisions: list[FusionDecision] = []
    about: tuple[str, str] | None = None
    first_label, is_recognized = "", False
    for label in labels:
        label = label[:_MAX_LABEL_CHARS].strip()
        first_label = first_label or label
        is_recognized = is_recognized or any(pattern.match(label) for pattern in _PATTERNS)
        if match := _ABOUT.match(label):
            about = match[1], match[2]
        elif match := _FUSED.match(label):
            consumer = about[1] if about and about[0] == match[1] else match[2]
            decisions.append(_make_fusion(len(decisions), match[3], match[1], consumer, match[2]))
            about = None
        elif about and (match := _FUSED_INTO.match(label)):
            decisions.append(_make_fusion(len(decisions), match[2], *about, match[1]))
            about = None
        elif match := _REFUSED.match(label):
            decisions.append(make_refusal(len(decisions), "InstructionFusion", match[1], match[2], match[3]))
        elif match := _NOT_CONSIDERED.match(label) or _SIBLINGS.match(label):
            decisions.append(make_refusal(len(decisions), "MultiOutputFusion", match[1], match[2], match[3]))
    if first_label and not is_recognized:
        raise FormatError(
            "the labels of a fusion dump", f"expected sentences about fusion, found such as {first_label[:80]!r}"
        )
    return tuple(decisions)


def make_refusal(step: int, pass_name: str, producer: str, consumer: str, reason: str) -> FusionDecision:
    """Return the decision not to fuse ``producer`` into ``consumer``, with XLA's reason and a plain explanation.

    ``step`` is the decision's number, ``consumer`` is ``""`` if any consumer is refused.
    """
    reason = reason.strip()
    return FusionDecision(step, pass_name, "refused", producer, consumer, "", reason, explain_reason(reason))


def _make_fusion(step: int, inside: str, producer: str, consumer: str, result: str) -> FusionDecision:
    return FusionDecision(step, _PASSES.get(inside, inside), "fused", producer, consumer, result)
