"""Supported jaxlibs: the versions that the tests have run with, and the libtpu and Pythons that belong to each.

These versions are written nowhere else: `pyproject.toml`, `make matrix`, what is watched of jax, the
compilers that are installed and the messages follow from it, or a test compares them with it. A new jaxlib:
docs/contributing/a_new_jaxlib.md.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Jaxlib(NamedTuple):
    """Supported jaxlib: its version, which is that of its jax and of its CUDA plugins too, and its libtpu.

    ``pythons`` are those that the tests run it with.
    """

    version: str
    libtpu: str
    pythons: tuple[str, ...]


#: From the oldest to the newest; `pip show jax` of a version shows the libtpu that it requires (its extra `tpu`).
TESTED = (
    Jaxlib("0.10.2", libtpu="0.0.42", pythons=("3.11", "3.12")),
    Jaxlib("0.11.2", libtpu="0.0.48", pythons=("3.13",)),
    Jaxlib("0.12.0.1", libtpu="0.0.50", pythons=("3.13",)),
)
OLDEST, NEWEST = TESTED[0], TESTED[-1]


def release_series(version: str) -> str:
    """Return the first two numbers of a version: releases that share them differ by bug fixes alone.

    >>> release_series("0.12.0.1"), release_series("0.11.2.dev20260901")
    ('0.12', '0.11')
    """
    return ".".join(map(str, parse_version(version)[:2]))


def parse_version(version: str) -> tuple[int, ...]:
    """Return the numbers at the beginning of a version.

    >>> parse_version("0.11.2.dev20260901")
    (0, 11, 2)
    """
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def is_too_old(version: str) -> bool:
    """Return whether a jaxlib is older than the oldest tested one.

    >>> is_too_old("0.9.2"), is_too_old("0.13.0")
    (True, False)
    """
    return parse_version(version) < parse_version(OLDEST.version)


def is_tested(version: str) -> bool:
    """Return whether a jaxlib is of a tested release series, or between two of them.

    >>> is_tested("0.10.2"), is_tested("0.11.0"), is_tested("0.12.3"), is_tested("0.9.2"), is_tested("0.13.0")
    (True, True, True, False, False)
    """
    return not is_too_old(version) and parse_version(version)[:2] <= parse_version(NEWEST.version)[:2]


def first_untested_version() -> str:
    """Return the first release series after the newest tested one, such as ``0.13``.

    >>> is_tested(first_untested_version())
    False
    """
    major, minor = parse_version(NEWEST.version)[:2]
    return f"{major}.{minor + 1}"


def tested_requirement() -> str:
    """Return the requirement for pip to install a tested jaxlib: ``jaxlib>=0.10.2,<0.13``."""
    return f"jaxlib>={OLDEST.version},<{first_untested_version()}"


def libtpu_requirement(version: str) -> str | None:
    """Return the requirement for pip to install the libtpu of a jaxlib; None for an untested one.

    >>> libtpu_requirement("0.11.2"), libtpu_requirement("0.13.0")
    ('libtpu==0.0.48.*', None)
    """
    return next(
        (
            f"libtpu=={jaxlib.libtpu}.*"
            for jaxlib in TESTED
            if release_series(jaxlib.version) == release_series(version)
        ),
        None,
    )
