"""The part ``operations``: values, batching and gradients of the table's rows, twenty to a program.

The reference is the CPU in the same process, where each example of a batch is computed by itself, and NumPy where a row
names its function. Rows of a program that fails are tried one by one.
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

#: Gradients are allowed so many times the error of values.
GRADIENT_FACTOR = 10.0
#: Failures that one item reports in words.
MAX_NAMED = 8

#: Runs an aspect of a group on the device, and what it has to give on the host: one outcome for each of its cases.
Compare = Callable[[Group, Any, Any], tuple[Sequence[Case], Sequence[Outcome], Sequence[Outcome]]]


class Failure(NamedTuple):
    """A row that differs, or raises."""

    row: str
    what: str
    dtype: str
    error: str


def items(context: Context) -> Iterator[Item]:
    """Yield an item for each program, first all of values; and for each row of one that took its process down."""
    groups = [Group(cases) for cases in programs()]
    for aspect in ASPECTS:
        for number, group in enumerate(groups):
            first = number * CASES_IN_PROGRAM + 1
            name = f"{aspect} {first}-{first + len(group.cases) - 1}"
            yield Item(name, functools.partial(try_group, aspect, group, context))
            if name in context.crashed:
                for case in group.cases:
                    alone = functools.partial(try_group, aspect, Group([case]), context)
                    yield Item(f"{aspect} of {case.name}", alone)


def try_group(aspect: str, group: Group, context: Context) -> dict[str, Any]:
    """Compare an aspect of some rows, and return how many agree and which do not."""
    with default_matmul_precision("highest"):
        cases, results, expected = ASPECTS[aspect](group, context.device, context.host)
    factor = GRADIENT_FACTOR if aspect == "gradient" else 1.0
    failures = [*compare(aspect, cases, results, expected, factor)]
    if aspect == "value":
        named = [number for number, case in enumerate(cases) if case.oracle is not None]
        of_numpy = [run_oracle(cases[number]) for number in named]
        failures += compare("NumPy", [cases[n] for n in named], [expected[n] for n in named], of_numpy)
    shown = [f"{each.row} ({each.what}): {each.error}" for each in failures[:MAX_NAMED]]
    agree = len(cases) - len({each.row for each in failures})
    return {
        "result": FAILS if failures else WORKS,
        "words": "; ".join([f"{agree} of {len(cases)} agree", *shown]),
        "tried": len(cases),
        "agree": agree,
        "failures": [each._asdict() for each in failures],
    }


def compare(
    what: str,
    cases: Sequence[Case],
    results: Sequence[Outcome],
    expected: Sequence[Outcome],
    factor: float = 1.0,
) -> Iterator[Failure]:
    """Yield the cases that raised, here or in the reference, or whose results differ from it."""
    for case, found, reference in zip(cases, results, expected, strict=True):
        if isinstance(found, Exception):
            yield _failure(case, what, found)
        elif isinstance(reference, Exception):
            yield _failure(case, f"{what}, reference", reference)
        elif text := _first_difference(found, reference, factor * case.tolerance):
            yield Failure(case.name, what, case.dtype, text)


def run_oracle(case: Case) -> Outcome:
    """Return what NumPy's function gives in double precision."""
    assert case.oracle is not None
    wide = {"f": np.float64, "V": np.float64, "c": np.complex128}
    operands = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in case.make()]
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(case.oracle(*operands))]
    except Exception as error:
        return error


def _failure(case: Case, what: str, error: Exception) -> Failure:
    first = (str(error).strip() or "no message").splitlines()[0][:300]
    return Failure(case.name, what, case.dtype, f"{type(error).__name__}: {first}")


def _first_difference(found: Numbers, expected: Numbers, tolerance: float) -> str:
    texts = (describe_difference(x, y, tolerance) for x, y in zip(found, expected, strict=True))
    return next(filter(None, texts), "")


def _values(group: Group, device: Any, host: Any) -> Any:
    return group.cases, group.values.run(device), group.values.run(host)


def _batching(group: Group, device: Any, host: Any) -> Any:
    return group.batched.cases, group.batched.run(device), group.run_examples(host)


def _gradients(group: Group, device: Any, host: Any) -> Any:
    return group.gradients.cases, group.gradients.run(device), group.gradients.run(host)


ASPECTS: dict[str, Compare] = {"value": _values, "batching": _batching, "gradient": _gradients}
