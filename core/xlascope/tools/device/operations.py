"""The part ``operations``: values, gradients and batching of the table's rows, twenty to a program.

The reference is the CPU in the same process, where each row is computed by itself for each example, and NumPy where a
row names its function. What a program of twenty cannot do is tried row by row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...api import device_put, grad, jit, vmap
from ...settings import default_matmul_precision
from ...tree_util import tree_leaves
from .context import Context
from .programs.journal import FAILS, WORKS, Item
from .rows.row import Case
from .rows.table import CASES_IN_PROGRAM, programs

#: Examples in a batch.
EXAMPLES = 3
#: Gradients are allowed so many times the error of values.
GRADIENT_FACTOR = 10.0
#: Failures that one item reports in words.
MAX_NAMED = 8

Numbers = list[np.ndarray[Any, Any]]


def items(context: Context) -> Iterator[Item]:
    """Yield an item for each program, first all of values; and for each row of one that took its process down."""
    for what, compare in (("value", _values), ("batching", _batches), ("gradient", _gradients)):
        for number, cases in enumerate(programs()):
            first = number * CASES_IN_PROGRAM + 1
            name = f"{what} {first}-{first + len(cases) - 1}"
            yield Item(name, functools.partial(_try, compare, cases, context))
            if name in context.crashed:
                for case in cases:
                    yield Item(f"{what} of {case.name}", functools.partial(_try, compare, [case], context))


def _try(compare: Callable[..., int], cases: Sequence[Case], context: Context) -> dict[str, Any]:
    failures: list[dict[str, str]] = []
    with default_matmul_precision("highest"):
        tried = compare(cases, context, failures)
    named = [f"{each['row']} ({each['what']}): {each['error']}" for each in failures[:MAX_NAMED]]
    failed = len({each["row"] for each in failures})
    return {
        "result": FAILS if failures else WORKS,
        "words": "; ".join([f"{tried - failed} of {tried} agree", *named]),
        "tried": tried,
        "agree": tried - failed,
        "failures": failures,
    }


def _values(cases: Sequence[Case], context: Context, failures: list[dict[str, str]]) -> int:
    """Compare values with the CPU's, which those of rows that name NumPy's function are compared with."""
    _compare("value", cases, lambda case: case.function, lambda case: case.make(), context, failures)
    for case in cases:
        if case.oracle is not None:
            run = functools.partial(_run, case.function, case.make(), context.host)
            found = _attempt(run, "NumPy", case, failures)
            if found is not None:
                _check("NumPy", case, found, _reference_of_numpy(case), case.tolerance, failures)
    return len(cases)


def _gradients(cases: Sequence[Case], context: Context, failures: list[dict[str, str]]) -> int:
    smooth = [case for case in cases if case.derive and _inexact(case)]
    if smooth:
        _compare("gradient", smooth, _gradient, lambda case: case.make(), context, failures)
    return len(smooth)


def _batches(cases: Sequence[Case], context: Context, failures: list[dict[str, str]]) -> int:
    mapped = [case for case in cases if case.batch]
    if mapped:
        _compare("batching", mapped, lambda case: vmap(case.function), _stacked, context, failures, _one_by_one)
    return len(mapped)


def _one_by_one(case: Case, host: Any) -> Numbers:
    """Return the results of each example by itself, stacked."""
    alone = [_run(case.function, case.make(example), host) for example in range(EXAMPLES)]
    return [np.stack(each) for each in zip(*alone, strict=True)]


def _compare(
    what: str,
    cases: Sequence[Case],
    function: Callable[[Case], Callable[..., Any]],
    operands: Callable[[Case], Numbers],
    context: Context,
    failures: list[dict[str, str]],
    reference: Callable[[Case, Any], Numbers] | None = None,
) -> None:
    """Compare what all cases give in one program on the device with the reference on the CPU."""
    functions, given = [function(case) for case in cases], [operands(case) for case in cases]
    try:
        everything = jit(lambda given: [tree_leaves(f(*each)) for f, each in zip(functions, given, strict=True)])
        results = [list(map(np.asarray, each)) for each in everything(device_put(given, context.device))]
    except Exception:
        results = [
            _attempt(functools.partial(_run, f, each, context.device), what, case, failures)
            for case, f, each in zip(cases, functions, given, strict=True)
        ]
    for case, f, each, found in zip(cases, functions, given, results, strict=True):
        if found is None:
            continue
        expect = (
            functools.partial(_run, f, each, context.host)
            if reference is None
            else functools.partial(reference, case, context.host)
        )
        expected = _attempt(expect, f"{what} on the CPU", case, failures)
        if expected is not None:
            factor = GRADIENT_FACTOR if what == "gradient" else 1.0
            _check(what, case, found, expected, factor * case.tolerance, failures)


def _attempt(call: Callable[[], Numbers], what: str, case: Case, failures: list[dict[str, str]]) -> Numbers | None:
    """Return what the call gives, or None after noting its error."""
    try:
        return call()
    except Exception as error:
        first = (str(error).strip() or "no message").splitlines()[0][:300]
        failures.append(
            {"row": case.name, "what": what, "dtype": case.dtype, "error": f"{type(error).__name__}: {first}"}
        )
        return None


def _check(
    what: str, case: Case, found: Numbers, expected: Numbers, tolerance: float, failures: list[dict[str, str]]
) -> None:
    error = next((text for x, y in zip(found, expected, strict=True) if (text := difference(x, y, tolerance))), "")
    if error:
        failures.append({"row": case.name, "what": what, "dtype": case.dtype, "error": error})


def difference(found: Any, expected: Any, tolerance: float) -> str:
    """Say how two arrays differ by more than the tolerance; the empty string where they do not.

    >>> difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 1e-3)
    'off by 0.5 in numbers up to 2.5'
    """
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if not found.size:
        return ""
    wide = np.complex128 if "c" in (found.dtype.kind, expected.dtype.kind) else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.isfinite(expected)
    with np.errstate(invalid="ignore"):
        if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
            return "other infinities or NaNs"
        off = np.max(np.abs(found - expected)[finite], initial=0.0)
    scale = np.max(np.abs(expected[finite]), initial=1.0)
    return "" if off <= tolerance * scale else f"off by {off:.3g} in numbers up to {scale:.3g}"


def _run(function: Callable[..., Any], operands: Numbers, device: Any) -> Numbers:
    return [np.asarray(leaf) for leaf in tree_leaves(jit(function)(*device_put(operands, device)))]


def _reference_of_numpy(case: Case) -> Numbers:
    wide = {"f": np.float64, "V": np.float64, "c": np.complex128}
    operands = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in case.make()]
    with np.errstate(all="ignore"):
        assert case.oracle is not None
        return [np.asarray(case.oracle(*operands))]


def _stacked(case: Case) -> Numbers:
    return [np.stack(each) for each in zip(*(case.make(example) for example in range(EXAMPLES)), strict=True)]


def _inexact(case: Case) -> list[int]:
    """Return the numbers of the operands that have a gradient."""
    return [number for number, x in enumerate(case.make()) if x.dtype.kind in "fc"]


def _gradient(case: Case) -> Callable[..., Any]:
    """Return the gradient of a weighted sum of all inexact results."""

    def total(*operands: Any) -> Any:
        leaves = [leaf for leaf in tree_leaves(case.function(*operands)) if leaf.dtype.kind in "fc"]
        return sum(
            ((leaf * np.cos(np.arange(leaf.size, dtype=np.float32)).reshape(leaf.shape)).real.sum()) for leaf in leaves
        )

    return grad(total, argnums=tuple(_inexact(case)))
