"""What devices have to send each other at the least: our count, from the collectives of a compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...records.compiled import Collective, Kernel
from ...records.scaled import Exchanged


def least_sent(collective: Collective) -> float:
    """The bytes that each of n devices has to send in one run, whichever way they go.

    Of a gathered array it sends on the parts that others lack, (n - 1)/n of the whole; of one that is scattered the
    parts that others get. A reduction of which everybody gets all is both, one after the other (Patarasuk and Yuan,
    "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). What is permuted is sent once.

    >>> least_sent(Collective("all-reduce", 4, 100, 100)), least_sent(Collective("all-gather", 4, 25, 100))
    (150.0, 75.0)
    """
    n = collective.devices
    others = (n - 1) / n if n else 0.0
    match collective.kind:
        case "all-reduce":
            return 2 * others * collective.operand_bytes
        case "all-gather":
            return others * collective.result_bytes
        case "reduce-scatter" | "all-to-all" | "ragged-all-to-all":
            return others * collective.operand_bytes
        case "collective-broadcast":
            return collective.operand_bytes / n if n else 0.0  # one of them, at the least, sends it
        case _:
            return float(collective.operand_bytes)


def exchanged(kernels: Iterable[Kernel], runs: Mapping[str, int]) -> tuple[Exchanged, ...]:
    """The collectives of one run of a program by kind, those with most to send first.

    ``runs`` says how often each kernel runs (:func:`~.estimates.runs_of`).
    """
    found: dict[str, tuple[int, int, int, float]] = {}
    for kernel in kernels:
        collective = kernel.collective
        if collective is None:
            continue
        times = runs.get(kernel.name, 1)
        count, given, got, sent = found.get(collective.kind, (0, 0, 0, 0.0))
        found[collective.kind] = (
            count + times,
            given + times * collective.operand_bytes,
            got + times * collective.result_bytes,
            sent + times * least_sent(collective),
        )
    rows = [Exchanged(kind, count, given, got, round(sent)) for kind, (count, given, got, sent) in found.items()]
    return tuple(sorted(rows, key=lambda each: -each.sent_bytes))
