"""Rule for cheap values that the compiler recomputes in many kernels, because it fuses them into each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...records import EquationPath, Finding, Measure
from ...records.traits import Trait
from .evidence import Evidence
from .rule import COUNT, CallCost

#: Minimum number of kernels that compute a cheap equation, on average and for the most frequent one.
MIN_MEAN_COUNT, MIN_MAX_COUNT = 2.0, 5


def find_recomputation(evidence: Evidence) -> Iterator[Finding]:
    """Find kernels on a CPU that recompute values of others; its compiler has no cost model for that.

    If results are kept in memory already, the remaining recomputation was found to be cheaper.
    """
    if evidence.platform != "cpu" or evidence.compiled is None or evidence.compiled.kept:
        return
    kernels = Counter(path for entry in evidence.kernels.values() for path in entry.equations)
    counted = {path: times for path, times in kernels.items() if _is_cheap(evidence, path)}
    if not counted:
        return
    average, (path, most) = sum(counted.values()) / len(counted), max(counted.items(), key=lambda item: item[1])
    if average < MIN_MEAN_COUNT or most < MIN_MAX_COUNT:
        return
    cost = CallCost.of(evidence, (entry for entry, times in counted.items() if times > 1))
    if cost is None:
        return
    equation = evidence.equations[path]
    yield cost.make_finding(
        "computed again",
        equation,
        f"{equation.operation} is computed {most} times, in as many kernels, and its like {average:.1f} times on "
        f"average: what is computed again takes {cost.words}",
        "let what layers hand on be kept in memory: jit(..., keep='auto') finds it (for a program of jax "
        "what if finds it, and it needs lax.optimization_barrier behind it and the compiler option "
        "xla_disable_hlo_passes=cse_barrier_expander)",
        Measure("kernels that compute it", most, "", COUNT),
        Measure("kernels that compute its like, on average", average, "", COUNT),
        what_if=("keep", "auto"),
    )


def _is_cheap(evidence: Evidence, path: EquationPath) -> bool:
    return evidence.traced.has(evidence.equations.get(path), Trait.CHEAP)
