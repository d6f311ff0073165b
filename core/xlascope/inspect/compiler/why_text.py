"""Fusion decisions as text: equations and lines first and our words, then XLA's names and its words in quotes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ...analysis.figures import plural, seconds
from ...analysis.verdicts import Verdict
from ...readers.hlo.equations import instructions_of
from ...readers.hlo.text import read_module
from ...records import Equation, Explained, FusionDecision, Traced
from ..text import table

#: Pairs that are named for a reason, and reasons that are told of one edge.
_PAIRS, _REASONS = 4, 3
_WHERE = "%passes f(x), or xlascope.inspect.passes, shows them"


def why_text(traced: Traced, explained: Explained) -> str:
    """What the compiler decided, as a person reads it."""
    if explained.edge:
        first, second = (_called(each, traced) for each in explained.edge)
        where = f"{explained.function} for {explained.target}"
        return "\n".join(
            [
                f"{first} and {second} in {where}, asked of {explained.module} in {seconds(explained.seconds)}",
                explained.answer,
                *_notes(explained),
            ]
        )
    counted = Counter((each.pass_name, each.action) for each in explained.decisions)
    passes = dict.fromkeys(name for name, _ in counted)
    said = ", ".join(f"{name} fused {counted[name, 'fused']}, refused {counted[name, 'refused']}" for name in passes)
    first = (
        f"{explained.function} for {explained.target}: {plural(len(explained.decisions), 'decision')} about "
        f"{explained.module}, heard in {seconds(explained.seconds)}"
    )
    return "\n".join([first, *([said] if said else []), *_refusals(traced, explained), *_notes(explained)])


def edge_answer(outcome: str, found: Verdict, together: str, explained: Explained, traced: Traced) -> str:
    """What became of an edge, in sentences; ``together`` is the kernel that both are in."""
    if outcome == "different":
        return (
            "Not comparable: the program that runs here was fused differently around these two than in the compilation "
            "that was asked, so its reasons would be another program's."
        )
    if outcome == "gone":
        missing = " and ".join(_called(each, traced) for each in found.missing)
        many = len(found.missing) > 1
        return (
            f"{missing} {'have' if many else 'has'} no instruction when fusion begins: an earlier pass folded "
            f"{'them' if many else 'it'} into others ({_WHERE})."
        )
    if outcome == "never":
        if not found.neighbours:
            return (
                "No fusion pass looked at this pair: neither takes the other's result when fusion begins. Others are "
                f"between them, or earlier passes rearranged them ({_WHERE})."
            )
        return (
            "No fusion pass looked at this pair, though they are neighbours when fusion begins: one of them is of a "
            "kind that the passes leave alone."
        )
    if outcome == "fused":
        if found.outcome != "fused":
            return f"They are fused: both are in the kernel {together}. The compiler does not tell which step did it."
        return _fused(found, explained)
    return _refused(found.decisions, explained)


def _fused(found: Verdict, explained: Explained) -> str:
    if not found.decisions:
        return f"They are one instruction when fusion begins: an earlier pass put them together ({_WHERE})."
    last = found.decisions[-1]
    result = f", giving {last.result}" if last.result else ""
    return (
        f"They are fused: {last.pass_name} put {last.producer} into {last.consumer}{result} "
        f"({_step(last, explained)}{_times(last)})."
    )


def _refused(decisions: Sequence[FusionDecision], explained: Explained) -> str:
    by_reason = {each.reason: each for each in decisions}
    lines = []
    for each in list(by_reason.values())[-_REASONS:]:
        who = f"{each.producer} into {each.consumer}" if each.consumer else f"{each.producer} into anything"
        lines.append(f"They are not fused. {each.plain}".rstrip())
        lines.append(
            f'  XLA\'s words: {each.pass_name} refused {who}: "{each.reason}" ({_step(each, explained)}{_times(each)}).'
        )
    if any(each.pass_name == "PriorityFusion" for each in decisions):
        lines.append("  PriorityFusion takes a producer into all of its users or into none.")
    return "\n".join(lines)


def _step(each: FusionDecision, explained: Explained) -> str:
    return f"decision {each.step + 1:,} of {len(explained.decisions):,}"


def _times(each: FusionDecision) -> str:
    if each.fused_seconds is None or each.unfused_seconds is None:
        return ""
    return (
        f"; XLA's estimate, for all users of {each.producer}: {seconds(each.fused_seconds)} fused, "
        f"{seconds(each.unfused_seconds)} apart"
    )


def _refusals(traced: Traced, explained: Explained) -> Iterable[str]:
    """The reasons, the most frequent first, each with some of the pairs it was given for."""
    pairs: dict[str, list[FusionDecision]] = defaultdict(list)
    for each in explained.decisions:
        if each.action == "refused":
            pairs[each.reason].append(each)
    if not pairs:
        return
    names = _names(traced, explained)
    for reason, refused in sorted(pairs.items(), key=lambda item: -len(item[1])):
        yield f"\nnot fused, {plural(len(refused), 'time')}: {refused[0].plain}".rstrip(": ")
        yield f'  XLA\'s words: "{reason}"'
        yield from table([_pair(each, names) for each in refused[:_PAIRS]])
        if len(refused) > _PAIRS:
            yield f"  and {len(refused) - _PAIRS:,} more"


def _names(traced: Traced, explained: Explained) -> dict[str, str]:
    """The equations and lines that an instruction belongs to."""
    if not explained.before:
        return {}
    equations = {each.path: each for each in traced.jaxpr.walk()}
    found: dict[str, list[str]] = defaultdict(list)
    for path, names in instructions_of(read_module(explained.before)).items():
        for name in names:
            if path in equations:
                found[name].append(_equation(equations[path]))
    return {name: ", ".join(paths[:_PAIRS]) for name, paths in found.items()}


def _pair(each: FusionDecision, names: dict[str, str]) -> tuple[str, ...]:
    """What was not put into what, and XLA's names of both."""
    ends = [names.get(name) or _unnamed(name) for name in (each.producer, each.consumer)]
    return (
        "",
        ends[0],
        "→",
        ends[1],
        f"({each.producer} → {each.consumer})" if each.consumer else f"({each.producer})",
    )


def _unnamed(name: str) -> str:
    """An instruction without an equation of its own: mostly what the compiler has put together so far."""
    if not name:
        return "any of its users"
    return "a kernel so far" if "fusion" in name else "a step of the compiler's own"


def _called(path: str, traced: Traced) -> str:
    equation = next((each for each in traced.jaxpr.walk() if each.path == path), None)
    return path if equation is None else _equation(equation)


def _equation(equation: Equation) -> str:
    line = f", line {equation.source.line}" if equation.source is not None else ""
    return f"{equation.operation} ({equation.path}{line})"


def _notes(explained: Explained) -> list[str]:
    notes = [] if explained.complete else ["This answer is partial."]
    return [*notes, *([f"({explained.note})"] if explained.note else [])]
