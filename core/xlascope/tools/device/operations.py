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
from .rows.table import CASES_IN_PROGRAM, programs

#: The factor by which the tolerance of gradients exceeds that of values.
GRADIENT_FACTOR = 10.0
#: The maximum number of failures described by one item.
MAX_NAMED = 8

#: Runs an aspect of a group on the device and on the host; returns the cases and the outcomes of both.
Compare = Callable[[Group, Any, Any], tuple[Sequence[Case], Sequence[Outcome], Sequence[Outcome]]]


class Failure(NamedTuple):
    """A row that differs from the reference or raises."""

    row: str
    what: str
    dtype: str
    error: str


def items(context: Context) -> Iterator[Item]:
    """Yield an item per program, all values first; and an item per row of a program that crashed its process."""
    groups = [Group(cases) for cases in programs()]
    for aspect in ASPECTS:
        for number, group in enumerate(groups):
            first = number * CASES_IN_PROGRAM + 1
            name = f"{aspect} {first}-{first + len(group.cases) - 1}"
            yield Item(name, functools.partial(try_group, aspect, group, context))
            if name in context.crashed:
                for case in group.cases:
                    single = functools.partial(try_group, aspect, Group([case]), context)
                    yield Item(f"{aspect} of {case.name}", single)


def try_group(aspect: str, group: Group, context: Context) -> dict[str, Any]:
    """Compare an aspect of some rows, and return how many agree and which do not."""
    with default_matmul_precision("highest"):
        cases, results, expected = ASPECTS[aspect](group, context.device, context.host)
    factor = GRADIENT_FACTOR if aspect == "gradient" else 1.0
    failures = [*compare(aspect, cases, results, expected, factor)]
    if aspect == "value":
        with_oracle = [number for number, case in enumerate(cases) if case.oracle is not None]
        of_numpy = [run_oracle(cases[number]) for number in with_oracle]
        failures += compare("NumPy", [cases[n] for n in with_oracle], [expected[n] for n in with_oracle], of_numpy)
    shown = [f"{failure.row} ({failure.what}): {failure.error}" for failure in failures[:MAX_NAMED]]
    agree = len(cases) - len({failure.row for failure in failures})
    return {
        "result": FAILS if failures else WORKS,
        "words": "; ".join([f"{agree} of {len(cases)} agree", *shown]),
        "tried": len(cases),
        "agree": agree,
        "failures": [failure._asdict() for failure in failures],
    }


def compare(
    aspect: str,
    cases: Sequence[Case],
    results: Sequence[Outcome],
    expected: Sequence[Outcome],
    factor: float = 1.0,
) -> Iterator[Failure]:
    """Yield the cases that raised, on the device or in the reference, or whose results differ."""
    for case, outcome, reference in zip(cases, results, expected, strict=True):
        if isinstance(outcome, Exception):
            yield _failure(case, aspect, outcome)
        elif isinstance(reference, Exception):
            yield _failure(case, f"{aspect}, reference", reference)
        elif text := _first_difference(outcome, reference, factor * case.tolerance):
            yield Failure(case.name, aspect, case.dtype, text)


def run_oracle(case: Case) -> Outcome:
    """Return the result of NumPy's function in double precision, or its exception."""
    assert case.oracle is not None
    wide = {"f": np.float64, "V": np.float64, "c": np.complex128}
    operands = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in case.make()]
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(case.oracle(*operands))]
    except Exception as error:
        return error


def _failure(case: Case, aspect: str, error: Exception) -> Failure:
    first = (str(error).strip() or "no message").splitlines()[0][:300]
    return Failure(case.name, aspect, case.dtype, f"{type(error).__name__}: {first}")


def _first_difference(actual: Numbers, expected: Numbers, tolerance: float) -> str:
    texts = (describe_difference(x, y, tolerance) for x, y in zip(actual, expected, strict=True))
    return next(filter(None, texts), "")


def _values(group: Group, device: Any, host: Any) -> Any:
    return group.cases, group.values.run(device), group.values.run(host)


def _batching(group: Group, device: Any, host: Any) -> Any:
    return group.batched.cases, group.batched.run(device), group.run_examples(host)


def _gradients(group: Group, device: Any, host: Any) -> Any:
    return group.gradients.cases, group.gradients.run(device), group.gradients.run(host)


ASPECTS: dict[str, Compare] = {"value": _values, "batching": _batching, "gradient": _gradients}
