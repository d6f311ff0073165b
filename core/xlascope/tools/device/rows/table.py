"""The complete table, ordered by family, cheap families first."""

from __future__ import annotations

import itertools

from . import arrays, computations, elementwise
from .row import Case

#: Cases in one program.
CASES_PER_PROGRAM = 20


def all_cases() -> list[Case]:
    """Return all test cases; their names are unique."""
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


def group_cases() -> list[list[Case]]:
    """Return the test cases in groups of twenty, each of which becomes one program."""
    cases = all_cases()
    return [cases[first : first + CASES_PER_PROGRAM] for first in range(0, len(cases), CASES_PER_PROGRAM)]
