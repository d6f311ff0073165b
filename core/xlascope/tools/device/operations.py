"""The part ``operations``: values, batching and gradients of the table's rows, twenty per program.

The reference is the CPU in the same process, which computes each example of a batch separately, and NumPy for
rows that name a NumPy function. Rows of a program that fails are tried one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...settings import default_matmul_precision
from .comparison import describe_difference
from .context import Context
from .programs.journal import FAILS, WORKS, Item
from .rows.group import Group, Numbers, Outcome
from .rows.row import Case
from .rows.table import CASES_PER_PROGRAM, group_cases

#: The factor by which the tolerance of gradients exceeds that of values.
GRADIENT_TOLERANCE_FACTOR = 10.0
#: The maximum number of failures described by one item.
MAX_REPORTED_FAILURES = 8

#: Runs an aspect of a group on the device and on the host; returns the cases and the outcomes of both.
Compare = Callable[[Group, Any, Any], tuple[Sequence[Case], Sequence[Outcome], Sequence[Outcome]]]


class OperationFailure(NamedTuple):
    """Test case that differs from the reference or raises.

    ``row`` is the case's name, ``what`` the aspect that fails (value, batching, gradient), ``error`` says how.
    """

    row: str
    what: str
    dtype: str
    error: str


def items(context: Context) -> Iterator[Item]:
    """Yield a check for each group of test cases and each aspect: all values first, then batching, then gradients.

    For a group that crashed an earlier process, a check for each of its cases follows.
    """
    groups = [Group(cases) for cases in group_cases()]
    for aspect in ASPECTS:
        for number, group in enumerate(groups):
            first = number * CASES_PER_PROGRAM + 1
            name = f"{aspect} {first}-{first + len(group.cases) - 1}"
            yield Item(name, functools.partial(try_group, aspect, group, context))
            if name in context.crashed:
                for case in group.cases:
                    single = functools.partial(try_group, aspect, Group([case]), context)
                    yield Item(f"{aspect} of {case.name}", single)


def try_group(aspect: str, group: Group, context: Context) -> dict[str, Any]:
    """Compare an aspect of a group of test cases between the device and the CPU.

    ``aspect`` is a key of ``ASPECTS``. Returns the outcome: how many cases agree, and the failures.
    """
    with default_matmul_precision("highest"):
        cases, results, expected = ASPECTS[aspect](group, context.device, context.host)
    factor = GRADIENT_TOLERANCE_FACTOR if aspect == "gradient" else 1.0
    failures = [*iter_failures(aspect, cases, results, expected, factor)]
    if aspect == "value":
        with_oracle = [number for number, case in enumerate(cases) if case.oracle is not None]
        of_numpy = [run_oracle(cases[number]) for number in with_oracle]
        failures += iter_failures(
            "NumPy", [cases[n] for n in with_oracle], [expected[n] for n in with_oracle], of_numpy
        )
    shown = [f"{failure.row} ({failure.what}): {failure.error}" for failure in failures[:MAX_REPORTED_FAILURES]]
    agree = len(cases) - len({failure.row for failure in failures})
    return {
        "result": FAILS if failures else WORKS,
        "words": "; ".join([f"{agree} of {len(cases)} agree", *shown]),
        "tried": len(cases),
        "agree": agree,
        "failures": [failure._asdict() for failure in failures],
    }


def iter_failures(
    aspect: str,
    cases: Sequence[Case],
    results: Sequence[Outcome],
    expected: Sequence[Outcome],
    factor: float = 1.0,
) -> Iterator[OperationFailure]:
    """Yield the cases that raised, on the device or in the reference, or whose results differ.

    ``results`` and ``expected`` are the outcomes of ``cases``; ``factor`` multiplies the cases' tolerances.
    """
    for case, outcome, reference in zip(cases, results, expected, strict=True):
        if isinstance(outcome, Exception):
            yield _make_failure(case, aspect, outcome)
        elif isinstance(reference, Exception):
            yield _make_failure(case, f"{aspect}, reference", reference)
        elif text := _first_difference(outcome, reference, factor * case.tolerance):
            yield OperationFailure(case.name, aspect, case.dtype, text)


def run_oracle(case: Case) -> Outcome:
    """Return the result of the NumPy function of a test case, computed in double precision, or its exception."""
    assert case.oracle is not None
    wide = {"f": np.float64, "V": np.float64, "c": np.complex128}
    operands = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in case.make()]
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(case.oracle(*operands))]
    except Exception as error:
        return error


def _make_failure(case: Case, aspect: str, error: Exception) -> OperationFailure:
    first = (str(error).strip() or "no message").splitlines()[0][:300]
    return OperationFailure(case.name, aspect, case.dtype, f"{type(error).__name__}: {first}")


def _first_difference(actual: Numbers, expected: Numbers, tolerance: float) -> str:
    texts = (describe_difference(x, y, tolerance) for x, y in zip(actual, expected, strict=True))
    return next(filter(None, texts), "")


def _run_values(group: Group, device: Any, host: Any) -> Any:
    return group.cases, group.value_program.run(device), group.value_program.run(host)


def _run_batches(group: Group, device: Any, host: Any) -> Any:
    return group.batch_program.cases, group.batch_program.run(device), group.run_examples(host)


def _run_gradients(group: Group, device: Any, host: Any) -> Any:
    return group.gradient_program.cases, group.gradient_program.run(device), group.gradient_program.run(host)


ASPECTS: dict[str, Compare] = {"value": _run_values, "batching": _run_batches, "gradient": _run_gradients}
