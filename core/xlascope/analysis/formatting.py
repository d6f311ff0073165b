"""Formatting of counts, durations, shares, rates and sizes."""

from __future__ import annotations


def plural(number: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "kernel"), plural(2000, "kernel")
    ('1 kernel', '2,000 kernels')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def seconds(value: float) -> str:
    """Return a duration with its unit.

    >>> seconds(0.00182), seconds(4.2e-6)
    ('1.82 ms', '4.2 µs')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale * 0.9995:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def percent(part: float) -> str:
    """Return a fraction as a percentage; ``100 %`` only for the exact whole.

    >>> percent(0.114), percent(0.9996), percent(0.0004), percent(1.0)
    ('11 %', '99 %', '< 1 %', '100 %')
    """
    if 0 < part < 0.01:
        return "< 1 %"
    return "99 %" if 0.99 < part < 1 - 1e-9 else f"{100 * part:.0f} %"


def rate(value: float, noun: str) -> str:
    """Return a rate per second with its prefix and noun; without a noun only the number and its prefix.

    >>> rate(7.8e10, "FLOP"), rate(5.28e9, "")
    ('78 GFLOP/s', '5.28 G')
    """
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale * 0.9995:
            return f"{value / scale:.3g} {prefix}{noun}" + ("/s" if noun else "")
    return f"{value:.3g} {noun}" + ("/s" if noun else "")


def size(value: int) -> str:
    """Return a number of bytes with its unit.

    >>> size(524288)
    '524 kB'
    """
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value} B"
