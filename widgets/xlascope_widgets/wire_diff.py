"""A comparison as the JSON that crosses to the browser: what aligns with what, and words ready to be read."""

from __future__ import annotations

from xlascope.analysis.diff import Diff, Timing, quartiles
from xlascope.analysis.diff.text import change, value, verdict
from xlascope.records.plain import plain

from .bounded import checked
from .packed import JSON


def diff_wire(diff: Diff) -> JSON:
    """What the panel needs to show a comparison, apart from both programs."""
    labels = (plain(diff.labels[0], 80), plain(diff.labels[1], 80))
    wire: JSON = {
        "labels": list(labels),
        "numbers": [
            [each.name, value(each.before, each.unit), value(each.after, each.unit), change(each), each.source]
            for each in diff.numbers
        ],
        "equations": [
            [each.sign, each.before, each.after, " ".join(each.changed), each.detail] for each in diff.equations
        ],
        "kernels": [[each.kind, list(each.before), list(each.after), each.detail] for each in diff.kernels],
    }
    if diff.timing is not None:
        wire["timing"] = _timing(diff.timing, labels)
    return checked(wire)


def _timing(timing: Timing, labels: tuple[str, str]) -> JSON:
    return {
        "seconds": [list(timing.before), list(timing.after)],
        "words": [" – ".join(value(each, "s") for each in quartiles(side)) for side in (timing.before, timing.after)],
        "verdict": verdict(timing, labels),
        "source": f"{timing.source}, {len(timing.before)} rounds of both in turn",
    }
