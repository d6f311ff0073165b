"""The complete table, ordered by family, cheap families first."""

from __future__ import annotations

import itertools

from . import arrays, computations, elementwise
from .row import Case

#: Cases in one program.
CASES_IN_PROGRAM = 20


def all_cases() -> list[Case]:
    """Return every case, each name once."""
    families = (
        elementwise.unary_cases,
        elementwise.binary_cases,
        elementwise.choice_cases,
        arrays.shape_cases,
        arrays.indexing_cases,
        computations.reduction_cases,
        computations.product_cases,
        arrays.sorting_cases,
        computations.algebra_cases,
        computations.flow_cases,
    )
    return list(itertools.chain.from_iterable(family() for family in families))


def programs() -> list[list[Case]]:
    """Return the cases in groups of twenty, one per program."""
    cases = all_cases()
    return [cases[first : first + CASES_IN_PROGRAM] for first in range(0, len(cases), CASES_IN_PROGRAM)]
