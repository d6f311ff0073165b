"""Values that are wider than anybody meant, sorted for a few of them, or moved without being used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...records import Equation, Finding, Kernel, Measure
from ..figures import percent, plural, seconds, size
from .evidence import Evidence, Level, name_of, parameter
from .rule import COUNT, PROFILER, Stake, is_worth, written_apart

#: Elements from which on an array is no parameter but data.
MANY = 1024
#: A sort of at least so many elements along its axis, of which at most this part is kept.
SORTED, KEPT = 1000, 1 / 8
#: The part of the kernels' time that has to compute something, for copies to be found beside it.
COMPUTING = 0.3

_SMALL_FLOATS = frozenset({"float32", "bfloat16", "float16"})
_COPIES = frozenset({"copy", "transpose", "bitcast", "reshape"})
_MOVED_BY = frozenset({"transpose", "copy", "reshape", "rev", "broadcast_in_dim", "squeeze", "expand_dims"})


def float64(evidence: Evidence) -> Iterator[Finding]:
    """Data in float32 that become float64 because they meet a number of that type."""
    outer = evidence.levels[0]
    given = [outer.jaxpr.variables[name] for name in (*outer.jaxpr.constants, *outer.jaxpr.inputs)]
    data = [each for each in given if "float" in each.dtype and math.prod(each.shape) >= MANY]
    if not data or any(each.dtype not in _SMALL_FLOATS for each in data):
        return
    met = next((found for level in evidence.levels for found in _promotions(level)), None)
    wide = [each.path for level in evidence.levels for each in level.jaxpr.equations if _is_wide(level, each)]
    stake = Stake.of(evidence, wide) if met is not None else None
    if met is None or stake is None:
        return
    level, user, other = met
    what = name_of(level, other, "something" if level.type_of(other) else other.split(":")[0])
    it = "it" if what == "something" else what
    yield stake.finding(
        "float64",
        user,
        f"{plural(len(wide), 'equation')} compute{'s' * (len(wide) == 1)} in float64, though the data come in "
        f"{data[0].dtype}, since they meet {what} in float64: that takes {stake.words}",
        f"make {it} a {data[0].dtype}: jnp.{data[0].dtype}(...), or a Python number, which takes the array's type",
        Measure("equations in float64", len(wide), "", COUNT),
    )


def _promotions(level: Level) -> Iterator[tuple[Level, Equation, str]]:
    """Data that are converted for an operation of the user's line with something of float64, and that."""
    for each in level.jaxpr.equations:
        if each.operation != "convert_element_type" or each.role != "forward" or not _is_wide(level, each):
            continue
        before = level.type_of(each.inputs[0])
        user = level.only_user(each.outputs[0])
        if before is None or before.dtype not in _SMALL_FLOATS or user is None or user.source != each.source:
            continue
        others = [x for x in user.inputs if x != each.outputs[0]]
        if len(others) == 1 and _is_float64(level, others[0]):
            yield level, user, others[0]


def _is_float64(level: Level, name: str) -> bool:
    """Whether an operand is float64 of its own, and was not converted for the operation."""
    variable, made = level.type_of(name), level.made.get(name)
    if variable is None:
        return ":f64[" in name
    return variable.dtype == "float64" and not (made is not None and made.operation == "convert_element_type")


def _is_wide(level: Level, equation: Equation) -> bool:
    """Whether an equation computes data in float64."""
    results = [level.type_of(name) for name in (*equation.outputs, *equation.inputs)]
    return not equation.bodies and any(
        each is not None and each.dtype == "float64" and math.prod(each.shape) >= MANY for each in results
    )


class _End(NamedTuple):
    """So many values of a sorted axis, from one of its ends; alone: only the last of them."""

    few: int
    length: int
    largest: bool
    alone: bool


def sorted_for_few(evidence: Evidence) -> Iterator[Finding]:
    """A whole axis sorted, to keep a few values from its end."""
    for level in evidence.levels:
        for each in level.jaxpr.equations:
            kept = _kept(level, each) if each.operation == "sort" and each.role == "forward" else None
            stake = Stake.of(evidence, (each.path,)) if kept is not None else None
            if kept is not None and stake is not None:
                yield stake.finding(
                    "sorted for few",
                    each,
                    f"{kept.length:,} values are sorted to keep {'one' if kept.alone else f'{kept.few:,}'} of them: "
                    f"sorting takes {stake.words}",
                    _instead(kept, "" if level.users(each.outputs[0]) else "[1]"),
                    Measure("values sorted", kept.length, "", COUNT),
                    Measure("values kept", 1 if kept.alone else kept.few, "", COUNT),
                )


def _instead(end: _End, indices: str) -> str:
    """What to do: XLA makes a sort of ``top_k(...)[0][-1]`` again, so the value that is wanted is a minimum of them."""
    found = f"lax.top_k({'x' if end.largest else '-x'}, {end.few})"
    if not end.alone:
        return f"take these alone: {found}{indices}"
    return f"take those from the end up to it, and of these the last: {'' if end.largest else '-'}{found}[0].min(-1)"


