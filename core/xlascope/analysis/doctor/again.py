"""Values that the compiler computes again in many kernels, because each takes in what it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...records import EquationPath, Finding, Measure
from ...records.traits import Trait
from .evidence import Evidence
from .rule import COUNT, Stake

#: How often an equation is computed on average, and one of them at least, from where on it is a finding.
ON_AVERAGE, ONE = 2.0, 5


def computed_again(evidence: Evidence) -> Iterator[Finding]:
    """Kernels that compute again what others have computed, on a CPU: its compiler has no model of what that costs.

    Where results are kept already, the rest was found to be cheaper so.
    """
    if evidence.platform != "cpu" or evidence.compiled is None or evidence.compiled.kept:
        return
    kernels = Counter(path for each in evidence.kernels.values() for path in each.equations)
    counted = {path: times for path, times in kernels.items() if _is_cheap(evidence, path)}
    if not counted:
        return
    average, (path, most) = sum(counted.values()) / len(counted), max(counted.items(), key=lambda item: item[1])
    if average < ON_AVERAGE or most < ONE:
        return
    stake = Stake.of(evidence, (each for each, times in counted.items() if times > 1))
    if stake is None:
        return
    equation = evidence.equations[path]
    yield stake.finding(
        "computed again",
        equation,
        f"{equation.operation} is computed {most} times, in as many kernels, and its like {average:.1f} times on "
        f"average: what is computed again takes {stake.words}",
        "let what layers hand on be kept in memory: jit(..., keep='auto') finds it (for a program of jax "
        "what if finds it, and it needs lax.optimization_barrier behind it and the compiler option "
        "xla_disable_hlo_passes=cse_barrier_expander)",
        Measure("kernels that compute it", most, "", COUNT),
        Measure("kernels that compute its like, on average", average, "", COUNT),
        what_if=("keep", "auto"),
    )


def _is_cheap(evidence: Evidence, path: EquationPath) -> bool:
    return evidence.traced.has(evidence.equations.get(path), Trait.CHEAP)
