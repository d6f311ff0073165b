"""A run: calls performed by both, compared, and what differs in the last places weighed against a wider computation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from . import accuracy
from .building import numpy_array
from .comparing import Answer, Difference, compared, said
from .language import Described, is_array, transformed_call
from .processes import Pair
from .reference_oracles import WITNESSES, Witness, agrees

#: Calls that go to the processes at once.
BATCH = 40
#: A composition may be this far from the reference, in units in the last place, or as far as jax's with some room.
BOUND, ROOM = 4.0, 2.0


#: Said of one operation whose result is right, and no further from the reference than jax's.
NEARER = ", nearer to the reference than jax's"


class Verdict(NamedTuple):
    """One call, and what came of it."""

    call: dict[str, Described]
    ours: Answer
    theirs: Answer
    difference: Difference | None
    #: Who has the same answer as we to another form of the call: the name of a witness.
    witness: str = ""


def judge(pair: Pair, calls: Iterable[dict[str, Described]]) -> Iterator[Verdict]:
    """A verdict on each call, in order."""
    waiting = iter(calls)
    while batch := list(islice(waiting, BATCH)):
        answers = pair.ask(batch)
        first = [
            Verdict(call, ours, theirs, compared(ours, theirs))
            for call, (ours, theirs) in zip(batch, answers, strict=True)
        ]
        yield from _witnessed(pair, _weighed(pair, first))


def _weighed(pair: Pair, verdicts: list[Verdict]) -> list[Verdict]:
    """The same, where those that differ in accuracy alone are settled."""
    open_ = [each for each in verdicts if each.difference and each.difference.kind == "accuracy"]
    if not open_:
        return verdicts
    counts = pair.ask([each.call for each in open_], "equations")
    references = pair.jax.ask([widened(each.call) for each in open_])
    settled = {
        id(each): _settled(each, count, reference)
        for each, count, reference in zip(open_, counts, references, strict=True)
    }
    return [settled.get(id(each), each) for each in verdicts]


def _settled(verdict: Verdict, counts: tuple[Answer, Answer], reference: Answer) -> Verdict:
    single = all(each.get("count", 2) <= 1 for each in counts)
    worst = max(
        _leaves(verdict.ours, verdict.theirs, reference),
        key=lambda pair: (pair[0] > max(BOUND, ROOM * pair[1]), pair[0]),
    )
    mine, other = worst
    if single:
        nearer = NEARER if mine <= min(1.0, other) and "bits" in reference else ""
        text = f"one operation on both sides, and other bits{nearer}"
    elif mine <= max(BOUND, ROOM * other):
        return verdict._replace(difference=None)
    else:
        text = f"{mine:.3g} ulp from the reference; jax's {other:.3g}"
    large = mine > 1e3 and mine > 1e3 * other
    short = f"{text}; {said(verdict.ours)}; jax: {said(verdict.theirs)}; reference: {said(reference)}"
    return verdict._replace(difference=Difference("value" if large else "accuracy", short))


def _leaves(ours: Answer, theirs: Answer, reference: Answer) -> list[tuple[float, float]]:
    """Our error and jax's, for each floating array of a result."""
    if "items" in ours:
        right = reference.get("items", [{}] * len(ours["items"]))
        pairs = zip(ours["items"], theirs["items"], right, strict=False)
        return [leaf for three in pairs for leaf in _leaves(*three)] or [(0.0, 0.0)]
    if "bits" not in ours or not accuracy.is_inexact(ours["dtype"]):
        return [(0.0, 0.0)]
    mine, other = accuracy.contents(ours), accuracy.contents(theirs)
    if "bits" not in reference or reference["shape"] != ours["shape"]:  # without one jax is the reference
        return [(accuracy.errors(mine, other, ours["dtype"]), 0.0)]
    right = accuracy.contents(reference)
    if right.dtype.kind != "c" and mine.dtype.kind == "c":
        right = right.astype("complex128")
    return [(accuracy.errors(mine, right, ours["dtype"]), accuracy.errors(other, right, ours["dtype"]))]


def _witnessed(pair: Pair, verdicts: list[Verdict]) -> list[Verdict]:
    """The same, where those that differ name the first witness that answers as we do."""
    for witness in WITNESSES:
        others = {
            place: other
            for place, each in enumerate(verdicts)
            if _is_open(each, witness) and (other := witness.change(each.call)) is not None
        }
        worker = pair.jax if witness.library == "jax" else pair.numpy
        for place, answer in zip(others, worker.ask(list(others.values())) if others else (), strict=True):
            if agrees(verdicts[place].ours, answer, witness.loose, witness.exact):
                verdicts[place] = verdicts[place]._replace(witness=witness.name)
    return verdicts


def _is_open(verdict: Verdict, witness: Witness) -> bool:
    return not verdict.witness and verdict.difference is not None and verdict.difference.kind in witness.kinds


_WIDE = {"complex64": "complex128"}


def widened(call: dict[str, Described]) -> dict[str, Described]:
    """The same call in 64 bits."""

    def widen(value: Any) -> Any:
        if is_array(value) and accuracy.is_inexact(dtype := value["array"]["dtype"]):
            return {
                "array": {
                    **value["array"],
                    "dtype": _WIDE.get(dtype, "complex128" if dtype.startswith("c") else "float64"),
                    "data": _stored(value["array"]),
                }
            }
        if isinstance(value, str) and value not in ("float", "complex") and accuracy.is_inexact(value):
            return "complex128" if value.startswith("c") else "float64"
        return value

    return {**transformed_call(call, widen), "x64": True}


def _stored(content: dict[str, Any]) -> list[Any]:
    """The entries as their own dtype has rounded them."""
    values = numpy_array(content).reshape(-1)
    if values.dtype.kind == "c":
        return [[float(each.real), float(each.imag)] for each in values]
    return [float(each) for each in values]
