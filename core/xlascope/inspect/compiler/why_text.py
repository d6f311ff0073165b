"""Text about fusion decisions: equations, lines and explanations first, then XLA's names and quoted reasons."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...analysis.formatting import plural, seconds
from ...analysis.verdicts import Verdict
from ...readers.hlo.equations import instructions_by_equation
from ...readers.hlo.text import read_module
from ...records import Equation, Explained, FusionDecision, Traced
from ..text import table

#: Maximum number of pairs listed for a reason, and of reasons given for one edge.
_MAX_PAIRS, _MAX_REASONS = 4, 3
#: The name of the instruction that collects the results, with which nothing is fused.
_RESULT_TUPLE = re.compile(r"tuple(\.\d+)?")
_SEE_PASSES = "%passes f(x), or xlascope.inspect.passes, shows them"


def why_text(traced: Traced, explained: Explained) -> str:
    """Return the answer about an edge if one was asked for, or a summary of all fusion decisions by reason."""
    if explained.edge:
        first, second = (_describe_path(item, traced) for item in explained.edge)
        subject = f"{explained.function} for {explained.target}"
        return "\n".join(
            [
                f"{first} and {second} in {subject}, asked of {explained.module} in {seconds(explained.seconds)}",
                explained.answer,
                *_notes(explained),
            ]
        )
    counted = Counter((item.pass_name, item.action) for item in explained.decisions)
    passes = dict.fromkeys(name for name, _ in counted)
    summary = ", ".join(f"{name} fused {counted[name, 'fused']}, refused {counted[name, 'refused']}" for name in passes)
    first = (
        f"{explained.function} for {explained.target}: {plural(len(explained.decisions), 'decision')} about "
        f"{explained.module}, heard in {seconds(explained.seconds)}"
    )
    return "\n".join([first, *([summary] if summary else []), *_refusal_lines(traced, explained), *_notes(explained)])


def edge_text(outcome: str, verdict: Verdict, kernel: str, explained: Explained, traced: Traced) -> str:
    """Return the outcome of an edge in sentences.

    ``outcome`` is ``fused``, ``refused``, ``gone``, ``never`` or ``different``, ``kernel`` the name of the kernel
    that contains both ends (``""`` if none).
    """
    if outcome == "different":
        return (
            "Not comparable: the program that runs here was fused differently around these two than in the compilation "
            "that was asked, so its reasons would be another program's."
        )
    if outcome == "gone":
        missing = " and ".join(_describe_path(path, traced) for path in verdict.missing)
        many = len(verdict.missing) > 1
        return (
            f"{missing} {'have' if many else 'has'} no instruction when fusion begins: an earlier pass folded "
            f"{'them' if many else 'it'} into others ({_SEE_PASSES})."
        )
    if outcome == "never":
        if not verdict.neighbours:
            return (
                "No fusion pass looked at this pair: neither takes the other's result when fusion begins. Others are "
                f"between them, or earlier passes rearranged them ({_SEE_PASSES})."
            )
        return (
            "No fusion pass looked at this pair, though they are neighbours when fusion begins: one of them is of a "
            "kind that the passes leave alone."
        )
    if outcome == "fused":
        if verdict.outcome != "fused":
            return f"They are fused: both are in the kernel {kernel}. The compiler does not tell which step did it."
        return _fused_text(verdict, explained)
    return _refused_text(verdict.decisions, explained)


def _fused_text(verdict: Verdict, explained: Explained) -> str:
    if not verdict.decisions:
        return f"They are one instruction when fusion begins: an earlier pass put them together ({_SEE_PASSES})."
    last = verdict.decisions[-1]
    result = f", giving {last.result}" if last.result else ""
    return (
        f"They are fused: {last.pass_name} put {last.producer} into {last.consumer}{result} "
        f"({_step(last, explained)}{_times(last)})."
    )


def _refused_text(decisions: Sequence[FusionDecision], explained: Explained) -> str:
    by_reason = {item.reason: item for item in decisions}
    lines = []
    for item in list(by_reason.values())[-_MAX_REASONS:]:
        who = f"{item.producer} into {item.consumer}" if item.consumer else f"{item.producer} into anything"
        lines.append(f"They are not fused. {item.plain}".rstrip())
        lines.append(
            f'  XLA\'s words: {item.pass_name} refused {who}: "{item.reason}" ({_step(item, explained)}{_times(item)}).'
        )
    if any(item.pass_name == "PriorityFusion" for item in decisions):
        lines.append("  PriorityFusion takes a producer into all of its users or into none.")
    return "\n".join(lines)


def _step(decision: FusionDecision, explained: Explained) -> str:
    return f"decision {decision.step + 1:,} of {len(explained.decisions):,}"


def _times(decision: FusionDecision) -> str:
    if decision.fused_seconds is None or decision.unfused_seconds is None:
        return ""
    return (
        f"; XLA's estimate, for all users of {decision.producer}: {seconds(decision.fused_seconds)} fused, "
        f"{seconds(decision.unfused_seconds)} apart"
    )


def _refusal_lines(traced: Traced, explained: Explained) -> Iterable[str]:
    """Yield lines with XLA's reasons for not fusing, each with some of its pairs.

    Pairs of the user's operations come first, and those about the tuple of the results last; reasons likewise, the
    most frequent of equals first.
    """
    pairs: dict[str, list[FusionDecision]] = defaultdict(list)
    for decision in explained.decisions:
        if decision.action == "refused":
            pairs[decision.reason].append(decision)
    if not pairs:
        return
    names = _instruction_labels(traced, explained)
    for refused in pairs.values():
        refused.sort(key=lambda decision: _distance_from_user(decision, names))
    for reason, refused in sorted(
        pairs.items(), key=lambda item: (_distance_from_user(item[1][0], names), -len(item[1]))
    ):
        yield f"\nnot fused, {plural(len(refused), 'time')}: {refused[0].plain}".rstrip(": ")
        yield f'  XLA\'s words: "{reason}"'
        yield from table([_pair_row(decision, names) for decision in refused[:_MAX_PAIRS]])
        if len(refused) > _MAX_PAIRS:
            yield f"  and {len(refused) - _MAX_PAIRS:,} more"


def _distance_from_user(decision: FusionDecision, names: dict[str, str]) -> int:
    """Return 0 for a refusal about two operations of the user, 2 for one about the results' tuple, 1 for others."""
    if _RESULT_TUPLE.fullmatch(decision.consumer):
        return 2
    return 0 if all(names.get(name) or "fusion" in name for name in (decision.producer, decision.consumer)) else 1