def _kept(level: Level, sort: Equation) -> _End | None:
    """What is kept of a sorted axis, if that is a few values from one end, or one of these."""
    counter = level.made.get(sort.inputs[-1])
    if len(sort.inputs) > 2 or (len(sort.inputs) == 2 and (counter is None or counter.operation != "iota")):
        return None
    axis = int(parameter(sort, "dimension") or 0)
    kept: list[_End] = []
    for name in sort.outputs:
        if not level.users(name) and name not in level.jaxpr.outputs:
            continue
        found = _end(level, name, axis)
        user = level.only_user(name)
        if found is None or user is None or not written_apart(sort, user) or (found.alone and len(sort.inputs) > 1):
            return None
        kept.append(found)
    return kept[0] if kept and all(each == kept[0] for each in kept) else None


def _end(level: Level, name: str, axis: int) -> _End | None:
    """What is kept of an axis of a sorted value; None for all that is not near one of its ends."""
    user, whole, turned = level.only_user(name), level.type_of(name), False
    while user is not None and user.operation == "rev" and parameter(user, "dimensions") == f"({axis},)":
        user, turned = level.only_user(user.outputs[0]), not turned
    if user is None or user.operation != "slice" or whole is None or parameter(user, "strides") not in ("", "None"):
        return None
    part = level.type_of(user.outputs[0])
    starts = _numbers(user, "start_indices")
    if part is None or len(starts) != len(whole.shape):
        return None
    length, few, start = whole.shape[axis], part.shape[axis], starts[axis]
    at_end = start + few == length if few > 1 else 2 * start >= length
    alone = few == 1 and start not in (0, length - 1)
    if alone:
        few = length - start if at_end else start + 1
    if length < SORTED or few > KEPT * length or not (alone or at_end or start == 0) or few < 1:
        return None
    return _End(few, length, at_end != turned, alone)


def _numbers(equation: Equation, name: str) -> list[int]:
    """A parameter that is a tuple of numbers; its text has spaces in it."""
    _, _, rest = equation.parameters.partition(f"{name}=(")
    numbers = rest.partition(")")[0].split(",")
    return [int(each) for each in numbers if each.strip().isdigit()]


def copies(evidence: Evidence) -> Iterator[Finding]:
    """Kernels that write down in another order what other kernels read: no number is computed in them."""
    if evidence.account is None or evidence.account.whole is None:
        return
    told = [
        (each, evidence.kernels[each.kernel])
        for each in evidence.account.whole.kernels
        if each.kernel in evidence.kernels
    ]
    moving = [(call, kernel) for call, kernel in told if _only_moves(evidence, kernel)]
    taken = sum(call.seconds for call, _ in moving)
    share = evidence.share_of(taken)
    if not moving or share > 1 - COMPUTING or not is_worth(evidence, taken):
        return
    call, longest = moving[0]
    readers = [kernel for kernel in evidence.kernels.values() if any(x.kernel == longest.name for x in kernel.reads)]
    paths = (*longest.equations, *longest.moves, *(path for kernel in readers for path in kernel.equations))
    known = [path for path in paths if path in evidence.equations]
    equation = evidence.equations[known[0]] if known else None
    if equation is None or equation.role != "forward":  # the order of what differentiation makes is not the user's
        return
    moved = sum(kernel.bytes_read + kernel.bytes_written for _, kernel in moving)
    yield Finding(
        "copies",
        f"{percent(share)} of the kernels' time ({seconds(taken)} a call) only writes arrays in another order: "
        f"{plural(len(moving), 'kernel')}, {size(moved)} read and written; the longest writes {longest.type_text} "
        f"for {equation.operation}",
        "keep the array in the order in which it is used: transpose it once, before the step, or name its axes in the "
        "product (jnp.einsum) instead of transposing",
        share,
        taken,
        equation.source,
        call.kernel,
        equation.path,
        (
            Measure("time of copies per call", taken, "s", PROFILER),
            Measure("part of the kernels' time", share, "", PROFILER),
            Measure("bytes moved per run", moved, "B", COUNT),
        ),
    )


def _only_moves(evidence: Evidence, kernel: Kernel) -> bool:
    """Whether a kernel computes nothing: by its operation, or by what XLA calls it and the equations in it."""
    if kernel.kind == "call" or abs(kernel.bytes_read - kernel.bytes_written) > 0.01 * kernel.bytes_written:
        return False
    by = {evidence.equations[path].operation for path in kernel.equations if path in evidence.equations}
    words = {word for word in kernel.name.partition(".")[0].split("_") if word not in ("fusion", "wrapped")}
    return by <= _MOVED_BY and (
        kernel.opcode in _COPIES or (bool(words) and words <= _COPIES and kernel.instructions <= 4)
    )
