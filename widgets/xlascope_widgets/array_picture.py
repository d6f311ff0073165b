"""Small picture of a slice of an array, for a saved notebook: at most 32 × 64 cells, as PNG."""

from __future__ import annotations

import math
import struct
import zlib
from array import array
from typing import Any

JSON = dict[str, Any]

#: Rows and columns of cells, and pixels of a cell.
MAX_ROWS, MAX_COLUMNS, CELL_PIXELS = 32, 64, 8
#: Colours from the lowest to the highest number, and of NaN and infinity with their hatch.
_DIVERGING = ((33, 102, 172), (247, 247, 247), (178, 24, 43))
_SEQUENTIAL = ((242, 246, 251), (107, 174, 214), (8, 48, 107))
_MARKS = {"nan": ((192, 38, 211), (255, 255, 255)), "inf": ((21, 128, 61), (217, 249, 157))}
_TYPECODES = {"f4": "f", "f8": "d", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}

Colour = tuple[int, int, int]


def draw_thumbnail(answer: JSON, buffers: list[bytes]) -> bytes:
    """Return a PNG of a slice, as the source of arrays sends it; ``b""`` if it has no cells."""
    rows, columns = answer["cells"]
    if not rows * columns:
        return b""
    parts = {
        name: list(array(_TYPECODES[encoding], buffer))
        for (name, encoding), buffer in zip(answer["parts"], buffers, strict=True)
    }
    numbers = [_choose_number(parts, at) for at in range(rows * columns)]
    finite = [number for number in numbers if math.isfinite(number)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    cells = [_draw_cell(_choose_mark(parts, at), _colour(numbers[at], low, high)) for at in range(rows * columns)]
    lines = []
    for row in range(rows):
        for y in range(CELL_PIXELS):
            line = b"".join(cells[row * columns + column][y] for column in range(columns))
            lines.append(b"\0" + line)
    return _encode_png(columns * CELL_PIXELS, rows * CELL_PIXELS, b"".join(lines))


def _choose_number(parts: dict[str, list[Any]], at: int) -> float:
    low = float(parts["minimum"][at])
    high = float(parts["maximum"][at]) if "maximum" in parts else low
    return low if abs(low) > abs(high) else high


def _choose_mark(parts: dict[str, list[Any]], at: int) -> str:
    if "maximum" in parts:
        return "nan" if parts.get("nans", {at: 0})[at] else "inf" if parts.get("infs", {at: 0})[at] else ""
    value = float(parts["minimum"][at])
    return "nan" if math.isnan(value) else "inf" if math.isinf(value) else ""


def _colour(number: float, low: float, high: float) -> Colour:
    if not math.isfinite(number):
        return 128, 128, 128
    if low < 0:
        limit = max(-low, high)
        return _interpolate(_DIVERGING, (number / limit + 1) / 2)
    return _interpolate(_SEQUENTIAL, (number - low) / (high - low) if high > low else 1.0)


def _interpolate(colours: tuple[Colour, ...], fraction: float) -> Colour:
    fraction = min(1.0, max(0.0, fraction)) * (len(colours) - 1)
    at = min(len(colours) - 2, int(fraction))
    first, second = colours[at], colours[at + 1]
    red, green, blue = (round(a + (b - a) * (fraction - at)) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _draw_cell(mark: str, colour: Colour) -> list[bytes]:
    """Return the rows of pixels of a cell; NaN is hatched to the right, infinity to the left."""
    if not mark:
        return [bytes(colour) * CELL_PIXELS] * CELL_PIXELS
    ground, ink = _MARKS[mark]
    sign = 1 if mark == "nan" else -1
    return [
        b"".join(bytes(ink if (x + sign * y) % 4 == 0 else ground) for x in range(CELL_PIXELS))
        for y in range(CELL_PIXELS)
    ]


def _encode_png(width: int, height: int, lines: bytes) -> bytes:
    """Return an image of 8-bit RGB as PNG (W3C, Portable Network Graphics, 2003); each line begins with its filter."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
