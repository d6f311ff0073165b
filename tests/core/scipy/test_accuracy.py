"""No function of scipy.special or of a distribution is less accurate than jax's, over its whole domain.

Each is computed at 400 places by both; what is compared is the largest relative error, by 50 digits of mpmath.
``python -m tests.core.scipy.test_accuracy`` prints the table (``single erf`` a part of it).
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.core.scipy import accuracy

import xlascope as xs
from xlascope import settings

DTYPES: dict[str, Any] = {"single": np.float32, "double": np.float64}
PROGRAMS = Path(__file__).with_name("accuracy_programs.py")
#: Errors up to this, in halves of the last place, count as none: of special functions four roundings, and of
#: distributions six.
NONE = {"special": 4.0, "stats": 6.0}
#: How much larger an error of ours counts as equal: of special functions none; distributions are sums of several of
#: them, by the same formulas on both sides, whose roundings fall as they do.
EQUAL = {"special": 1.0, "stats": 1.5}
#: Rows in which jax is nearer, and why that is.
EXEMPT: dict[tuple[str, str], str] = {
    ("poch", "double"): "a quotient of gamma functions by their logarithms on both sides: 67 halves to 64",
}
Asking = Callable[..., dict[str, Any]]


def largest(name: str, precision: str, asked: Asking) -> tuple[float, float, str]:
    """The largest errors of ours and of jax's, and where ours is."""
    row, dtype, wide = accuracy.rows()[name], DTYPES[precision], precision == "double"
    theirs = asked(PROGRAMS, f"{row.room}_{precision}", enable_x64=str(int(wide)))[name]
    with settings.enable_x64(wide):
        mine = accuracy.of_row(xs, row, dtype)
    assert isinstance(mine, np.ndarray), mine
    wanted = accuracy.references(row, dtype)
    assert sum(each is not None for each in wanted) > accuracy.COUNT / 4, "the domain of this row is too wide"
    own = accuracy.errors(row, mine, wanted, dtype)
    other = accuracy.errors(row, theirs, wanted, dtype) if isinstance(theirs, np.ndarray) else np.array([np.inf])
    where = int(np.argmax(own))
    return float(own.max()), float(other.max()), str([float(x[where]) for x in row.operands(dtype)])


def as_near(name: str, own: float, other: float) -> bool:
    """Whether an error of ours counts as no larger than that of jax."""
    room = accuracy.rows()[name].room
    return own <= max(EQUAL[room] * other, NONE[room])


@pytest.mark.slow
@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("name", accuracy.rows())
def test_a_function_is_as_accurate_as_jax_over_its_domain(name: str, precision: str, jax_says: Asking) -> None:
    own, other, where = largest(name, precision, jax_says)
    near = as_near(name, own, other)
    said = f"{name} is off by {own:.1f} halves of the last place at {where}, jax by {other:.1f} at most"
    if (name, precision) in EXEMPT:
        assert not near, f"{said}: it is no exception any more"
        pytest.xfail(EXEMPT[name, precision])
    assert near, said


def test_exceptions_are_rows() -> None:
    assert {name for name, _ in EXEMPT} <= set(accuracy.rows())
    assert {precision for _, precision in EXEMPT} <= set(DTYPES)


def main(words: list[str]) -> None:
    """Print the table, of the precisions and beginnings of names that the words are, or of all."""

    @functools.cache
    def asked(path: Path, function: str, **settings: str) -> dict[str, Any]:
        found: dict[str, Any] = oracle.ask(path, function, settings)
        return found

    names = tuple(word for word in words if word not in DTYPES)
    for precision in [word for word in DTYPES if word in words] or DTYPES:
        for name in accuracy.rows():
            if not names or name.startswith(names):
                own, other, where = largest(name, precision, asked)
                mark = f"  ! at {where}" if not as_near(name, own, other) else ""
                print(f"{precision} {name}: {own:.1f}, jax {other:.1f}{mark}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
