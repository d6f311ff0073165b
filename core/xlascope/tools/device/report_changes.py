"""Changes from one report to another: new and fixed failures, times of programs, results that differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .comparison import describe_disagreement
from .programs.journal import FAILS, WORKS
from .summary import failure_keys, items_of

#: The range of ratios of step times that counts as noise.
NOISE_RATIOS = (0.95, 1.05)


def describe_changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return lines that describe how the results of two reports differ."""
    lines = ["What changed from the first report to the second:"]
    lines += [*_device_changes(before, after), *_failure_changes(before["parts"], after["parts"])]
    lines += list(_step_changes(before["parts"], after["parts"]))
    return lines if len(lines) > 1 else [*lines, "nothing"]


def _device_changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in ("device", "versions"):
        texts = [items_of(report["parts"], "environment").get(name, {}).get("words", "") for report in (before, after)]
        if texts[0] != texts[1]:
            yield f"{name}: {texts[0]} → {texts[1]}"
    if before.get("size") != after.get("size"):
        yield f"programs are {before.get('size')} and {after.get('size')}: their times cannot be compared"


def _failure_changes(before: Any, after: Any) -> Iterator[str]:
    old, new = failure_keys(before), failure_keys(after)
    reached = {
        (part["name"], item["name"]) for part in after for item in part["items"] if item["result"] in (WORKS, FAILS)
    }
    for key, line in new.items():
        if key not in old:
            yield f"new: {line}"
    for key, line in old.items():
        if key not in new:
            yield f"{'gone' if key[:2] in reached else 'not tried again'}: {line}"


def _step_changes(before: Any, after: Any) -> Iterator[str]:
    """Yield a line for each program that both reports have measured: the change of its times, and of its results."""
    for part in ("programs", "jax"):
        old, new = items_of(before, part), items_of(after, part)
        for name in old.keys() & new.keys():
            if "step_ms" not in old[name] or "step_ms" not in new[name]:
                continue
            ratio = new[name]["step_ms"] / old[name]["step_ms"]
            verdict = _verdict(old[name], new[name], ratio)
            differs = describe_disagreement(new[name], old[name])
            steps = f"{old[name]['step_ms']:.3f} → {new[name]['step_ms']:.3f} ms (×{ratio:.2f}{verdict})"
            firsts = f"{old[name]['first_call_s']:.2f} → {new[name]['first_call_s']:.2f} s"
            numbers = f"; numbers {differs}" if differs else ""
            yield f"{part}: {name}: step {steps}, first call {firsts}{numbers}"


def _verdict(old: dict[str, Any], new: dict[str, Any], ratio: float) -> str:
    """Return ``", slower"`` or ``", faster"`` if two step times differ by more than their spread, or ``""``.

    ``ratio`` is the new time over the old one.
    """
    disjoint = old["step_ms_high"] < new["step_ms_low"] or new["step_ms_high"] < old["step_ms_low"]
    if NOISE_RATIOS[0] <= ratio <= NOISE_RATIOS[1] or not disjoint:
        return ""
    return ", slower" if ratio > 1 else ", faster"
