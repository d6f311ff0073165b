"""The JSON encoding of a comparison: aligned equations and kernels, and formatted numbers."""

from __future__ import annotations

from xlascope.analysis.diff import Diff, Timing, quartiles
from xlascope.analysis.diff.text import change, value, verdict
from xlascope.records.plain import plain

from .encoding import JSON
from .sanitize import sanitize_if_needed


def encode_diff(diff: Diff) -> JSON:
    """Encode a comparison for the panel, without both programs, which are sent like others."""
    labels = (plain(diff.labels[0], 80), plain(diff.labels[1], 80))
    wire: JSON = {
        "labels": list(labels),
        "numbers": [
            [item.name, value(item.before, item.unit), value(item.after, item.unit), change(item), item.source]
            for item in diff.numbers
        ],
        "equations": [
            [item.sign, item.before, item.after, " ".join(item.changed), item.detail] for item in diff.equations
        ],
        "kernels": [[item.kind, list(item.before), list(item.after), item.detail] for item in diff.kernels],
    }
    if diff.timing is not None:
        wire["timing"] = _encode_timing(diff.timing, labels)
    if diff.unmeasured:
        wire["unmeasured"] = diff.unmeasured
    return sanitize_if_needed(wire)


def _encode_timing(timing: Timing, labels: tuple[str, str]) -> JSON:
    return {
        "seconds": [list(timing.before), list(timing.after)],
        "words": [
            " – ".join(value(quartile, "s") for quartile in quartiles(side)) for side in (timing.before, timing.after)
        ],
        "verdict": verdict(timing, labels),
        "source": f"{timing.rounds_text}; {timing.source}",
    }
