"""Effects of operations besides their results, and whether their order matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Effect(NamedTuple):
    """Kind of effect of an operation; equations that have one are kept whether or not their results are used.

    A ``"debug"`` effect may happen as often as the program runs (twice, where a transformation computes
    something again), an ``"io"`` effect just once. ``ordered`` says that such effects happen in the order of
    the program.
    """

    kind: str
    ordered: bool


Effects = frozenset[Effect]

NO_EFFECTS: Effects = frozenset()
DEBUG = Effect("debug", ordered=False)
ORDERED_DEBUG = Effect("debug", ordered=True)
IO = Effect("io", ordered=False)
ORDERED_IO = Effect("io", ordered=True)
#: Keeps an equation whose results nothing uses.
KEEP_ALIVE = Effect("kept", ordered=False)


def is_ordered(effects: Iterable[Effect]) -> bool:
    """Return whether the order of any of the effects matters.

    >>> is_ordered([DEBUG, IO]), is_ordered([DEBUG, ORDERED_IO])
    (False, True)
    """
    return any(effect.ordered for effect in effects)


def calls_python(effects: Iterable[Effect]) -> bool:
    """Return whether any of the effects calls Python.

    >>> calls_python([KEEP_ALIVE]), calls_python([DEBUG]), calls_python([ORDERED_IO])
    (False, True, True)
    """
    return any(effect.kind in ("debug", "io") for effect in effects)


def is_io(effects: Iterable[Effect]) -> bool:
    """Return whether any of the effects is input or output, which has to happen just once.

    >>> is_io([DEBUG, ORDERED_DEBUG]), is_io([DEBUG, IO])
    (False, True)
    """
    return any(effect.kind == "io" for effect in effects)
