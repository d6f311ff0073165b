"""Text about an array: its type, its statistics, and a small picture of the slice that is shown at first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...analysis.formatting import percent, plural
from ...analysis.formatting import size as format_size
from ...records.programs import Variable
from .array_statistics import ArrayFacts, Position
from .host_array import HostArray
from .slices import default_request, read_slice

#: Rows and columns of characters of a picture.
MAX_ROWS, MAX_COLUMNS = 12, 48
_SHADES = " ░▒▓█"


def describe_look(host: HostArray, facts: ArrayFacts, name: str) -> str:
    """Return type and statistics of an array as text."""
    return "\n".join(_describe(host, facts, name))


def draw_look(host: HostArray) -> str:
    """Return the slice that is shown at first as lines of characters; ``""`` where there is nothing to draw."""
    return "".join(f"\n{line}" for line in _draw(host))


def _describe(host: HostArray, facts: ArrayFacts, name: str) -> Iterator[str]:
    shape = host.shape[:-1] if host.kind == "key" else host.shape
    kind = Variable(name, shape, host.dtype, False).type_text
    sharding = f", {host.sharding}" if host.sharding else ""
    yield f"{name or 'array'}: {kind}, {format_size(host.nbytes)}{sharding}"
    stats = facts.statistics
    if host.kind == "key":
        distinct = facts.distinct_keys
        yield plural(stats.elements, "key") + ("" if distinct is None else f", {distinct:,} of them different")
    elif not stats.elements:
        yield "no elements"
    elif host.kind == "bool":
        yield f"{plural(stats.elements, 'element')}, {stats.elements - stats.zeros:,} of them True"
    else:
        yield ", ".join(_describe_numbers(host, facts))
        yield from _describe_places(facts)


def _describe_numbers(host: HostArray, facts: ArrayFacts) -> Iterator[str]:
    stats = facts.statistics
    noun = "part" if host.kind == "complex" else "element"
    yield plural(stats.elements, noun)
    if stats.minimum is None or stats.maximum is None:
        yield "none of them finite"
    else:
        digits = ",d" if host.kind == "int" else ".6g"
        yield f"{stats.minimum:{digits}} to {stats.maximum:{digits}}"
        if stats.elements > 1:
            yield f"mean {stats.mean:.4g}, root mean square {stats.root_mean_square:.4g}"
    for count, word in ((stats.zeros, "zero"), (stats.negatives, "negative"), (stats.subnormals, "subnormal")):
        if count:
            yield f"{percent(count / stats.elements)} {word}"


def _describe_places(facts: ArrayFacts) -> Iterator[str]:
    stats = facts.statistics
    if facts.first_nan is not None:
        yield f"{stats.nans:,} NaN, the first at {_format(facts.first_nan)}"
    if facts.first_inf is not None:
        yield f"{stats.infs:,} infinite, the first at {_format(facts.first_inf)}"
    if facts.largest is not None and stats.elements > 1:
        yield f"the largest magnitude is at {_format(facts.largest)}"


def _format(position: Position) -> str:
    return f"[{', '.join(map(str, position))}]"


def _draw(host: HostArray) -> Iterator[str]:
    """Yield lines of a picture of magnitudes; N stands for blocks with NaN, I for those with infinity."""
    if host.kind == "key" or host.size < 2:
        return
    request = default_request(host)._replace(room=(MAX_ROWS, MAX_COLUMNS))
    piece = read_slice(host, request)
    is_reduced = piece.maximum is not None
    low = np.asarray(piece.minimum, np.float64)
    nans = piece.nans if is_reduced else np.isnan(low)
    infs = piece.infs if is_reduced else np.isinf(low)
    largest = np.abs(low) if not is_reduced else np.maximum(np.abs(low), np.abs(piece.maximum.astype(np.float64)))
    yield _title(host, piece, request.at)
    finite = largest[np.isfinite(largest)]
    top = float(finite.max()) if finite.size else 0.0
    for row in range(low.shape[0]):
        yield (
            "|"
            + "".join(
                "N"
                if _is_set(nans, row, column)
                else "I"
                if _is_set(infs, row, column)
                else _shade(largest[row, column], top)
                for column in range(low.shape[1])
            )
            + "|"
        )


def _title(host: HostArray, piece: Any, at: Position) -> str:
    outer = [str(index) for index in at[: max(0, len(host.shape) - 2)]]
    index = f"[{', '.join([*outer, *[':'] * (len(host.shape) - len(outer))])}]"
    rows, columns = piece.block
    blocks = "" if piece.block == (1, 1) else f", a character for {rows} × {columns} elements"
    return f"magnitudes of {index}{blocks}; N: NaN, I: infinity"


def _is_set(marks: Any, row: int, column: int) -> bool:
    return marks is not None and bool(marks[row, column])


def _shade(magnitude: float, top: float) -> str:
    if not magnitude or not top or not np.isfinite(magnitude):
        return _SHADES[0]
    return _SHADES[max(1, min(len(_SHADES) - 1, int(np.ceil(magnitude / top * (len(_SHADES) - 1)))))]
