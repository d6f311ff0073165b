"""Arrays that views in a page read slice by slice, by handles, within a share of the free memory."""

from __future__ import annotations

import math
import threading
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...records.programs import Variable
from .array_statistics import ArrayFacts, measure_array
from .host_array import MAX_FREE_MEMORY_SHARE, HostArray, free_bytes
from .slices import ArraySlice, SliceRequest, default_request, read_slice

JSON = dict[str, Any]

#: The largest number of arrays that are held, and of those that are found again while somebody else holds them.
MAX_HELD_ARRAYS, MAX_HANDLES = 8, 64
#: The characters of a name that are shown.
MAX_NAME_CHARS = 80


class _Entry(NamedTuple):
    """Array by its handle: how to find it again while it lives, its name, and its statistics, once measured."""

    reference: Any
    name: str
    facts: list[ArrayFacts]


class ArrayStore:
    """Arrays by handle: the latest eight are held while together they take less than 5 % of the free memory.

    The others are found again as long as somebody else holds them. Calls are safe from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._held: OrderedDict[str, Any] = OrderedDict()

    def add(self, array: Any, name: str, facts: ArrayFacts | None = None) -> str:
        """Add an array and return its handle; ``facts`` are its statistics, if they are measured already."""
        handle = uuid.uuid4().hex
        with self._lock:
            self._entries[handle] = _Entry(_refer(array), name[:MAX_NAME_CHARS], [] if facts is None else [facts])
            while len(self._entries) > MAX_HANDLES:
                self._held.pop(self._entries.popitem(last=False)[0], None)
            self._hold(handle, array)
        return handle

    def _hold(self, handle: str, array: Any) -> None:
        self._held[handle] = array
        limit = MAX_FREE_MEMORY_SHARE * free_bytes()
        while len(self._held) > MAX_HELD_ARRAYS or (
            len(self._held) > 1 and sum(map(_count_bytes, self._held.values())) > limit
        ):
            self._held.popitem(last=False)
        if _count_bytes(array) > limit:
            self._held.pop(handle, None)

    def find(self, handle: str) -> HostArray:
        """Return the array with a handle; raise LookupError, which says what to do, if it is gone."""
        return HostArray(self._find_entry(handle)[1])

    def _find_entry(self, handle: str) -> tuple[_Entry, Any]:
        with self._lock:
            entry = self._entries.get(handle)
            array = None if entry is None else self._held.get(handle)
            if entry is not None and array is None:
                array = entry.reference()
            if handle in self._held:
                self._held.move_to_end(handle)
        if entry is None or array is None:
            raise LookupError("the array is not kept any more: run the cell again, or open it again")
        return entry, array

    def describe(self, handle: str) -> JSON:
        """Return what is known of an array before its elements are read, as JSON."""
        entry, array = self._find_entry(handle)
        return {"handle": handle, **describe_array(HostArray(array), entry.name)}

    def measure(self, handle: str) -> JSON:
        """Return the statistics of an array as JSON; they are measured once."""
        entry, array = self._find_entry(handle)
        host = HostArray(array)
        if not entry.facts:
            entry.facts.append(measure_array(host))
        return encode_facts(host, entry.facts[0])

    def read(self, handle: str, question: JSON) -> tuple[JSON, list[bytes]]:
        """Return a slice of an array as JSON and buffers; ``question`` has the fields of :class:`SliceRequest`."""
        host = self.find(handle)
        return encode_slice(read_slice(host, parse_request(question, host)))


def _refer(array: Any) -> Any:
    """Return a function that returns the array while somebody else holds it."""
    try:
        return weakref.ref(array)
    except TypeError:  # numbers and lists, which are small
        return lambda: None


def _count_bytes(array: Any) -> int:
    words = getattr(array, "words", array)
    return int(getattr(words, "nbytes", 0))


# JSON -----------------------------------------------------------------------------------------------------------------


def describe_array(host: HostArray, name: str) -> JSON:
    """Return type, size and place of an array as JSON; ``name`` is what it is called."""
    shape = host.shape[:-1] if host.kind == "key" else host.shape
    first = default_request(host)
    return {
        "name": name,
        "type": Variable(name, shape, host.dtype, False).type_text,
        "dtype": host.dtype,
        "kind": host.kind,
        "shape": list(host.shape),
        "bytes": host.nbytes,
        "sharding": host.sharding,
        "digits": _mantissa_bits(host),
        "axes": [first.rows, first.columns],
    }


def _mantissa_bits(host: HostArray) -> int | None:
    """Return the explicit mantissa bits of a floating-point dtype, by which numbers are written; None for others."""
    dtype = host.physical_dtype
    if host.kind == "complex":
        return 23 if dtype.itemsize == 8 else 52
    return None if host.kind != "float" else int(ml_dtypes.finfo(dtype).nmant)  # type: ignore[no-untyped-call]


def encode_facts(host: HostArray, facts: ArrayFacts) -> JSON:
    """Return statistics as JSON; what is not finite in them (a sum that overflows) is None."""
    numbers = asdict(facts.statistics)
    for field in ("minimum", "maximum"):
        value = numbers[field]
        if host.kind == "int" and value is not None:  # JavaScript's numbers hold 53 bits
            numbers[field] = str(value)
    numbers = {
        field: None if isinstance(value, float) and not math.isfinite(value) else value
        for field, value in numbers.items()
    }
    places = {"nan": facts.first_nan, "inf": facts.first_inf, "largest": facts.largest}
    return {**numbers, "at": places, "distinct": facts.distinct_keys, "strided": host.size > 1 << 16}


#: Names of the encodings of buffers, by NumPy's dtypes.
_ENCODINGS = {"float32": "f4", "float64": "f8", "int64": "i8", "uint64": "u8", "int32": "i4", "uint32": "u4"}


def encode_slice(piece: ArraySlice) -> tuple[JSON, list[bytes]]:
    """Return a slice as JSON and buffers in the order of ``parts``."""
    buffers, parts = [], []
    for name, values in piece._asdict().items():
        if name in ("size", "window", "block") or values is None:
            continue
        sent = _sendable(values)
        parts.append([name, _ENCODINGS[sent.dtype.name]])
        buffers.append(np.ascontiguousarray(sent).tobytes())
    shape = list(piece.minimum.shape)
    return {"size": piece.size, "window": piece.window, "block": piece.block, "cells": shape, "parts": parts}, buffers


def _sendable(values: Any) -> Any:
    """Return elements in a dtype that a browser reads, in which they are exact."""
    if values.dtype.name in _ENCODINGS:
        return values
    if values.dtype.kind == "f":
        return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return values.astype(np.uint32 if values.dtype.kind in "ub" else np.int32)


def parse_request(question: JSON, host: HostArray) -> SliceRequest:
    """Return the slice that a page asks for; raise ValueError for what is none."""
    rows, columns = (_parse_axis(question.get(name)) for name in ("rows", "columns"))
    at = _parse_numbers(question.get("at", ()))
    window = question.get("window")
    room = _parse_numbers(question.get("room", ()))
    part = question.get("part", "abs")
    if part not in ("abs", "real", "imag"):
        raise ValueError(f"part is abs, real or imag, got {part!r}")
    default = default_request(host)
    return SliceRequest(
        rows,
        columns,
        at,
        _parse_window(window),
        (room[0], room[1]) if len(room) == 2 else default.room,
        part,
    )


def _parse_axis(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"an axis is a number, got {value!r}")
    return value


def _parse_window(window: Any) -> tuple[int, int, int, int] | None:
    if window is None:
        return None
    top, bottom, left, right = _parse_numbers(window)
    return top, bottom, left, right


def _parse_numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, Sequence) or not all(isinstance(value, int) for value in values):
        raise ValueError(f"indices are whole numbers, got {values!r}")
    return tuple(values)
