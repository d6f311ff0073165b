"""Visualization of shardings as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tree
from ..trace.source import here
from ..trace.tracer import TracerBase
from ..xla.sharding.named_shardings import MultiDeviceSharding

_MIN_CELL_WIDTH = 5


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call ``callback`` with the sharding of each array of a tree.

    Raises TypeError for a value that is being traced, because XLA determines its sharding at compilation.
    """

    def call_with_sharding(x: Any) -> None:
        if isinstance(x, TracerBase):
            raise TypeError(
                f"inspect_array_sharding: {x!r} is being traced{here()}, and how it lies is decided when the program "
                "is compiled. Look at the sharding of the result, or fix it with lax.with_sharding_constraint."
            )
        callback(x.sharding)

    tree.map(call_with_sharding, value)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which devices have which shard of an array; see :func:`visualize_sharding`.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.debug.visualize_array_sharding(jnp.ones(4))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **kwargs))


def visualize_sharding(shape: Sequence[int], sharding: Any, **kwargs: Any) -> None:
    """Print which devices have which shard of an array of that shape.

    There is one table, of the last two axes, for each combination of cuts along the other axes. ``min_width``
    is the minimum width of a cell; JAX's other arguments (``use_color``, ``scale``, ``max_width``,
    ``color_map``) have no effect.
    """
    unknown = kwargs.keys() - {"use_color", "scale", "min_width", "max_width", "color_map"}
    if unknown:
        raise TypeError(f"visualize_sharding has no argument {sorted(unknown)[0]!r}{here()}")
    print(format_sharding(tuple(shape), sharding, kwargs.get("min_width", _MIN_CELL_WIDTH)))


def format_sharding(shape: tuple[int, ...], sharding: Any, min_width: int = _MIN_CELL_WIDTH) -> str:
    """Return the text that :func:`visualize_sharding` prints for an array of that shape."""
    if not isinstance(sharding, MultiDeviceSharding):
        return _table([[_names([sharding._device])]], min_width)
    parts: dict[tuple[int, ...], list[Any]] = {}
    cuts = sharding.partition_counts(len(shape))
    for device, index in sharding.devices_indices_map(shape).items():
        sides = zip(index, shape, cuts, strict=True)
        position = tuple(
            (side.start or 0) // max(size // parts_, 1) if parts_ > 1 else 0 for side, size, parts_ in sides
        )
        parts.setdefault(position, []).append(device)
    rank = len(shape)
    flat: dict[tuple[int, ...], dict[tuple[int, int], list[Any]]] = {}
    for position, devices in parts.items():
        padded = (0,) * max(2 - rank, 0) + position
        flat.setdefault(padded[:-2], {})[padded[-2], padded[-1]] = devices
    tables = []
    for outer, cells in sorted(flat.items()):
        rows = 1 + max(row for row, _ in cells)
        columns = 1 + max(column for _, column in cells)
        table = _table([[_names(cells[r, c]) for c in range(columns)] for r in range(rows)], min_width)
        indices_text = ", ".join(
            f"{part * (size // count)}:{(part + 1) * (size // count)}" if count > 1 else ":"
            for part, size, count in zip(outer, shape, cuts, strict=False)
        )
        tables.append(f"[{indices_text}, ↓, →]\n{table}" if outer else table)
    return "\n".join(tables)


def _names(devices: Sequence[Any]) -> str:
    return f"{devices[0].platform.upper()} {','.join(str(device.id) for device in devices)}"


def _table(rows: Sequence[Sequence[str]], min_width: int) -> str:
    width = max(min_width, *(len(cell) for row in rows for cell in row)) + 2
    count = len(rows[0])
    top, middle, bottom = (
        left + between.join(["─" * width] * count) + right for left, between, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    lines = ["│" + "│".join(cell.center(width) for cell in row) + "│" for row in rows]
    return "\n".join([top, f"\n{middle}\n".join(lines), bottom])
