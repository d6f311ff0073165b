"""What a run found, for a reader: numbers first, then each difference once, the worst first."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import generating, source
from .comparing import KINDS
from .judging import Verdict
from .rules import RULES, Rule, explained


class Found(NamedTuple):
    """A run's verdicts, sorted: how many are equal, what rules explain, and what nothing does."""

    verdicts: Sequence[Verdict]
    by_rule: dict[Rule, list[Verdict]]
    #: By their numbers in the run, which `shrink` takes.
    unexplained: dict[int, Verdict]

    @property
    def equal(self) -> int:
        return sum(each.difference is None for each in self.verdicts)


def found(verdicts: Sequence[Verdict]) -> Found:
    """Sort the verdicts of a run."""
    by_rule: dict[Rule, list[Verdict]] = defaultdict(list)
    unexplained = {}
    for number, verdict in enumerate(verdicts):
        if verdict.difference is None:
            continue
        rule = explained(verdict)
        if rule is None:
            unexplained[number] = verdict
        else:
            by_rule[rule].append(verdict)
    return Found(verdicts, dict(by_rule), unexplained)


def numbers(found: Found) -> str:
    """A run in a few lines."""
    total = len(found.verdicts)
    by_rule = sum(map(len, found.by_rule.values()))
    lines = [
        f"{total} calls: {found.equal} equal, {by_rule} explained by rules, {len(found.unexplained)} unexplained",
        *(f"{len(met):7d}  by the rule “{rule.name}”: {rule.reason}" for rule, met in found.by_rule.items()),
        *(f"      -  the rule “{rule.name}” explains nothing" for rule in RULES if rule not in found.by_rule),
    ]
    kinds = Counter(each.difference.kind for each in found.unexplained.values() if each.difference)
    return "\n".join([*lines, *(f"{kinds[kind]:7d}  {kind}" for kind in KINDS if kinds[kind])])


def _shortest(numbers: list[int], verdicts: dict[int, Verdict]) -> list[int]:
    return sorted(numbers, key=lambda number: len(source.line(verdicts[number].call)))


def groups(unexplained: dict[int, Verdict]) -> dict[tuple[str, str], list[int]]:
    """The numbers of those that differ, by kind and function; in each group the shortest call first."""
    sorted_: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, verdict in unexplained.items():
        if verdict.difference:
            sorted_[verdict.difference.kind, verdict.call["function"]].append(number)
    order = sorted(sorted_.items(), key=lambda item: (KINDS.index(item[0][0]), item[0][1]))
    return {name: _shortest(met, unexplained) for name, met in order}


def causes(unexplained: dict[int, Verdict]) -> dict[str, list[int]]:
    """Those that fail here, by the place and the words of the failure: one cause often meets many functions."""
    sorted_: dict[str, list[int]] = defaultdict(list)
    for number, verdict in unexplained.items():
        if verdict.difference and "error" in verdict.ours:
            words = re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\[[^]]*\]|\([^)]*\)|array\(.*", "#", verdict.ours["message"][:80])
            place = re.sub(r"^.*/core/xlascope/", "", verdict.ours["place"])
            sorted_[f"{verdict.difference.kind}: {verdict.ours['error']} {words} at {place}"].append(number)
    return {name: _shortest(met, unexplained) for name, met in sorted(sorted_.items(), key=lambda item: -len(item[1]))}


def report(found: Found, head: str) -> str:
    """The text of a report."""
    lines = [head, numbers(found), "", "== Failures here by cause, where several functions share it", ""]
    for cause, met in causes(found.unexplained).items():
        functions = sorted({found.unexplained[number].call["function"] for number in met})
        if len(functions) > 1:
            lines.append(f"{len(met):4d}  {cause}")
            lines.append(f"      {', '.join(functions[:14])}{', …' if len(functions) > 14 else ''}")
    last = ""
    for (kind, function), met in groups(found.unexplained).items():
        if kind != last:
            lines += ["", f"== {kind}", ""]
            last = kind
        lines.append(f"{function}  ({len(met)})")
        for number in met[:3]:
            lines += in_short(number, found.unexplained[number])
    return "\n".join(lines) + "\n"


def signatures(listed: tuple[Mapping[str, Any], Mapping[str, Any]]) -> str:
    """Parameters that jax's functions have and ours do not, a line for each function: to know, no failures."""
    return "".join(f"{name}: {what}\n" for name, what in generating.signature_differences(*listed))


def in_short(number: int, verdict: Verdict) -> list[str]:
    """A difference in two lines."""
    text = verdict.difference.text if verdict.difference else "equal"
    return [f"    #{number}  {source.line(verdict.call)[:360]}", f"        {text[:400]}"]
