"""The jaxlibs that the tests have run with, and what belongs to each: the one place where their versions stand.

`pyproject.toml`, `make matrix`, what is watched of jax, the compilers that are installed and the messages follow from
it, or a test compares them with it. A new jaxlib: docs/contributing/a_new_jaxlib.md.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Jaxlib(NamedTuple):
    """A jaxlib: its version, which is that of its jax and of its CUDA plugins too, and its libtpu.

    ``pythons`` are those that the tests run it with.
    """

    version: str
    libtpu: str
    pythons: tuple[str, ...]


#: From the oldest to the newest; `pip show jax` of a version says which libtpu it wants (its extra `tpu`).
TRIED = (
    Jaxlib("0.10.2", libtpu="0.0.42", pythons=("3.11", "3.12")),
    Jaxlib("0.11.2", libtpu="0.0.48", pythons=("3.13",)),
    Jaxlib("0.12.0.1", libtpu="0.0.50", pythons=("3.13",)),
)
OLDEST, NEWEST = TRIED[0], TRIED[-1]


def series(version: str) -> str:
    """The first two numbers of a version: those that share them differ by repaired faults alone.

    >>> series("0.12.0.1"), series("0.11.2.dev20260901")
    ('0.12', '0.11')
    """
    return ".".join(map(str, numbers(version)[:2]))


def numbers(version: str) -> tuple[int, ...]:
    """The numbers at the beginning of a version.

    >>> numbers("0.11.2.dev20260901")
    (0, 11, 2)
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def is_too_old(version: str) -> bool:
    """Whether a jaxlib is older than the oldest that was tried.

    >>> is_too_old("0.9.2"), is_too_old("0.13.0")
    (True, False)
    """
    return numbers(version) < numbers(OLDEST.version)


def is_tried(version: str) -> bool:
    """Whether a jaxlib is one that was tried, or between two of them.

    >>> is_tried("0.10.2"), is_tried("0.11.0"), is_tried("0.12.3"), is_tried("0.9.2"), is_tried("0.13.0")
    (True, True, True, False, False)
    """
    return not is_too_old(version) and numbers(version)[:2] <= numbers(NEWEST.version)[:2]


def before_untried() -> str:
    """The first version that is too new to have been tried.

    >>> is_tried(before_untried())
    False
    """
    major, minor = numbers(NEWEST.version)[:2]
    return f"{major}.{minor + 1}"


def tried_range() -> str:
    """What pip is told to install a jaxlib that was tried: ``jaxlib>=0.10.2,<0.13``."""
    return f"jaxlib>={OLDEST.version},<{before_untried()}"


def libtpu_of(version: str) -> str | None:
    """What pip is told to install the libtpu that goes with a jaxlib; None where nobody has tried that.

    >>> libtpu_of("0.11.2"), libtpu_of("0.13.0")
    ('libtpu==0.0.48.*', None)
    """
    return next((f"libtpu=={each.libtpu}.*" for each in TRIED if series(each.version) == series(version)), None)