def _instruction_labels(traced: Traced, explained: Explained) -> dict[str, str]:
    """Return for each instruction's name the equations it comes from, as text: ``sin (0, line 1)``."""
    if not explained.before:
        return {}
    equations = {equation.path: equation for equation in traced.jaxpr.walk()}
    paths_by_name: dict[str, list[str]] = defaultdict(list)
    for path, names in instructions_by_equation(read_module(explained.before)).items():
        for name in names:
            if path in equations:
                paths_by_name[name].append(_describe_equation(equations[path]))
    return {name: ", ".join(paths[:_MAX_PAIRS]) for name, paths in paths_by_name.items()}


def _pair_row(decision: FusionDecision, names: dict[str, str]) -> tuple[str, ...]:
    """Return a table row about a refused pair of instructions; ``names`` are :func:`_instruction_labels`."""
    ends = [names.get(name) or _describe_unnamed(name) for name in (decision.producer, decision.consumer)]
    return (
        "",
        ends[0],
        "→",
        ends[1],
        f"({decision.producer} → {decision.consumer})" if decision.consumer else f"({decision.producer})",
    )


def _describe_unnamed(name: str) -> str:
    """Return a description of an instruction without an equation of its own: mostly an unfinished fusion."""
    if not name:
        return "any of its users"
    return "a kernel so far" if "fusion" in name else "a step of the compiler's own"


def _describe_path(path: str, traced: Traced) -> str:
    equation = next((candidate for candidate in traced.jaxpr.walk() if candidate.path == path), None)
    return path if equation is None else _describe_equation(equation)


def _describe_equation(equation: Equation) -> str:
    line = f", line {equation.source.line}" if equation.source is not None else ""
    return f"{equation.operation} ({equation.path}{line})"


def _notes(explained: Explained) -> list[str]:
    notes = [] if explained.complete else ["This answer is partial."]
    return [*notes, *([f"({explained.note})"] if explained.note else [])]
