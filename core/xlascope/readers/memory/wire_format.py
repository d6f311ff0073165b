"""Parser of serialized protocol buffers without a schema, sufficient for XLA's buffer assignment."""

from __future__ import annotations

from collections.abc import Iterator

from ..format_error import FormatError

_SUBJECT = "a message of XLA's plan of memory"
#: How many bytes a value of fixed width has, by wire type.
_FIXED_WIDTHS = {1: 8, 5: 4}


def iter_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message in order: their numbers and values (integers, or unparsed bytes).

    Raises FormatError, with the position, for bytes that are no message or that stop in the middle.

    >>> list(iter_fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = _read_varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = _read_varint(data, position)
            yield number, value
            continue
        if kind == 2:
            size, position = _read_varint(data, position)
        elif kind in _FIXED_WIDTHS:
            size = _FIXED_WIDTHS[kind]
        else:
            raise FormatError(_SUBJECT, f"byte {position} of a message begins no field (wire type {kind})")
        if position + size > end:
            raise FormatError(
                _SUBJECT, f"a message stops inside its field {number}: {position + size - end} bytes are missing"
            )
        yield number, data[position : position + size]
        position += size


def read_text_and_number(data: bytes, text: int, number: int) -> tuple[bytes, int]:
    """Return the bytes of the field numbered ``text`` and the integer of the field numbered ``number`` of a message.

    Other fields are skipped. Raises FormatError as :func:`iter_fields` does. A field that is not there gives ``b""``
    or 0.

    >>> read_text_and_number(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]), 2, 1)
    (b'hi', 150)
    """
    position, end, content_bytes, value = 0, len(data), b"", 0
    while position < end:
        tag, position = _read_varint(data, position)
        kind = tag & 7
        if kind == 0:
            content, position = _read_varint(data, position)
            if tag >> 3 == number:
                value = content
        elif kind == 2:
            size, position = _read_varint(data, position)
            if tag >> 3 == text:
                content_bytes = data[position : position + size]
            position += size
        else:
            position += _FIXED_WIDTHS.get(kind, end + 1)
    if position > end:
        raise FormatError(_SUBJECT, f"a message ends {position - end} bytes too early, or one of its fields is none")
    return content_bytes, value


def int_field(message: dict[int, int | bytes], field: int) -> int:
    """Return the integer of a field of a message, 0 where it is left out; raise FormatError when it holds bytes."""
    value = message.get(field, 0)
    if isinstance(value, bytes):
        raise FormatError(_SUBJECT, f"field {field} of a message holds bytes, not a number")
    return value


def unpack_ints(value: int | bytes) -> tuple[int, ...]:
    """Return the integers of a repeated field, whose value is one of them or all of them as bytes."""
    if isinstance(value, int):
        return (value,)
    values, position = [], 0
    while position < len(value):
        number, position = _read_varint(value, position)
        values.append(number)
    return tuple(values)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the integer of variable length at a position, and the position after it."""
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
        raise FormatError(_SUBJECT, f"a message stops at byte {len(data)}, inside a number") from None
    raise FormatError(_SUBJECT, f"byte {position} of a message: a number of more than 64 bits")
