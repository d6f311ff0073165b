"""Serialization of records: one record as a JSON dict, many as a versioned file."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import types
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from .events import Record
from .paths import PROGRAM, EquationPath

#: The version that `save` writes and `load` reads: raised whenever a field changes its meaning or goes away.
VERSION = 1
#: The reason that marks operations in files of versions without `Traced.origin`.
OUTSIDE = "run outside of jit"


def to_json(record: Record) -> dict[str, Any]:
    """Convert a record to a JSON dict: its class as ``kind``, its fields by name.

    >>> from xlascope.records import Started
    >>> to_json(Started(program=1, function="update", stage="trace", time=0.5))
    {'kind': 'Started', 'program': 1, 'function': 'update', 'stage': 'trace', 'time': 0.5}
    """
    return {"kind": type(record).__name__, **to_json_value(record)}


def from_json(data: dict[str, Any]) -> Record:
    """Return the record that :func:`to_json` converted, equal in every field.

    Raises ValueError that names the field, for an invalid dict.

    >>> from_json({"kind": "Started", "program": 1, "function": "update", "stage": "trace", "time": 0.5})
    Started(program=1, function='update', stage='trace', time=0.5)
    >>> from_json({"kind": "Started", "program": "one"})
    Traceback (most recent call last):
    ValueError: Started.program: expected int, found 'one'
    """
    content = dict(_expect(dict, data))
    kind = content.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"no record of kind {kind!r}; there are {', '.join(_KINDS)}")
    if kind == "Traced" and content.get("reason") == OUTSIDE:  # older versions have no origin, only this reason
        content.setdefault("origin", "operation")
    return cast(Record, _decoder(_KINDS[kind])(content))


def save(records: Iterable[Record], file: str | os.PathLike[str]) -> None:
    """Write records to a file atomically: a reader never sees half of it."""
    write_whole(document(map(text_of, records)), file)


def text_of(record: Record) -> str:
    """Return a record as JSON text, of which :func:`document` makes a file."""
    return json.dumps(to_json(record))


def document(texts: Iterable[str]) -> bytes:
    """Return the content of a file of records, given the JSON text of each (:func:`text_of`)."""
    return f'{{"xlascope_records": {VERSION}, "records": [{", ".join(texts)}]}}'.encode()


def write_whole(data: bytes, file: str | os.PathLike[str]) -> None:
    """Write data to a file atomically: a reader never sees half of it."""
    target = Path(os.path.realpath(file))
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        draft.replace(target)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def load(file: str | os.PathLike[str]) -> tuple[Record, ...]:
    """Read the records that :func:`save` wrote.

    Raises ValueError, naming the file, when it is damaged, has other content, or has another version.
    """
    try:
        return parse_document(Path(file).read_bytes())
    except ValueError as error:
        raise ValueError(f"{os.fspath(file)}: {error}") from error


def parse_document(data: bytes) -> tuple[Record, ...]:
    """Return the records in the content of a file that :func:`document` made; raise ValueError for other data."""
    try:
        return tuple(map(from_json, _content(data)))
    except RecursionError:
        raise ValueError("nested too deeply to be records") from None


def _content(data: bytes) -> list[dict[str, Any]]:
    """Return the records in a file's content, as JSON dicts; raise ValueError if it is no such file of this version."""
    try:
        document = json.loads(data)
    except ValueError as error:
        raise ValueError(f"no JSON, or only a part of it ({error})") from error
    if not isinstance(document, dict) or "xlascope_records" not in document:
        raise ValueError("no xlascope records (the key 'xlascope_records' is missing)")
    version = document["xlascope_records"]
    if version != VERSION or isinstance(version, bool):
        raise ValueError(f"xlascope records of version {version!r}; this xlascope reads version {VERSION}")
    return cast(list[dict[str, Any]], _expect(list, document.get("records")))


_KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Record)}

_Decoder = Callable[[Any], Any]


def to_json_value(value: Any) -> Any:
    """Convert a value of a record's field to JSON: dataclasses to dicts, tuples to lists, non-finite floats to text."""
    if is_dataclass(value):
        return {name: to_json_value(getattr(value, name)) for name in _names(value.__class__)}
    if isinstance(value, tuple):
        return [to_json_value(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json_value(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON cannot represent these
    return value


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@functools.cache
def _decoder(hint: Any) -> _Decoder:
    """Return the function that converts JSON to a value of the type ``hint``, the annotation of a field.

    It raises ValueError for other data.
    """
    if isinstance(hint, type) and is_dataclass(hint):
        return functools.partial(_decode_dataclass, hint)
    if hint is EquationPath:
        return _decode_path
    if isinstance(hint, type) and issubclass(hint, Enum):
        return functools.partial(_decode_member, hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return functools.partial(_decode_tuple, arguments[0])
    if origin is dict:
        return functools.partial(_decode_dict, arguments[1])
    if origin in (Union, types.UnionType):
        return functools.partial(_decode_optional, arguments[0])
    if origin is Literal:
        return functools.partial(_decode_choice, arguments)
    return functools.partial(_decode_float if hint is float else _expect, hint)


def _decode_dataclass(kind: type, data: Any) -> Any:
    """Return an object of the dataclass ``kind`` from a JSON dict; raise ValueError naming an invalid field."""
    content = _expect(dict, data)
    unknown = set(content).difference(_names(kind))
    if unknown:
        raise ValueError(f"{kind.__name__} has no field {min(unknown)!r}")
    values = {}
    for name, required, decode in _fields(kind):
        if name in content:
            try:
                values[name] = decode(content[name])
            except ValueError as error:
                raise ValueError(f"{kind.__name__}.{name}: {error}") from None
        elif required:
            raise ValueError(f"{kind.__name__}.{name}: missing")
    return kind(**values)


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, bool, _Decoder], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (field.name, field.default is MISSING and field.default_factory is MISSING, _decoder(hints[field.name]))
        for field in fields(kind)
    )


def _decode_tuple(element: Any, data: Any) -> Any:
    return tuple(map(_decoder(element), _expect(list, data)))


def _decode_dict(element: Any, data: Any) -> Any:
    decode = _decoder(element)
    return {key: decode(item) for key, item in _expect(dict, data).items()}


def _decode_optional(present: Any, data: Any) -> Any:
    return None if data is None else _decoder(present)(data)


def _decode_choice(choices: tuple[Any, ...], data: Any) -> Any:
    if data not in choices:
        raise ValueError(f"expected one of {', '.join(map(repr, choices))}, found {_short(data)}")
    return data


def _decode_member(kind: type[Enum], data: Any) -> Enum:
    _decode_choice(tuple(member.value for member in kind), data)
    return kind(data)


def _decode_float(kind: type, data: Any) -> float:
    if isinstance(data, str) and data in ("nan", "inf", "-inf"):
        return float(data)
    return float(_expect(int, data)) if isinstance(data, int) else cast(float, _expect(kind, data))


def _decode_path(data: Any) -> EquationPath:
    return PROGRAM if data == "" else EquationPath.parse(_expect(str, data))


def _expect(kind: type, data: Any) -> Any:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise ValueError(f"expected {kind.__name__}, found {_short(data)}")
    return data


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:60]}…"
