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
from .labels import refused

#: Lines that are read of a log, and characters of one.
MOST_LINES, _LONGEST = 2_000_000, 200_000
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
_KEPT = re.compile(r"After fusion,\s+this: (\S+)")
_NOT_FUSIBLE, _END = re.compile(r"Operand \(.*\) is not fusible$"), re.compile(r"Fusion count: ")
_FUSION = re.compile(r"%(\S+) = ((?:(?! fusion\()[^\"])*) fusion\(")
#: The TPU compiler's messages about its own rules.
_OWN_RULE = re.compile(r"No fusing[:;] (.*)$")
_SCALAR = re.compile(r"Producer: .* (produces an effective scalar and does not have a fusible DUS user)")
#: Messages beside decisions, and the patterns of decisions.
_BESIDE = re.compile(r"Evaluating fusion: |Running |Not fusing %|Operand %|Did fuse: ")
_KNOWN = (
    *(_FUSING, _CREATED, _CONSIDERING, _NOT_FUSING, _TOO_EXPENSIVE, _CANNOT, _SIBLINGS, _INTO_CONSUMER),
    *(_NOT_FUSIBLE, _OWN_RULE, _SCALAR),
)
_AT = re.compile(r"(?<=\S) at: \S+\.cc:\d+$")
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
    parser, unknown = _Listener(), _Strange()
    number = 0
    for number, line in enumerate(lines):
        if number == MOST_LINES:
            return Dump(parser.decisions(), complete=False)
        match = _LINE.match(line[:_LONGEST].rstrip("\n"))
        if match is not None and match[1] in _PASSES:
            unknown.look(number, match[2])
            parser.hear(match[1], match[2])
    if unknown.line and unknown.number < number and not parser.decisions():  # the last line may be cut off
        raise FormatError("the compiler's log", f"expected fusion decisions, found lines such as {unknown.line[:80]!r}")
    return Dump(parser.decisions())


class _Strange:
    """First unrecognized line that mentions the fusion of an instruction, until a line is recognized."""

    def __init__(self) -> None:
        self.line = ""
        self.number = 0
        self._known = False

    def look(self, number: int, message: str) -> None:
        mentions_fusion = "fus" in message.lower() and any(
            keyword in message for keyword in ("%", "producer", "operand")
        )
        if not self._known and mentions_fusion and not _BESIDE.match(message):
            self._known = any(pattern.match(message) for pattern in _KNOWN)
            if self._known:
                self.line = ""
            elif not self.line:
                self.number, self.line = number, message


class _Considered(NamedTuple):
    """Pair that a pass considers: the consumer's text begins with its name and type."""

    consumer: str
    operand: str
    text: str


