"""Numbers for people: counts with their nouns, durations, shares, rates and sizes with their units."""

from __future__ import annotations


def plural(number: int, what: str) -> str:
    """A count and its noun.

    >>> plural(1, "kernel"), plural(2000, "kernel")
    ('1 kernel', '2,000 kernels')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def seconds(value: float) -> str:
    """A duration with its unit.

    >>> seconds(0.00182), seconds(4.2e-6)
    ('1.82 ms', '4.2 µs')
    """
    for one, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= one * 0.9995:
            return f"{value / one:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def percent(part: float) -> str:
    """A part of a whole; all of it is said only of all of it.

    >>> percent(0.114), percent(0.9996), percent(0.0004), percent(1.0)
    ('11 %', '99 %', '< 1 %', '100 %')
    """
    if 0 < part < 0.01:
        return "< 1 %"
    return "99 %" if 0.99 < part < 1 - 1e-9 else f"{100 * part:.0f} %"


def rate(value: float, what: str) -> str:
    """A number of things per second; without a name for the thing, only the number and its power of ten.

    >>> rate(7.8e10, "FLOP"), rate(5.28e9, "")
    ('78 GFLOP/s', '5.28 G')
    """
    for one_of, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= one_of * 0.9995:
            return f"{value / one_of:.3g} {prefix}{what}" + ("/s" if what else "")
    return f"{value:.3g} {what}" + ("/s" if what else "")


def size(value: int) -> str:
    """A number of bytes with its unit.

    >>> size(524288)
    '524 kB'
    """
    for one, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= one:
            return f"{value / one:.3g} {unit}"
    return f"{value} B"
