"""A call as plain JSON, which both processes build alike.

None, booleans, numbers, texts and lists stand for themselves; everything else is an object with one key, its tag::

    {"array": {"dtype": "int8", "shape": [2], "data": [1, 2], "holder": "device"}}
    {"tuple": [1, 2]}        {"dict": [["a", 1]]}        {"slice": [0, 2, null]}       {"complex": [0.0, 1.0]}
    {"dtype": "float32"}     {"type": "float"}           {"attribute": "numpy.float32"}
    {"function": "square"}   {"key": {"seed": 0, "typed": true}}
    {"make": {"attribute": "lax.GatherDimensionNumbers", "kwargs": {...}}}
    {"weak": {"shape": [2], "value": 1.5}}               {"tree": ["flatten", ...]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: A call or a part of one: JSON.
Described = Any


def call(
    function: str,
    args: Sequence[Described] = (),
    kwargs: dict[str, Described] | None = None,
    how: str = "eager",
    x64: bool = False,
) -> dict[str, Described]:
    """A call of a public function, by its name below the library's: ``numpy.add``, ``array.sum``, ``lax.sort``."""
    return {"function": function, "args": list(args), "kwargs": dict(kwargs or {}), "how": how, "x64": x64}


def array(dtype: str, shape: Iterable[int], data: Iterable[Any], holder: str = "device") -> Described:
    """An array in what holds it: ``device``, ``numpy``, ``list``, ``big`` (byte order), ``readonly``, …"""
    return {"array": {"dtype": dtype, "shape": list(shape), "data": list(data), "holder": holder}}


def tuple_of(items: Iterable[Described]) -> Described:
    return {"tuple": list(items)}


def is_array(value: Described) -> bool:
    return isinstance(value, dict) and "array" in value


def parts(value: Described) -> Iterable[Described]:
    """A description and everything within it."""
    yield value
    if isinstance(value, list):
        inner: Iterable[Any] = value
    elif isinstance(value, dict) and "array" not in value:
        inner = value.values()
    else:
        inner = ()
    for each in inner:
        yield from parts(each)


def arrays_of(described: dict[str, Described]) -> list[Described]:
    """What a call's arrays are: the contents of each ``array`` within it."""
    return [each["array"] for each in parts([described["args"], described["kwargs"]]) if is_array(each)]


def transformed(value: Described, change: Callable[[Described], Described]) -> Described:
    """A copy with each part replaced by what ``change`` makes of it, from the inside out."""
    if isinstance(value, list):
        return change([transformed(each, change) for each in value])
    if isinstance(value, dict) and "array" not in value:
        return change({name: transformed(each, change) for name, each in value.items()})
    return change(value)


def transformed_call(call: dict[str, Described], change: Callable[[Described], Described]) -> dict[str, Described]:
    """A call with every part of its arguments replaced."""
    return {
        **call,
        "args": [transformed(each, change) for each in call["args"]],
        "kwargs": {name: transformed(each, change) for name, each in call["kwargs"].items()},
    }