class _Listener:
    """Parser of log lines, with the state that later lines refer to."""

    def __init__(self) -> None:
        self._found: list[FusionDecision] = []
        self._refused: set[tuple[str, str, str, str]] = set()
        self._considered: _Considered | None = None
        self._because = ""
        self._pair = ["", ""]
        self._names: set[str] = set()
        self._unnamed: list[tuple[int, str]] = []

    def decisions(self) -> tuple[FusionDecision, ...]:
        return tuple(replace(decision, step=step) for step, decision in enumerate(self._found))

    def hear(self, file: str, message: str) -> None:
        name = _PASSES[file]
        if file == "multi_output_fusion":
            self._hear_of_several_results(name, message)
        elif file == "tpu_instruction_fusion":
            if match := _OWN_RULE.match(message) or _SCALAR.match(message):
                self._because = match[1].rstrip(".")
        elif file == "priority_fusion":
            self._hear_of_priorities(name, message)
        else:
            self._hear_of_instructions(name, message)

    def _hear_of_instructions(self, name: str, message: str) -> None:
        if match := _CONSIDERING.match(message):
            self._settle(name)
            text = message.removeprefix("Considering fusion of: ")
            self._learn_name(text)
            self._learn_operand(match[2])
            self._considered, self._because = _Considered(match[1], match[2], text), ""
        elif match := _FUSING.match(message):
            self._fuse(name, match[1], match[2], f"%{match[2]} = {message[match.end() :]}")
        elif match := _CREATED.match(message):
            self._name_last(match[1])
        elif match := _TOO_EXPENSIVE.match(message):
            self._because = f"{match[1]} {match[2]}"
        elif match := _NOT_FUSING.match(message):
            self._learn_name(message.removeprefix("not fusing operand "))
            is_candidate = self._considered is not None and self._considered.operand == match[1]
            consumer = self._considered.consumer if self._considered is not None and is_candidate else ""
            self._considered = None
            self._refuse(name, match[1], consumer, self._reason(match[2]))
        elif _NOT_FUSIBLE.match(message):
            self._considered = None
        elif _END.match(message):
            self._settle(name)

    def _hear_of_priorities(self, name: str, message: str) -> None:
        if match := _FUSING.match(message):
            self._fused(name, match[1], match[2], match[2])
        elif match := _CREATED.match(message):
            self._name_last(match[1])
        elif match := _CANNOT.match(message):
            self._refuse(name, match[1], match[2], match[3])

    def _hear_of_several_results(self, name: str, message: str) -> None:
        if match := _SIBLINGS.match(message):
            self._fused(name, match[2], match[1], match[1])
        elif match := _INTO_CONSUMER.match(message):
            self._fused(name, match[1], match[2], match[3] or match[2])
        elif match := _PAIR.match(message):
            self._pair[int(match[1]) - 1] = match[2]
        elif match := _KEPT.match(message):
            survivor, absorbed = match[1], self._pair[self._pair[0] == match[1]]
            if absorbed:
                self._fused(name, absorbed, survivor, survivor)

    def _settle(self, name: str) -> None:
        """Record the candidate pair as fused: a TPU's compiler does not log the acceptance."""
        if self._considered is not None:
            consumer, operand, text = self._considered
            self._fuse(name, operand, consumer, text)

    def _fuse(self, name: str, producer: str, consumer: str, text: str) -> None:
        """Record a fusion; a consumer that is not a fusion becomes one, whose name appears later."""
        self._considered = None
        if _FUSION.match(text):
            self._fused(name, producer, consumer, consumer)
        else:
            type_text = text.partition(" = ")[2].partition(" ")[0]
            self._unnamed.append((len(self._found), type_text))
            self._fused(name, producer, consumer, "")

    def _name_last(self, result: str) -> None:
        if self._found:
            self._found[-1] = replace(self._found[-1], result=result)
            self._names.add(result)
        if self._unnamed and self._unnamed[-1][0] == len(self._found) - 1:
            self._unnamed.pop()

    def _learn_name(self, text: str) -> None:
        """Give an unknown fusion's name to the first nameless fusion of its type."""
        if self._unnamed and (match := _FUSION.match(text)) and match[1] not in self._names:
            for number, (index, type_text) in enumerate(self._unnamed):
                if type_text == match[2]:
                    self._found[index] = replace(self._found[index], result=match[1])
                    self._names.add(match[1])
                    del self._unnamed[number]
                    return

    def _learn_operand(self, name: str) -> None:
        """Give a fusion's name without a type to the last nameless one: passes continue with its users."""
        if self._unnamed and name not in self._names and name.partition(".")[0] == "fusion":
            index, _ = self._unnamed.pop()
            self._found[index] = replace(self._found[index], result=name)
            self._names.add(name)

    def _fused(self, name: str, producer: str, consumer: str, result: str) -> None:
        self._found.append(FusionDecision(0, name, "fused", producer, consumer, result))
        self._names.add(result)

    def _refuse(self, name: str, producer: str, consumer: str, reason: str) -> None:
        key = name, producer, consumer, reason
        if key not in self._refused:
            self._refused.add(key)
            self._found.append(refused(0, name, producer, consumer, reason))

    def _reason(self, reason: str) -> str:
        """Return the reason without its source line, or an earlier logged one that says more."""
        without_line = _AT.sub("", reason)
        if without_line not in ("Not allowed", "Not fusing MOF"):
            return without_line
        return _AT.sub("", self._because) or reason
