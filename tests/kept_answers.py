"""What jax answered, in the repository: a first run of the tests starts jax only for questions that are new.

An answer is a file of arrays without pickles (`.npz`): `tree` is JSON, and `numbers` the bytes of all its arrays. It is
found by its question, the versions and the settings it was made with, and says which files of tests it was made from;
when one of these has changed it is no longer given. CI asks some of the questions again (`answers.py`).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 -- NumPy knows the names of its types from then on
import numpy as np

FOLDER = Path(__file__).with_name("answers_of_jax")


class UnknownKindError(TypeError):
    """An answer holds what no file of arrays can."""


def read(file: Path) -> dict[str, Any] | None:
    """A kept answer with what is said about it; None where there is none."""
    try:
        with np.load(file, allow_pickle=False) as content:
            tree, numbers = content["tree"].tobytes(), content["numbers"].tobytes()
    except FileNotFoundError:
        return None
    said: dict[str, Any] = json.loads(tree)
    return said | {"answer": _decoded(said["answer"], numbers)}


def write(file: Path, answer: Any, **said: Any) -> None:
    """Keep an answer with what is said about it; raise UnknownKindError where a file cannot hold it."""
    numbers = bytearray()
    tree = json.dumps(said | {"answer": _encoded(answer, numbers)}, separators=(",", ":"))
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
        np.savez_compressed(new, tree=np.frombuffer(tree.encode(), np.uint8), numbers=np.frombuffer(numbers, np.uint8))
    os.chmod(new.name, 0o644)
    os.replace(new.name, file)


def _encoded(value: Any, numbers: bytearray) -> Any:
    """A value as JSON: what JSON has no word for is a list that begins with its kind."""

    def several(values: Any) -> list[Any]:
        return [_encoded(each, numbers) for each in values]

    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple, set, frozenset):
        return [kind.__name__, *several(sorted(value) if kind in (set, frozenset) else value)]
    if kind is dict:
        return ["dict", *several(value.keys()), *several(value.values())]
    if kind is complex:
        return ["complex", value.real, value.imag]
    if kind is bytes:
        return ["bytes", value.hex()]
    if kind is slice:
        return ["slice", *several((value.start, value.stop, value.step))]
    if kind is np.ndarray and value.dtype == object:
        return ["objects", list(value.shape), *several(value.ravel())]
    if isinstance(value, np.dtype):
        return ["dtype", _name(value)]
    if kind is np.ndarray or isinstance(value, np.generic):
        start = len(numbers)
        numbers.extend(np.ascontiguousarray(value).tobytes())
        return ["array" if kind is np.ndarray else "number", _name(value.dtype), list(value.shape), start]
    raise UnknownKindError(f"an answer holds a {kind.__module__}.{kind.__qualname__}, which no file of arrays can")


def _name(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject or dtype.names:
        raise UnknownKindError(f"an answer holds an array of {dtype}, which no file of arrays can")
    return dtype.str if dtype.kind in "SU" else dtype.name


def _decoded(tree: Any, numbers: bytes) -> Any:
    if not isinstance(tree, list):
        return tree
    kind, *rest = tree
    if kind in ("array", "number"):
        array = _array(numbers, *rest)
        return array if kind == "array" else array[()]
    if kind == "objects":
        return np.array([None, *(_decoded(each, numbers) for each in rest[1:])], object)[1:].reshape(rest[0])
    if kind in _SIMPLE:
        return _SIMPLE[kind](*rest)
    values = [_decoded(each, numbers) for each in rest]
    return _CONTAINERS[kind](values)


def _array(numbers: bytes, name: str, shape: list[int], start: int) -> Any:
    dtype = np.dtype(name)
    return np.frombuffer(numbers, dtype, int(np.prod(shape)), start).reshape(shape).copy()


_SIMPLE: dict[str, Callable[..., Any]] = {"complex": complex, "bytes": bytes.fromhex, "dtype": np.dtype}
_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "slice": lambda parts: slice(*parts),
    "frozenset": frozenset,
    "dict": lambda both: dict(zip(both[: len(both) // 2], both[len(both) // 2 :], strict=True)),
}
