"""Names of variables in jaxprs."""

from __future__ import annotations


def letters(index: int) -> str:
    """Return the name of the variable with that index: a to z, then ba to bz, ca and so on.

    >>> [letters(i) for i in (0, 25, 26, 27)]
    ['a', 'z', 'ba', 'bb']
    """
    name = chr(ord("a") + index % 26)
    while index >= 26:
        index //= 26
        name = chr(ord("a") + index % 26) + name
    return name
