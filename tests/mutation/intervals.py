"""Table of what was noticed, with intervals."""

import math
from collections.abc import Sequence
from typing import Any

#: The two-sided quantile of 95 % of the normal distribution.
_QUANTILE = 1.959964


def describe(mutants: Sequence[dict[str, Any]]) -> str:
    """Return the table of what was noticed."""
    whole = [mutant for mutant in mutants if mutant["outcome"] == "noticed"]
    fast = [mutant for mutant in mutants if mutant["fast"]]
    rows = [
        ("of all, the whole suite", len(whole), len(mutants)),
        ("of all, the fast part", len(fast), len(mutants)),
        ("of what the whole suite notices, the fast part", len(fast), len(whole)),
    ]
    return "\n".join(f"{what}: {share(*counts)}" for what, *counts in rows)


def share(part: int, of: int) -> str:
    """Return a share with its 95 % interval as text.

    >>> share(90, 100)
    '90 of 100, 90 % (83 to 94 %)'
    """
    share_of_all, interval = share_and_interval(part, of)
    return f"{share_of_all} ({interval})" if interval else share_of_all


def share_and_interval(part: int, of: int) -> tuple[str, str]:
    """Return a share and its 95 % interval (Wilson, J. Am. Stat. Assoc. 22, 1927), each as text.

    >>> share_and_interval(90, 100), share_and_interval(0, 0)
    (('90 of 100, 90 %', '83 to 94 %'), ('0 of 0', ''))
    """
    if not of:
        return "0 of 0", ""
    mean, z = part / of, _QUANTILE
    middle = (mean + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(mean * (1 - mean) / of + z * z / (4 * of * of))
    return f"{part} of {of}, {100 * mean:.0f} %", f"{100 * (middle - half):.0f} to {100 * (middle + half):.0f} %"
