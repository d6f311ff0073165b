"""A difference in its smallest form: the call made plainer step by step, as long as it differs in the same way."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from . import source
from .judging import Verdict, judge
from .language import Described, is_array
from .processes import Pair

#: Plainer forms that are tried in a round, the shortest first.
MOST = 24
#: Rounds after which a form is small enough.
ROUNDS = 12


def shrunk(pair: Pair, verdict: Verdict) -> Verdict:
    """The same difference (kind, and for errors class and place) of the plainest call found."""
    for _ in range(ROUNDS):
        simpler = sorted(candidates(verdict.call), key=_size)[:MOST]
        better = next((each for each in judge(pair, simpler) if same(each, verdict)), None)
        if better is None:
            return verdict
        verdict = better
    return verdict


def same(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts differ in the same way."""
    if one.difference is None or other.difference is None or one.difference.kind != other.difference.kind:
        return False
    ours = (
        "error" not in other.ours
        or one.ours.get("place") == other.ours["place"]
        or one.ours["message"][:40] == other.ours["message"][:40]
    )
    return ours and one.theirs.get("error") == other.theirs.get("error")


def _size(call: dict[str, Described]) -> tuple[int, int]:
    return len(source.line(call)), len(json.dumps(call))


def candidates(call: dict[str, Described]) -> Iterator[dict[str, Described]]:
    """Calls that are one step plainer."""
    for name in call["kwargs"]:
        yield {**call, "kwargs": {key: value for key, value in call["kwargs"].items() if key != name}}
    if len(call["args"]) > 1:
        yield {**call, "args": call["args"][:-1]}
    if call["how"] == "jit":
        yield {**call, "how": "eager"}
    if call["x64"]:
        yield {**call, "x64": False}
    for place, value in enumerate(call["args"]):
        for plainer in plainer_values(value):
            yield {**call, "args": [*call["args"][:place], plainer, *call["args"][place + 1 :]]}
    for name, value in call["kwargs"].items():
        for plainer in plainer_values(value):
            yield {**call, "kwargs": {**call["kwargs"], name: plainer}}
    yield from _all_smaller(call)


def _all_smaller(call: dict[str, Described]) -> Iterator[dict[str, Described]]:
    """All arrays of one shape made smaller together."""
    shapes = [each["array"]["shape"] for each in call["args"] if is_array(each)]
    if len(shapes) > 1:
        for shape in smaller_shapes(shapes[0]):
            args = [
                _cut(each, shape) if is_array(each) and each["array"]["shape"] == shapes[0] else each
                for each in call["args"]
            ]
            yield {**call, "args": args}


def plainer_values(value: Described) -> Iterator[Described]:
    """One argument's plainer forms."""
    if is_array(value):
        yield from _plainer_arrays(value)
    elif isinstance(value, list) and value:
        yield value[:-1]
        for place, each in enumerate(value):
            for plainer in plainer_values(each):
                yield [*value[:place], plainer, *value[place + 1 :]]
    elif isinstance(value, dict) and "tuple" in value:
        yield from ({"tuple": each} for each in plainer_values(value["tuple"]) if isinstance(each, list))
    elif isinstance(value, dict) and "weak" in value and value["weak"]["shape"]:
        yield {"weak": {**value["weak"], "shape": []}}
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1):
        yield from (each for each in (0, 1, math.trunc(value) if math.isfinite(value) else 0) if each != value)


def _plainer_arrays(value: Described) -> Iterator[Described]:
    content = value["array"]
    if content["holder"] != "device":
        yield {"array": {**content, "holder": "numpy" if content["holder"] != "numpy" else "device"}}
    for shape in smaller_shapes(content["shape"]):
        yield _cut(value, shape)
    if content["dtype"] == "complex128":
        yield {"array": {**content, "dtype": "complex64"}}
    if content["dtype"] not in ("float32", "int32") and not content["dtype"].startswith(("complex", "U")):
        whole = all(float(each).is_integer() for each in content["data"] if math.isfinite(each))
        for dtype in ("float32", "int32") if whole and all(map(math.isfinite, content["data"])) else ("float32",):
            data = [int(each) if dtype == "int32" else float(each) for each in content["data"]]
            if all(abs(each) < 2**31 for each in data if math.isfinite(each)):
                yield {"array": {**content, "dtype": dtype, "data": data}}
    if any(_odd(each) for each in content["data"]):
        plain = [_plain_entry(each, place) for place, each in enumerate(content["data"])]
        yield {"array": {**content, "data": plain}}
        for place, each in enumerate(content["data"][:6]):
            if _odd(each):
                yield {
                    "array": {
                        **content,
                        "data": [*content["data"][:place], _plain_entry(each, 0), *content["data"][place + 1 :]],
                    }
                }


def _odd(entry: Any) -> bool:
    if isinstance(entry, list):
        return any(map(_odd, entry))
    return not isinstance(entry, (bool, str)) and entry not in (0, 1, 2, 3)


def _plain_entry(entry: Any, place: int) -> Any:
    if isinstance(entry, list):
        return [float(1 + place % 3), 0.0]
    return entry if isinstance(entry, (bool, str)) else type(entry)(1 + place % 3)


def smaller_shapes(shape: list[int]) -> Iterator[list[int]]:
    """Shapes with an axis less, or a shorter one."""
    for place, size in enumerate(shape):
        yield [*shape[:place], *shape[place + 1 :]]
        if size > 1:
            yield [*shape[:place], size - 1, *shape[place + 1 :]]
            yield [*shape[:place], 1, *shape[place + 1 :]]


def _cut(value: Described, shape: list[int]) -> Described:
    content = value["array"]
    count = math.prod(shape)
    data = (content["data"] * (count // max(1, len(content["data"])) + 1))[:count] if content["data"] else []
    if len(data) < count:
        return value
    return {"array": {**content, "shape": shape, "data": data}}
