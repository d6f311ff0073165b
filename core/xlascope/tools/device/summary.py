"""The summary of a report: at most forty lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from ...records.plain import plain_lines
from .comparison import describe_disagreement
from .programs.journal import FAILS, NOT_REACHED, SKIPPED, WORKS

MAX_LINES, MAX_COLUMNS = 40, 160
#: The maximum number of items named on the line of a part.
MAX_NAMES = 3
_HEAD = ("device", "driver", "versions", "machine")


def summarize(results: dict[str, Any]) -> str:
    """Return the summary of a report: the machine, a line per part, a table of programs, and the failures."""
    parts = results["parts"]
    lines = [f"xlascope device report, {results['made']}, {results['seconds']:.0f} s of {results['budget']:g} s"]
    lines += [
        f"{name:9} {items[name]}" for items in [words_of(parts, "environment")] for name in _HEAD if name in items
    ]
    lines += ["", *(_part_line(part) for part in parts), ""]
    lines += list(program_table(parts))
    failures = failure_lines(parts)
    free_lines = MAX_LINES - len(lines) - 2
    lines += ["", *failures[:free_lines]]
    if len(failures) > free_lines:
        lines[-1] = f"and {len(failures) - free_lines + 1} other failures, in results.json"
    return "\n".join(_truncate(line) for line in lines[:MAX_LINES]) + "\n"


def _truncate(line: str) -> str:
    plain = plain_lines(" ".join(line.split("\n")))
    return plain if len(plain) <= MAX_COLUMNS else f"{plain[: MAX_COLUMNS - 1]}…"


def items_of(parts: Sequence[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """Return the outcomes of a part's checks by name; empty if the part did not run."""
    return {item["name"]: item for part in parts if part["name"] == name for item in part["items"]}


def words_of(parts: Sequence[dict[str, Any]], name: str) -> dict[str, str]:
    """Return the remarks about a part's checks by name."""
    return {key: item.get("words", "") for key, item in items_of(parts, name).items()}


def count_results(items: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the number of checks with each result.

    >>> count_results([{"result": "works"}, {"result": "fails"}])["works"]
    1
    """
    return {result: sum(item["result"] == result for item in items) for result in (WORKS, FAILS, SKIPPED, NOT_REACHED)}


def _part_line(part: dict[str, Any]) -> str:
    """Return the summary's line about a part: how many checks work, which were skipped or not reached."""
    items = part["items"]
    number = count_results(items)
    tried = number[WORKS] + number[FAILS]
    text = f"{part['name']:12} {number[WORKS]:3} of {tried:3} work in {part['seconds']:5.1f} s"
    for result in (SKIPPED, NOT_REACHED):
        if number[result]:
            names = [item["name"] for item in items if item["result"] == result]
            more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            text += f"; {result}: {', '.join(names[:MAX_NAMES])}{more}"
    rows = [item for item in items if "tried" in item]
    if rows:
        text += f"; {sum(item['agree'] for item in rows)} of {sum(item['tried'] for item in rows)} comparisons agree"
    return text


def program_table(parts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each measured program: xlascope's times, and jax's beside them if they exist."""
    engine_items, jax_items = items_of(parts, "programs"), items_of(parts, "jax")
    measured = [name for name, item in engine_items.items() if "step_ms" in item]
    if measured:
        head = f"{'program':15} {'first s':>8} {'step ms':>9} {'spread':>15} {'dispatch µs':>12}"
        yield f"{head}  {'jax: first, step, dispatch':28} numbers"
    for name in measured:
        item, peer = engine_items[name], jax_items.get(name, {})
        spread = f"{item['step_ms_low']:.3f}–{item['step_ms_high']:.3f}"
        text = (
            f"{name:15} {item['first_call_s']:8.2f} {item['step_ms']:9.3f} {spread:>15} {item['dispatch_us']:12.0f}  "
        )
        if "step_ms" in peer:
            ratio = item["step_ms"] / peer["step_ms"]
            peer_text = f"{peer['first_call_s']:.2f}, {peer['step_ms']:.3f} (×{ratio:.2f}), {peer['dispatch_us']:.0f}"
            error = describe_disagreement(item, peer)
            text += f"{peer_text:28} {error or 'agree'}"
        yield text.rstrip()


def failure_keys(parts: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], str]:
    """Return a line for each failure, by (part, check), and for operations by (part, check, test case, aspect)."""
    lines: dict[tuple[str, ...], str] = {}
    for part in parts:
        for item in part["items"]:
            if item["result"] != FAILS:
                continue
            key = part["name"], item["name"]
            for row in item.get("failures") or []:
                line = f"FAILS {part['name']}: {row['row']} ({row['what']}): {row['error']}"
                lines[(*key, row["row"], row["what"])] = line
            if not item.get("failures"):
                lines[key] = f"FAILS {part['name']}: {item['name']}: {item.get('words', '')}"
    return lines


def failure_lines(parts: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each failure; for operations one per failing test case and aspect."""
    return list(failure_keys(parts).values())


def print_safely(text: str, file: TextIO | None = None) -> None:
    """Print text of a report without terminal control characters."""
    print(plain_lines(text), file=file)
