"""The sentences that label the frames of XLA's fusion dumps, read into decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...records.decisions import FusionDecision
from ..format_error import FormatError
from .reasons import plain

#: Sentences longer than this are not XLA's.
_LONGEST = 20_000
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
_KNOWN = (_ABOUT, _FUSED, _FUSED_INTO, _REFUSED, _NOT_CONSIDERED, _SIBLINGS)
#: What the passes call themselves in their sentences, and how we call them.
_PASSES = {"multi-output": "MultiOutputFusion"}


def decisions_of(labels: Iterable[str]) -> tuple[FusionDecision, ...]:
    """The decisions that labels tell, in their order; sentences of another kind are passed over.

    Raises FormatError where all are of another kind.

    >>> (one,) = decisions_of(["About to fuse |sin| into |mul| inside InstructionFusion with may_duplicate=1",
    ...                        "Fused |sin| into |sine_multiply_fusion| inside InstructionFusion with may_duplicate=1"])
    >>> one.producer, one.consumer, one.result, one.pass_name
    ('sin', 'mul', 'sine_multiply_fusion', 'InstructionFusion')
    """
    found: list[FusionDecision] = []
    about: tuple[str, str] | None = None
    other, known = "", False
    for label in labels:
        label = label[:_LONGEST].strip()
        other = other or label
        known = known or any(pattern.match(label) for pattern in _KNOWN)
        if match := _ABOUT.match(label):
            about = match[1], match[2]
        elif match := _FUSED.match(label):
            consumer = about[1] if about and about[0] == match[1] else match[2]
            found.append(_fused(len(found), match[3], match[1], consumer, match[2]))
            about = None
        elif about and (match := _FUSED_INTO.match(label)):
            found.append(_fused(len(found), match[2], *about, match[1]))
            about = None
        elif match := _REFUSED.match(label):
            found.append(refused(len(found), "InstructionFusion", match[1], match[2], match[3]))
        elif match := _NOT_CONSIDERED.match(label) or _SIBLINGS.match(label):
            found.append(refused(len(found), "MultiOutputFusion", match[1], match[2], match[3]))
    if other and not known:
        raise FormatError(
            "the labels of a fusion dump", f"expected sentences about fusion, found such as {other[:80]!r}"
        )
    return tuple(found)


def refused(step: int, pass_name: str, producer: str, consumer: str, reason: str) -> FusionDecision:
    """A refusal, with the reason in XLA's words and in plain ones."""
    reason = reason.strip()
    return FusionDecision(step, pass_name, "refused", producer, consumer, "", reason, plain(reason))


def _fused(step: int, inside: str, producer: str, consumer: str, result: str) -> FusionDecision:
    return FusionDecision(step, _PASSES.get(inside, inside), "fused", producer, consumer, result)
