"""Parser of serialized protocol buffers without a schema, sufficient for XLA's buffer assignment."""

from __future__ import annotations

from collections.abc import Iterator

from ..format_error import FormatError

_READ = "a message of XLA's plan of memory"
#: How many bytes a value of fixed width has, by wire type.
_FIXED = {1: 8, 5: 4}


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message in order: their numbers and values (integers, or unparsed bytes).

    Raises FormatError, with the position, for bytes that are no message or that stop in the middle.

    >>> list(iter_fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        if kind == 2:
            size, position = _varint(data, position)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise FormatError(_READ, f"byte {position} of a message begins no field (wire type {kind})")
        if position + size > end:
            raise FormatError(
                _READ, f"a message stops inside its field {number}: {position + size - end} bytes are missing"
            )
        yield number, data[position : position + size]
        position += size


def first_of(data: bytes, text: int, number: int) -> tuple[bytes, int]:
    """Return the bytes of field ``text`` and the integer of field ``number`` of a message.

    Other fields are skipped. Raises FormatError as :func:`iter_fields` does.

    >>> read_text_and_number(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]), 2, 1)
    (b'hi', 150)
    """
    position, end, content_bytes, value = 0, len(data), b"", 0
    while position < end:
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            content, position = _varint(data, position)
            if tag >> 3 == number:
                value = content
        elif kind == 2:
            size, position = _varint(data, position)
            if tag >> 3 == text:
                content_bytes = data[position : position + size]
            position += size
        else:
            position += _FIXED.get(kind, end + 1)
    if position > end:
        raise FormatError(_READ, f"a message ends {position - end} bytes too early, or one of its fields is none")
    return content_bytes, value


def numbers(message: dict[int, int | bytes], field: int) -> int:
    """Return a field's integer, 0 where it is left out; raise FormatError when it holds bytes."""
    value = message.get(field, 0)
    if isinstance(value, bytes):
        raise FormatError(_READ, f"field {field} of a message holds bytes, not a number")
    return value


def packed(value: int | bytes) -> tuple[int, ...]:
    """Return a repeated integer field, which is written one by one or packed into bytes."""
    if isinstance(value, int):
        return (value,)
    values, position = [], 0
    while position < len(value):
        number, position = _varint(value, position)
        values.append(number)
    return tuple(values)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return an integer of variable length and the position after it."""
    try:
        byte = data[position]
        if byte < 128:
            return byte, position + 1
        value = byte & 127
        for shift in range(7, 70, 7):
            position += 1
            byte = data[position]
            value |= (byte & 127) << shift
            if byte < 128:
                return value, position + 1
    except IndexError:
        raise FormatError(_READ, f"a message stops at byte {len(data)}, inside a number") from None
    raise FormatError(_READ, f"byte {position} of a message: a number of more than 64 bits")
