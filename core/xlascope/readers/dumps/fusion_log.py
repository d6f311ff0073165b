"""Reader of the log of XLA's fusion passes: each decision with its reason, for the whole program.

The compiler logs more than its dumps hold when asked to (``TF_CPP_VMODULE``, ``TPU_VMODULE``). A dump draws
the graph at each step, which takes minutes; the log costs almost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ...records.decisions import FusionDecision
from ..format_error import FormatError
from .dump import Dump
from .labels import make_refusal

#: Lines that are read of a log, and characters of one.
MAX_LINES, _MAX_LINE_CHARS = 2_000_000, 200_000
_LINE = re.compile(r"[IWEF]\d{4} [\d:.]+ +\d+ ([\w.]+)\.cc:\d+\] (.*)", re.DOTALL)
#: An instruction's text up to a word that follows it; what stands in quotes may say anything.
_TEXT = r'%(\S+) = (?:[^"]|"(?:[^"\\]|\\.)*")*?'
_FUSING = re.compile(rf"(?:Multi-output f|F)using {_TEXT} into %(\S+) = ")
_CREATED = re.compile(r" +created new fusion: %(\S+) = ")
_CONSIDERING = re.compile(rf"Considering fusion of: {_TEXT} with operand (\S+)$")
_NOT_FUSING = re.compile(rf"not fusing operand {_TEXT} because (.*)$", re.DOTALL)
_TOO_EXPENSIVE = re.compile(r"Fusion rejected: (producer) '[^']*' (is too expensive to duplicate)")
_CANNOT = re.compile(r"Cannot fuse (\S+) with (\S+), because: (.*)$", re.DOTALL)
_SIBLINGS = re.compile(r"Fuse siblings (\S+) and (\S+)$")
_INTO_CONSUMER = re.compile(r"Fuse producer (\S+) (?:into|and) its consumer (\S+?)(?: into (\S+))?$")
_PAIR = re.compile(r"instr([12]): %(\S+) = ")
_SURVIVOR = re.compile(r"After fusion,\s+this: (\S+)")
_NOT_FUSIBLE, _END_OF_PASS = re.compile(r"Operand \(.*\) is not fusible$"), re.compile(r"Fusion count: ")
_FUSION = re.compile(r"%(\S+) = ((?:(?! fusion\()[^\"])*) fusion\(")
#: The TPU compiler's messages about its own rules.
_TPU_RULE = re.compile(r"No fusing[:;] (.*)$")
_SCALAR = re.compile(r"Producer: .* (produces an effective scalar and does not have a fusible DUS user)")
#: Messages beside decisions, and the patterns of decisions.
_IGNORED = re.compile(r"Evaluating fusion: |Running |Not fusing %|Operand %|Did fuse: ")
_DECISION_PATTERNS = (
    *(_FUSING, _CREATED, _CONSIDERING, _NOT_FUSING, _TOO_EXPENSIVE, _CANNOT, _SIBLINGS, _INTO_CONSUMER),
    *(_NOT_FUSIBLE, _TPU_RULE, _SCALAR),
)
_SOURCE_LINE = re.compile(r"(?<=\S) at: \S+\.cc:\d+$")
_PASSES = {
    "instruction_fusion": "InstructionFusion",
    "priority_fusion": "PriorityFusion",
    "multi_output_fusion": "MultiOutputFusion",
    "tpu_instruction_fusion": "InstructionFusion",
}


def read_fusion_log(lines: Iterable[str]) -> Dump:
    """Return the decisions in a compiler's log; repeated refusals count once.

    Other lines are skipped, because a log is shared by many components. ``complete`` is False for a log that
    exceeds the limit. Raises FormatError where lines mention fusion, but none is recognized.

    >>> log = '''
    ... I0101 10:00:00.000001 7 instruction_fusion.cc:649] Considering fusion of: %b = f32[] dot(%a) with operand a
    ... I0101 10:00:00.000002 7 instruction_fusion.cc:687] not fusing operand %a = f32[] add(%p) because no reason'''
    >>> (decision,) = read_fusion_log(log.splitlines()).decisions
    >>> decision.producer, decision.consumer, decision.reason
    ('a', 'b', 'no reason')
    """
    parser, unknown = _LogParser(), _UnknownLine()
    number = 0
    for number, line in enumerate(lines):
        if number == MAX_LINES:
            return Dump(parser.decisions(), complete=False)
        match = _LINE.match(line[:_MAX_LINE_CHARS].rstrip("\n"))
        if match is not None and match[1] in _PASSES:
            unknown.observe(number, match[2])
            parser.parse_line(match[1], match[2])
    if unknown.line and unknown.number < number and not parser.decisions():  # the last line may be cut off
        raise FormatError("the compiler's log", f"expected fusion decisions, found lines such as {unknown.line[:80]!r}")
    return Dump(parser.decisions())


class _UnknownLine:
    """First line that mentions the fusion of an instruction and is not recognized; empty once a line is recognized."""

    def __init__(self) -> None:
        self.line = ""
        self.number = 0
        self._is_recognized = False

    def observe(self, number: int, message: str) -> None:
        """Note one message of a fusion pass; ``number`` is its line in the log."""
        mentions_fusion = "fus" in message.lower() and any(
            keyword in message for keyword in ("%", "producer", "operand")
        )
        if not self._is_recognized and mentions_fusion and not _IGNORED.match(message):
            self._is_recognized = any(pattern.match(message) for pattern in _DECISION_PATTERNS)
            if self._is_recognized:
                self.line = ""
            elif not self.line:
                self.number, self.line = number, message


class _CandidatePair(NamedTuple):
    """Pair of instructions that a pass considers to fuse: ``operand`` into ``consumer``.

    ``text`` is the consumer's HLO text, which begins with its name and type.
    """

    consumer: str
    operand: str
    text: str


class _LogParser:
    """Parser of log lines, with the state that later lines refer to: the pair under consideration, nameless fusions."""

    def __init__(self) -> None:
        self._decisions: list[FusionDecision] = []
        self._refusal_keys: set[tuple[str, str, str, str]] = set()
        self._candidate: _CandidatePair | None = None
        self._pending_reason = ""
        self._pair = ["", ""]
        self._names: set[str] = set()
        self._unnamed: list[tuple[int, str]] = []

    def decisions(self) -> tuple[FusionDecision, ...]:
        return tuple(replace(decision, step=step) for step, decision in enumerate(self._decisions))

    def parse_line(self, file: str, message: str) -> None:
        """Parse one message of the source file ``file``, which tells the pass."""
        name = _PASSES[file]
        if file == "multi_output_fusion":
            self._parse_multi_output_fusion(name, message)
        elif file == "tpu_instruction_fusion":
            if match := _TPU_RULE.match(message) or _SCALAR.match(message):
                self._pending_reason = match[1].rstrip(".")
        elif file == "priority_fusion":
            self._parse_priority_fusion(name, message)
        else:
            self._parse_instruction_fusion(name, message)

    def _parse_instruction_fusion(self, name: str, message: str) -> None:
        """Parse one message of XLA's InstructionFusion; ``name`` is the name of the pass in the decisions."""
        if match := _CONSIDERING.match(message):
            self._accept_candidate(name)
            text = message.removeprefix("Considering fusion of: ")
            self._learn_name(text)
            self._learn_operand(match[2])
            self._candidate, self._pending_reason = _CandidatePair(match[1], match[2], text), ""
        elif match := _FUSING.match(message):
            self._record_fusion(name, match[1], match[2], f"%{match[2]} = {message[match.end() :]}")
        elif match := _CREATED.match(message):
            self._name_last_fusion(match[1])
        elif match := _TOO_EXPENSIVE.match(message):
            self._pending_reason = f"{match[1]} {match[2]}"
        elif match := _NOT_FUSING.match(message):
            self._learn_name(message.removeprefix("not fusing operand "))
            is_candidate = self._candidate is not None and self._candidate.operand == match[1]
            consumer = self._candidate.consumer if self._candidate is not None and is_candidate else ""
            self._candidate = None
            self._append_refusal(name, match[1], consumer, self._best_reason(match[2]))
        elif _NOT_FUSIBLE.match(message):
            self._candidate = None
        elif _END_OF_PASS.match(message):
            self._accept_candidate(name)

    def _parse_priority_fusion(self, name: str, message: str) -> None:
        if match := _FUSING.match(message):
            self._append_fusion(name, match[1], match[2], match[2])
        elif match := _CREATED.match(message):
            self._name_last_fusion(match[1])
        elif match := _CANNOT.match(message):
            self._append_refusal(name, match[1], match[2], match[3])

    def _parse_multi_output_fusion(self, name: str, message: str) -> None:
        if match := _SIBLINGS.match(message):
            self._append_fusion(name, match[2], match[1], match[1])
        elif match := _INTO_CONSUMER.match(message):
            self._append_fusion(name, match[1], match[2], match[3] or match[2])
        elif match := _PAIR.match(message):
            self._pair[int(match[1]) - 1] = match[2]
        elif match := _SURVIVOR.match(message):
            survivor, absorbed = match[1], self._pair[self._pair[0] == match[1]]
            if absorbed:
                self._append_fusion(name, absorbed, survivor, survivor)

    def _accept_candidate(self, name: str) -> None:
        """Record the considered pair as fused by the pass ``name``: a TPU's compiler does not log acceptance."""
        if self._candidate is not None:
            consumer, operand, text = self._candidate
            self._record_fusion(name, operand, consumer, text)

    def _record_fusion(self, name: str, producer: str, consumer: str, text: str) -> None:
        """Record a fusion; a consumer that is not a fusion becomes one, whose name appears later in the log.

        ``name`` is the name of the pass, ``text`` the consumer's HLO text.
        """
        self._candidate = None
        if _FUSION.match(text):
            self._append_fusion(name, producer, consumer, consumer)
        else:
            type_text = text.partition(" = ")[2].partition(" ")[0]
            self._unnamed.append((len(self._decisions), type_text))
            self._append_fusion(name, producer, consumer, "")

    def _name_last_fusion(self, result: str) -> None:
        if self._decisions:
            self._decisions[-1] = replace(self._decisions[-1], result=result)
            self._names.add(result)
        if self._unnamed and self._unnamed[-1][0] == len(self._decisions) - 1:
            self._unnamed.pop()

    def _learn_name(self, text: str) -> None:
        """Give the name of a fusion in an instruction's HLO text to the first nameless fusion of its type.

        Nothing happens for an instruction that is no fusion, or whose name is known.
        """
        if self._unnamed and (match := _FUSION.match(text)) and match[1] not in self._names:
            for number, (index, type_text) in enumerate(self._unnamed):
                if type_text == match[2]:
                    self._decisions[index] = replace(self._decisions[index], result=match[1])
                    self._names.add(match[1])
                    del self._unnamed[number]
                    return

    def _learn_operand(self, name: str) -> None:
        """Give the name of a fusion whose type is unknown to the last nameless one: passes continue with its users."""
        if self._unnamed and name not in self._names and name.partition(".")[0] == "fusion":
            index, _ = self._unnamed.pop()
            self._decisions[index] = replace(self._decisions[index], result=name)
            self._names.add(name)

    def _append_fusion(self, name: str, producer: str, consumer: str, result: str) -> None:
        self._decisions.append(FusionDecision(0, name, "fused", producer, consumer, result))
        self._names.add(result)

    def _append_refusal(self, name: str, producer: str, consumer: str, reason: str) -> None:
        key = name, producer, consumer, reason
        if key not in self._refusal_keys:
            self._refusal_keys.add(key)
            self._decisions.append(make_refusal(0, name, producer, consumer, reason))

    def _best_reason(self, reason: str) -> str:
        """Return the reason without its source line, or an earlier logged one that says more."""
        without_line = _SOURCE_LINE.sub("", reason)
        if without_line not in ("Not allowed", "Not fusing MOF"):
            return without_line
        return _SOURCE_LINE.sub("", self._pending_reason) or reason
