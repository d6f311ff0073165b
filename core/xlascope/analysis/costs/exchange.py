"""Lower bounds of the bytes that devices send each other, from the collectives of a compiled program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...records.compiled import Collective, Kernel
from ...records.scaled import Exchanged


def min_bytes_sent(collective: Collective) -> float:
    """Return the minimum bytes that each of n devices sends in one run, whatever the algorithm.

    For a gather, a device sends the part that the others lack, (n - 1)/n of the result; for a scatter, the part
    that the others receive. An all-reduce is both, one after the other (Patarasuk and Yuan, "Bandwidth optimal
    all-reduce algorithms for clusters of workstations", 2009). A permutation sends its operand once.

    >>> min_bytes_sent(Collective("all-reduce", 4, 100, 100)), min_bytes_sent(Collective("all-gather", 4, 25, 100))
    (150.0, 75.0)
    """
    n = collective.devices
    fraction = (n - 1) / n if n else 0.0
    match collective.kind:
        case "all-reduce":
            return 2 * fraction * collective.operand_bytes
        case "all-gather":
            return fraction * collective.result_bytes
        case "reduce-scatter" | "all-to-all" | "ragged-all-to-all":
            return fraction * collective.operand_bytes
        case "collective-broadcast":
            return collective.operand_bytes / n if n else 0.0  # at least one device sends it
        case _:
            return float(collective.operand_bytes)


def summarize_collectives(kernels: Iterable[Kernel], runs: Mapping[str, int]) -> tuple[Exchanged, ...]:
    """Return the collectives of one run of a program by kind, sorted by bytes sent, largest first.

    ``runs`` gives the number of runs of each kernel (:func:`~.estimates.count_kernel_runs`).
    """
    by_kind: dict[str, tuple[int, int, int, float]] = {}
    for kernel in kernels:
        collective = kernel.collective
        if collective is None:
            continue
        times = runs.get(kernel.name, 1)
        count, operand_bytes, result_bytes, sent_bytes = by_kind.get(collective.kind, (0, 0, 0, 0.0))
        by_kind[collective.kind] = (
            count + times,
            operand_bytes + times * collective.operand_bytes,
            result_bytes + times * collective.result_bytes,
            sent_bytes + times * min_bytes_sent(collective),
        )
    rows = [
        Exchanged(kind, count, operand_bytes, result_bytes, round(sent_bytes))
        for kind, (count, operand_bytes, result_bytes, sent_bytes) in by_kind.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.sent_bytes))
