"""Rules about values: unintended float64, whole sorts for few results, and copies without computation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...records import Equation, Finding, Kernel, Measure
from ..formatting import percent, plural, seconds, size
from .evidence import Evidence, Level, name_of, parameter
from .rule import COUNT, ESTIMATE, PROFILER, CallCost, are_written_separately, is_significant

#: Minimum number of elements of an array that counts as data, not as a parameter.
MIN_DATA_ELEMENTS = 1024
#: Minimum number of sorted elements along the axis, and maximum fraction of them that is used.
MIN_SORTED_ELEMENTS, MAX_KEPT_FRACTION = 1000, 1 / 8
#: Minimum fraction of the kernels' time that computes something, for a finding about copies.
MIN_COMPUTING_SHARE = 0.3

_SMALL_FLOATS = frozenset({"float32", "bfloat16", "float16"})
_COPY_OPCODES = frozenset({"copy", "transpose", "bitcast", "reshape"})
_MOVE_OPERATIONS = frozenset({"transpose", "copy", "reshape", "rev", "broadcast_in_dim", "squeeze", "expand_dims"})


def find_float64_promotions(evidence: Evidence) -> Iterator[Finding]:
    """Find float32 data that become float64 because they meet a number of that type."""
    outer = evidence.levels[0]
    inputs = [outer.jaxpr.variables[name] for name in (*outer.jaxpr.constants, *outer.jaxpr.inputs)]
    data = [item for item in inputs if "float" in item.dtype and math.prod(item.shape) >= MIN_DATA_ELEMENTS]
    if not data or any(item.dtype not in _SMALL_FLOATS for item in data):
        return
    first_promotion = next((promotion for level in evidence.levels for promotion in _iter_promotions(level)), None)
    wide = [item.path for level in evidence.levels for item in level.jaxpr.equations if _computes_float64(level, item)]
    cost = CallCost.of(evidence, wide) if first_promotion is not None else None
    if first_promotion is None or cost is None:
        return
    level, user, operand = first_promotion
    operand_name = name_of(level, operand, "something" if level.type_of(operand) else operand.split(":")[0])
    pronoun = "it" if operand_name == "something" else operand_name
    yield cost.make_finding(
        "float64",
        user,
        f"{plural(len(wide), 'equation')} compute{'s' * (len(wide) == 1)} in float64, though the data come in "
        f"{data[0].dtype}, since they meet {operand_name} in float64: that takes {cost.words}",
        f"make {pronoun} a {data[0].dtype}: jnp.{data[0].dtype}(...), or a Python number, which takes the array's type",
        Measure("equations in float64", len(wide), "", COUNT),
    )


def _iter_promotions(level: Level) -> Iterator[tuple[Level, Equation, str]]:
    """Yield (level, operation, operand): operations for which float32 data are converted because an operand is float64.

    The conversion and the operation are on one line, and the operand was not converted itself.
    """
    for equation in level.jaxpr.equations:
        if (
            equation.operation != "convert_element_type"
            or equation.role != "forward"
            or not _computes_float64(level, equation)
        ):
            continue
        before = level.type_of(equation.inputs[0])
        user = level.only_user(equation.outputs[0])
        if before is None or before.dtype not in _SMALL_FLOATS or user is None or user.source != equation.source:
            continue
        operands = [x for x in user.inputs if x != equation.outputs[0]]
        if len(operands) == 1 and _is_native_float64(level, operands[0]):
            yield level, user, operands[0]


def _is_native_float64(level: Level, name: str) -> bool:
    """Return whether an operand was float64 from the start and not converted for the operation.

    ``name`` is its variable or its literal.
    """
    variable, producer = level.type_of(name), level.producers.get(name)
    if variable is None:
        return ":f64[" in name
    return variable.dtype == "float64" and not (producer is not None and producer.operation == "convert_element_type")


def _computes_float64(level: Level, equation: Equation) -> bool:
    """Return whether an equation has large float64 arrays among its results and operands."""
    results = [level.type_of(name) for name in (*equation.outputs, *equation.inputs)]
    return not equation.bodies and any(
        variable is not None and variable.dtype == "float64" and math.prod(variable.shape) >= MIN_DATA_ELEMENTS
        for variable in results
    )


class _SortedEnd(NamedTuple):
    """End of a sorted axis that is used: ``few`` of ``length`` values, the largest or the smallest.

    ``alone`` means that only the last of these few is used.
    """

    few: int
    length: int
    largest: bool
    alone: bool


def find_partial_sorts(evidence: Evidence) -> Iterator[Finding]:
    """Find sorts of a whole axis of which only a few values at one end are used."""
    for level in evidence.levels:
        for sort in level.jaxpr.equations:
            end = _find_used_end(level, sort) if sort.operation == "sort" and sort.role == "forward" else None
            cost = CallCost.of(evidence, (sort.path,)) if end is not None else None
            if end is not None and cost is not None:
                yield cost.make_finding(
                    "sorted for few",
                    sort,
                    f"{end.length:,} values are sorted to keep {'one' if end.alone else f'{end.few:,}'} of them: "
                    f"sorting takes {cost.words}",
                    _suggest_top_k(end, "" if level.users(sort.outputs[0]) else "[1]"),
                    Measure("values sorted", end.length, "", COUNT),
                    Measure("values kept", 1 if end.alone else end.few, "", COUNT),
                )


def _suggest_top_k(end: _SortedEnd, indices: str) -> str:
    """Return the suggested action; ``indices`` is ``[1]`` if the indices of the sort are used, ``""`` for its values.

    XLA turns ``top_k(...)[0][-1]`` back into a sort, so a single value is selected by a minimum.
    """
    call = f"lax.top_k({'x' if end.largest else '-x'}, {end.few})"
    if not end.alone:
        return f"take these alone: {call}{indices}"
    return f"take those from the end up to it, and of these the last: {'' if end.largest else '-'}{call}[0].min(-1)"


def _find_used_end(level: Level, sort: Equation) -> _SortedEnd | None:
    """Return the end of a sorted axis that is used, or None if more than one end of it is used."""
    counter = level.producers.get(sort.inputs[-1])
    if len(sort.inputs) > 2 or (len(sort.inputs) == 2 and (counter is None or counter.operation != "iota")):
        return None
    axis = int(parameter(sort, "dimension") or 0)
    ends: list[_SortedEnd] = []
    for name in sort.outputs:
        if not level.users(name) and name not in level.jaxpr.outputs:
            continue
        end = _parse_used_end(level, name, axis)
        user = level.only_user(name)
        if (
            end is None
            or user is None
            or not are_written_separately(sort, user)
            or (end.alone and len(sort.inputs) > 1)
        ):
            return None
        ends.append(end)
    return ends[0] if ends and all(item == ends[0] for item in ends) else None


def _parse_used_end(level: Level, name: str, axis: int) -> _SortedEnd | None:
    """Return the end of the axis of a sorted value that its only user slices, or None.

    ``name`` is the variable of the sorted value.
    """
    user, sorted_type, is_reversed = level.only_user(name), level.type_of(name), False
    while user is not None and user.operation == "rev" and parameter(user, "dimensions") == f"({axis},)":
        user, is_reversed = level.only_user(user.outputs[0]), not is_reversed
    if (
        user is None
        or user.operation != "slice"
        or sorted_type is None
        or parameter(user, "strides") not in ("", "None")
    ):
        return None
    part = level.type_of(user.outputs[0])
    starts = _parse_int_tuple(user, "start_indices")
    if part is None or len(starts) != len(sorted_type.shape):
        return None
    length, few, start = sorted_type.shape[axis], part.shape[axis], starts[axis]
    at_end = start + few == length if few > 1 else 2 * start >= length
    alone = few == 1 and start not in (0, length - 1)
    if alone:
        few = length - start if at_end else start + 1
    if (
        length < MIN_SORTED_ELEMENTS
        or few > MAX_KEPT_FRACTION * length
        or not (alone or at_end or start == 0)
        or few < 1
    ):
        return None
    return _SortedEnd(few, length, at_end != is_reversed, alone)


def _parse_int_tuple(equation: Equation, name: str) -> list[int]:
    """Return a parameter of an equation that is a tuple of integers as a list; empty if there is none."""
    _, _, tail = equation.parameters.partition(f"{name}=(")
    numbers = tail.partition(")")[0].split(",")
    return [int(number) for number in numbers if number.strip().isdigit()]


def find_copies(evidence: Evidence) -> Iterator[Finding]:
    """Find kernels that only write data in another order for other kernels."""
    if evidence.account is None or evidence.account.mean is None:
        return
    kernel_calls = [
        (kernel_call, evidence.kernels[kernel_call.kernel])
        for kernel_call in evidence.account.mean.kernels
        if kernel_call.kernel in evidence.kernels
    ]
    copying = [(call, kernel) for call, kernel in kernel_calls if _is_copy_kernel(evidence, kernel)]
    copy_seconds = sum(call.seconds for call, _ in copying)
    share = evidence.share_of(copy_seconds)
    if not copying or share > 1 - MIN_COMPUTING_SHARE or not is_significant(evidence, copy_seconds):
        return
    call, longest = copying[0]
    readers = [kernel for kernel in evidence.kernels.values() if any(x.kernel == longest.name for x in kernel.reads)]
    paths = (*longest.equations, *longest.moves, *(path for kernel in readers for path in kernel.equations))
    matched_paths = [path for path in paths if path in evidence.equations]
    equation = evidence.equations[matched_paths[0]] if matched_paths else None
    if equation is None or equation.role != "forward":  # the user does not control the order of derived equations
        return
    nbytes = sum(kernel.bytes_read + kernel.bytes_written for _, kernel in copying)
    yield Finding(
        "copies",
        f"{percent(share)} of the kernels' time ({seconds(copy_seconds)} a call) only writes arrays in another order: "
        f"{plural(len(copying), 'kernel')}, {size(nbytes)} read and written; the longest writes {longest.type_text} "
        f"for {equation.operation}",
        "keep the array in the order in which it is used: transpose it once, before the step, or name its axes in the "
        "product (jnp.einsum) instead of transposing",
        share,
        copy_seconds,
        equation.source,
        call.kernel,
        equation.path,
        (
            Measure("time of copies per call", copy_seconds, "s", PROFILER),
            Measure("part of the kernels' time", share, "", PROFILER),
            Measure("bytes moved per run", nbytes, "B", ESTIMATE),
        ),
    )


def _is_copy_kernel(evidence: Evidence, kernel: Kernel) -> bool:
    """Return whether a kernel computes nothing, by its opcode, or by its name and equations."""
    if kernel.kind == "call" or abs(kernel.bytes_read - kernel.bytes_written) > 0.01 * kernel.bytes_written:
        return False
    operations = {evidence.equations[path].operation for path in kernel.equations if path in evidence.equations}
    words = {word for word in kernel.name.partition(".")[0].split("_") if word not in ("fusion", "wrapped")}
    return operations <= _MOVE_OPERATIONS and (
        kernel.opcode in _COPY_OPCODES or (bool(words) and words <= _COPY_OPCODES and kernel.instructions <= 4)
    )
