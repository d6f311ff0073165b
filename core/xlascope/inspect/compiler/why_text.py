"""Text about fusion decisions: equations, lines and explanations first, then XLA's names and quoted reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...analysis.figures import plural, seconds
from ...analysis.verdicts import Verdict
from ...readers.hlo.equations import instructions_of
from ...readers.hlo.text import read_module
from ...records import Equation, Explained, FusionDecision, Traced
from ..text import table

#: Maximum number of pairs listed for a reason, and of reasons given for one edge.
_PAIRS, _REASONS = 4, 3
_WHERE = "%passes f(x), or xlascope.inspect.passes, shows them"


def why_text(traced: Traced, explained: Explained) -> str:
    """Return the compiler's decisions as text."""
    if explained.edge:
        first, second = (_called(item, traced) for item in explained.edge)
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
    return "\n".join([first, *([summary] if summary else []), *_refusals(traced, explained), *_notes(explained)])


def edge_answer(outcome: str, verdict: Verdict, kernel: str, explained: Explained, traced: Traced) -> str:
    """Return the outcome of an edge in sentences; ``kernel`` is the name of the kernel that contains both."""
    if outcome == "different":
        return (
            "Not comparable: the program that runs here was fused differently around these two than in the compilation "
            "that was asked, so its reasons would be another program's."
        )
    if outcome == "gone":
        missing = " and ".join(_called(path, traced) for path in verdict.missing)
        many = len(verdict.missing) > 1
        return (
            f"{missing} {'have' if many else 'has'} no instruction when fusion begins: an earlier pass folded "
            f"{'them' if many else 'it'} into others ({_WHERE})."
        )
    if outcome == "never":
        if not verdict.neighbours:
            return (
                "No fusion pass looked at this pair: neither takes the other's result when fusion begins. Others are "
                f"between them, or earlier passes rearranged them ({_WHERE})."
            )
        return (
            "No fusion pass looked at this pair, though they are neighbours when fusion begins: one of them is of a "
            "kind that the passes leave alone."
        )
    if outcome == "fused":
        if verdict.outcome != "fused":
            return f"They are fused: both are in the kernel {kernel}. The compiler does not tell which step did it."
        return _fused(verdict, explained)
    return _refused(verdict.decisions, explained)


def _fused(verdict: Verdict, explained: Explained) -> str:
    if not verdict.decisions:
        return f"They are one instruction when fusion begins: an earlier pass put them together ({_WHERE})."
    last = verdict.decisions[-1]
    result = f", giving {last.result}" if last.result else ""
    return (
        f"They are fused: {last.pass_name} put {last.producer} into {last.consumer}{result} "
        f"({_step(last, explained)}{_times(last)})."
    )


def _refused(decisions: Sequence[FusionDecision], explained: Explained) -> str:
    by_reason = {item.reason: item for item in decisions}
    lines = []
    for item in list(by_reason.values())[-_REASONS:]:
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


def _refusals(traced: Traced, explained: Explained) -> Iterable[str]:
    """Yield the reasons, the most frequent first, each with some of its pairs."""
    pairs: dict[str, list[FusionDecision]] = defaultdict(list)
    for decision in explained.decisions:
        if decision.action == "refused":
            pairs[decision.reason].append(decision)
    if not pairs:
        return
    names = _names(traced, explained)
    for reason, refused in sorted(pairs.items(), key=lambda item: -len(item[1])):
        yield f"\nnot fused, {plural(len(refused), 'time')}: {refused[0].plain}".rstrip(": ")
        yield f'  XLA\'s words: "{reason}"'
        yield from table([_pair(decision, names) for decision in refused[:_PAIRS]])
        if len(refused) > _PAIRS:
            yield f"  and {len(refused) - _PAIRS:,} more"


def _names(traced: Traced, explained: Explained) -> dict[str, str]:
    """Return the equations and lines of each instruction."""
    if not explained.before:
        return {}
    equations = {equation.path: equation for equation in traced.jaxpr.walk()}
    paths_by_name: dict[str, list[str]] = defaultdict(list)
    for path, names in instructions_of(read_module(explained.before)).items():
        for name in names:
            if path in equations:
                paths_by_name[name].append(_equation(equations[path]))
    return {name: ", ".join(paths[:_PAIRS]) for name, paths in paths_by_name.items()}


def _pair(decision: FusionDecision, names: dict[str, str]) -> tuple[str, ...]:
    """Return a row about a refused pair, with XLA's names of both."""
    ends = [names.get(name) or _unnamed(name) for name in (decision.producer, decision.consumer)]
    return (
        "",
        ends[0],
        "→",
        ends[1],
        f"({decision.producer} → {decision.consumer})" if decision.consumer else f"({decision.producer})",
    )


def _unnamed(name: str) -> str:
    """Return a description of an instruction without an equation of its own: mostly an unfinished fusion."""
    if not name:
        return "any of its users"
    return "a kernel so far" if "fusion" in name else "a step of the compiler's own"


def _called(path: str, traced: Traced) -> str:
    equation = next((candidate for candidate in traced.jaxpr.walk() if candidate.path == path), None)
    return path if equation is None else _equation(equation)


def _equation(equation: Equation) -> str:
    line = f", line {equation.source.line}" if equation.source is not None else ""
    return f"{equation.operation} ({equation.path}{line})"


def _notes(explained: Explained) -> list[str]:
    notes = [] if explained.complete else ["This answer is partial."]
    return [*notes, *([f"({explained.note})"] if explained.note else [])]
