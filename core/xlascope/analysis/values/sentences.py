"""Sentences about births: what an operation was given that its result is NaN or infinite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes

from ...records import Equation, ProbedValue, ValueStatistics


@dataclass(frozen=True)
class BirthCase:
    """Equation whose result of type ``dtype`` turned bad, with its operands by number, with statistics of that moment.

    ``derivative_of`` is the operation whose derivative the equation computes, ``""`` for none.
    """

    equation: Equation
    kind: str
    operands: dict[int, ProbedValue]
    literals: dict[int, float]
    dtype: str
    derivative_of: str = ""

    def statistics(self, index: int) -> ValueStatistics | None:
        """Return the statistics of an operand; None for a literal, or where they are not known."""
        operand = self.operands.get(index)
        return None if operand is None else operand.statistics

    def count(self, index: int, what: str) -> int:
        """Return how many elements of an operand are ``zeros``, ``negatives``, ``nans`` or ``infs``."""
        statistics = self.statistics(index)
        if statistics is not None:
            return int(getattr(statistics, what))
        value = self.literals.get(index)
        return 0 if value is None else int(_LITERAL_TESTS[what](value))


_LITERAL_TESTS: dict[str, Callable[[float], bool]] = {
    "zeros": lambda x: x == 0,
    "negatives": lambda x: x < 0,
    "nans": lambda x: x != x,
    "infs": lambda x: x in (float("inf"), float("-inf")),
}


def birth_sentence(case: BirthCase) -> str:
    """Return what happened, such as ``log of 0: 3 of 512 elements are 0``."""
    describe = _DESCRIPTIONS.get(case.equation.operation)
    specific = describe(case) if describe is not None else ""
    sentence = specific or _infinite_operands(case) or _overflow(case)
    return f"{sentence}, in the derivative of {case.derivative_of}" if case.derivative_of else sentence


def _share(case: BirthCase, index: int, what: str, words: str) -> str:
    """Return ``3 of 512 elements are 0`` for an operand; ``""`` if none are."""
    count, statistics = case.count(index, what), case.statistics(index)
    if not count:
        return ""
    if statistics is None or statistics.elements == 1:
        return f"it is {words}"
    return f"{count:,} of {statistics.elements:,} elements {'is' if count == 1 else 'are'} {words}"


def _zero_or_negative(case: BirthCase) -> str:
    name = case.equation.operation
    zeros, negatives = _share(case, 0, "zeros", "0"), _share(case, 0, "negatives", "negative")
    if case.kind == "inf":
        return f"{name} of 0: {zeros}" if zeros else ""
    return f"{name} of negative numbers: {negatives}" if negatives else ""


def _division(case: BirthCase) -> str:
    zeros = _share(case, 1, "zeros", "0")
    divided_by = "the divisor: "
    if case.kind == "nan" and case.count(0, "infs") and case.count(1, "infs"):
        return f"inf / inf: {_share(case, 1, 'infs', 'infinite')} in the divisor"
    if not zeros:
        return ""
    is_both = case.kind == "nan" and case.count(0, "zeros")
    return f"{'0 / 0' if is_both else 'division by 0'}, {divided_by}{zeros}"


def _product(case: BirthCase) -> str:
    if case.kind != "nan":
        return ""
    for first, second in ((0, 1), (1, 0)):
        if case.count(first, "zeros") and case.count(second, "infs"):
            return f"0 · inf: {_share(case, second, 'infs', 'infinite')}"
    return _overflowing_products(case)


def _overflowing_products(case: BirthCase) -> str:
    """Return that products overflowed on both sides of 0 before they were added; ``""`` unless they can have."""
    reaches = [_reach(case.statistics(index)) for index in (0, 1)]
    largest = _largest_number(case.dtype)
    if case.equation.operation == "mul" or None in reaches or largest is None:
        return ""
    first, second = (reach or 0.0 for reach in reaches)
    size = max(reached.elements for reached in map(case.statistics, (0, 1)) if reached is not None)
    if any(case.count(index, "infs") for index in (0, 1)) or first * second * size < largest:
        return ""
    return (
        f"{case.equation.operation} exceeds {_largest_words(case.dtype)}, up and down: inf - inf "
        f"(its operands reach {first:.4g} and {second:.4g})"
    )


def _reach(statistics: ValueStatistics | None) -> float | None:
    """Return the largest magnitude of finite elements."""
    if statistics is None or statistics.minimum is None or statistics.maximum is None:
        return None
    return max(abs(statistics.minimum), abs(statistics.maximum))


def _difference(case: BirthCase) -> str:
    if case.kind == "nan" and case.count(0, "infs") and case.count(1, "infs"):
        return f"inf - inf: {_share(case, 0, 'infs', 'infinite')}"
    return ""


def _exponential(case: BirthCase) -> str:
    statistics = case.statistics(0)
    if case.kind != "inf" or statistics is None or statistics.maximum is None:
        return ""
    return f"{case.equation.operation} of {statistics.maximum:.4g} exceeds {_largest_words(case.dtype)}"


def _conversion(case: BirthCase) -> str:
    reach, limit = _reach(case.statistics(0)), _largest_number(case.dtype)
    if reach is None or (case.kind == "nan" and (limit is None or reach <= limit)):  # some float8 have no infinity
        return ""
    return f"{case.operands[0].dtype} to {case.dtype}: {reach:.4g} exceeds {_largest_words(case.dtype)}"


def _integer_power(case: BirthCase) -> str:
    is_inverse = any(part.startswith("y=-") for part in case.equation.parameters.split())
    zeros = _share(case, 0, "zeros", "0")
    return f"negative power of 0: {zeros}" if is_inverse and zeros and case.kind == "inf" else ""


def _power(case: BirthCase) -> str:
    zeros, negatives = _share(case, 0, "zeros", "0"), _share(case, 0, "negatives", "negative")
    if case.kind == "nan":
        return f"pow of negative numbers: {negatives}" if negatives else ""
    return f"negative power of 0: {zeros}" if zeros and case.count(1, "negatives") else ""


def _beyond_one(case: BirthCase) -> str:
    statistics = case.statistics(0)
    if statistics is None or statistics.minimum is None or statistics.maximum is None:
        return ""
    worst = max(statistics.minimum, statistics.maximum, key=abs)
    return f"{case.equation.operation} of {worst:.6g}, outside of -1 to 1" if abs(worst) >= 1 else ""


def _log1p(case: BirthCase) -> str:
    statistics = case.statistics(0)
    if statistics is None or statistics.minimum is None or statistics.minimum > -1:
        return ""
    return f"log1p of {statistics.minimum:.6g}, which is {'-1' if statistics.minimum == -1 else 'less than -1'}"


def _decomposition(case: BirthCase) -> str:
    return "cholesky of a matrix that is not positive definite" if case.kind == "nan" else ""


def _fetch(case: BirthCase) -> str:
    return "an index is out of bounds, where gather fills with NaN" if case.kind == "nan" else ""


def _infinite_operands(case: BirthCase) -> str:
    if case.kind != "nan":
        return ""
    for index in case.operands:
        infinite = _share(case, index, "infs", "infinite")
        if infinite:
            return f"{case.equation.operation} of infinite operands: {infinite}"
    return f"{case.equation.operation} gives NaN for finite operands"


def _overflow(case: BirthCase) -> str:
    if case.equation.operation in _OPAQUE_OPERATIONS:
        return f"{case.equation.operation} gives infinity for finite operands"
    reaches = [_reach(operand.statistics) for operand in case.operands.values()]
    magnitudes = [reach for reach in reaches if reach is not None]
    reach = f" (its operands reach {max(magnitudes):.4g})" if magnitudes else ""
    return f"{case.equation.operation} exceeds {_largest_words(case.dtype)}{reach}"


def _largest_words(dtype: str) -> str:
    largest = _largest_number(dtype)
    return f"the largest {_part_dtype(dtype)}" + ("" if largest is None else f", {largest:.5g}")


def _part_dtype(dtype: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def _largest_number(dtype: str) -> float | None:
    """Return the largest finite number of a dtype, of complex ones of a part; None if it is no dtype of floats."""
    try:
        limits: Any = ml_dtypes.finfo(_part_dtype(dtype))  # type: ignore[no-untyped-call]
        return float(limits.max)
    except (TypeError, ValueError):
        return None


#: Operations that compute something inside which is not looked at, so that nothing is known but their results.
_OPAQUE_OPERATIONS = frozenset(
    {"composite", "custom_call", "custom_linear_solve", "custom_vmap_call", "ffi_call", "io_callback", "pallas_call"}
    | {"pure_callback", "reduce", "reduce_window", "run_scoped", "run_state", "shard_map"}
)
_DESCRIPTIONS: dict[str, Callable[[BirthCase], str]] = {
    **dict.fromkeys(("log", "sqrt", "rsqrt", "cbrt", "log2"), _zero_or_negative),
    **dict.fromkeys(("div", "rem"), _division),
    **dict.fromkeys(("mul", "dot_general", "conv_general_dilated"), _product),
    **dict.fromkeys(("sub", "add", "add_any", "reduce_sum", "cumsum"), _difference),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh"), _exponential),
    **dict.fromkeys(("asin", "acos", "atanh", "erf_inv"), _beyond_one),
    "convert_element_type": _conversion,
    "integer_pow": _integer_power,
    "pow": _power,
    "log1p": _log1p,
    "cholesky": _decomposition,
    "gather": _fetch,
}
