"""Shapes of sliding windows: their number, and the explicit padding for words such as "SAME"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.user_frames import user_line, where_text
from .integer_arguments import is_several, whole_numbers

Pairs = tuple[tuple[int, int], ...]
_PADDING_WORDS = ("SAME", "SAME_LOWER", "VALID")


def dilated_size(size: int, dilation: int) -> int:
    """Return the size of an axis after ``dilation - 1`` holes are put between neighbouring elements."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def count_windows(size: int, window: int, stride: int) -> int:
    """Return the number of windows of size ``window`` that fit into an axis, one every ``stride`` elements."""
    return max((size - window) // stride + 1, 0)


def parse_padding_word(padding: str, name: str) -> str:
    """Return ``SAME``, ``SAME_LOWER`` or ``VALID``, in upper case; raise ValueError for another word.

    ``name`` is the argument's name, for the message.
    """
    word = padding.upper()
    if word not in _PADDING_WORDS:
        raise ValueError(f"{name} is 'VALID', 'SAME', 'SAME_LOWER' or (low, high) for each axis, got {padding!r}")
    return word


def explicit_padding(sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], word: str) -> Pairs:
    """Return the (low, high) padding of each axis for a word of :func:`parse_padding_word`.

    ``sizes`` and ``windows`` are the sizes of axes and windows. "SAME" gives ceil(size / stride) windows; an odd
    element of padding goes to the end, with "SAME_LOWER" to the front.
    """
    if word == "VALID":
        return ((0, 0),) * len(sizes)
    pairs = []
    for size, window, stride in zip(sizes, windows, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        less, more = total // 2, total - total // 2
        pairs.append((more, less) if word == "SAME_LOWER" else (less, more))
    return tuple(pairs)


def padding_pairs(padding: Any, rank: int, name: str) -> Pairs:
    """Return explicit padding, (low, high) for each of ``rank`` axes.

    ``name`` is the argument's name for messages. Raises TypeError for another number of pairs, or numbers that are not
    integers; ValueError for anything but pairs.
    """
    if not is_several(padding):
        raise ValueError(f"{name} is 'VALID', 'SAME', 'SAME_LOWER' or (low, high) for each axis, got {padding!r}")
    pairs = [whole_numbers(pair, f"numbers (low, high) of {name}") for pair in padding]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{name} has a low and a high number for each axis, got {padding!r}")
    if len(pairs) != rank:
        raise TypeError(f"{name} has (low, high) for each of {rank} axes, got {padding!r}{where_text(user_line())}")
    return tuple((low, high) for low, high in pairs)


def per_axis_factors(argument: Any, rank: int, name: str) -> tuple[int, ...]:
    """Return strides or dilations, one for each of ``rank`` axes; 1 where the argument is None.

    ``name`` is the argument's name for messages. Raises ValueError for another number of them, or if one is less than
    1.
    """
    if argument is None:
        return (1,) * rank
    numbers = whole_numbers(argument, name)
    if len(numbers) != rank:
        raise ValueError(f"{name} are as many as there are axes, {rank}; got {numbers}{where_text(user_line())}")
    if any(number < 1 for number in numbers):
        raise ValueError(f"{name} are at least 1, got {numbers}{where_text(user_line())}")
    return numbers


def window_shape(
    sizes: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> tuple[int, ...]:
    """Return the number of windows along each axis.

    ``sizes`` and ``windows`` are the sizes of the axes and of the window; ``base_dilation`` dilates the axes,
    ``window_dilation`` the window.
    """
    return tuple(
        count_windows(low + dilated_size(size, base) + high, dilated_size(window, dilation), stride)
        for size, window, stride, (low, high), base, dilation in zip(
            sizes, windows, strides, padding, base_dilation, window_dilation, strict=True
        )
    )


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: str
) -> list[tuple[int, int]]:
    """Return the (low, high) padding of each axis for ``"SAME"``, ``"SAME_LOWER"`` or ``"VALID"``.

    Raises TypeError if ``padding`` is not a string, ValueError for an unknown one, or if the sequences differ in
    length.

    >>> from xlascope import lax
    >>> lax.padtype_to_pads((8, 7), (3, 4), (2, 3), "SAME")
    [(0, 1), (1, 2)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"padding of padtype_to_pads is 'VALID', 'SAME' or 'SAME_LOWER', got {padding!r}")
    word = parse_padding_word(padding, "padding of padtype_to_pads")
    sizes = whole_numbers(in_shape, "sizes in in_shape of padtype_to_pads")
    windows = whole_numbers(window_shape, "sizes in window_shape of padtype_to_pads")
    if len(windows) != len(sizes):
        raise ValueError(f"padtype_to_pads takes shapes with equally many axes, got {sizes} and {windows}")
    strides = per_axis_factors(window_strides, len(sizes), "window_strides of padtype_to_pads")
    return list(explicit_padding(sizes, windows, strides, word))


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of the result of :func:`reduce_window`: the number of windows along each axis.

    Raises ValueError or TypeError, which names the argument, where the arguments do not fit each other.

    >>> from xlascope import lax
    >>> lax.reduce_window_shape_tuple((8, 7), (3, 4), (2, 3), ((1, 1), (2, 2)))
    (4, 3)
    """
    name = "of reduce_window_shape_tuple"
    sizes = whole_numbers(operand_shape, f"sizes in operand_shape {name}")
    rank = len(sizes)
    return window_shape(
        sizes,
        per_axis_factors(window_dimensions, rank, f"window_dimensions {name}"),
        per_axis_factors(window_strides, rank, f"window_strides {name}"),
        padding_pairs(padding, rank, f"padding {name}"),
        per_axis_factors(base_dilation, rank, f"base_dilation {name}"),
        per_axis_factors(window_dilation, rank, f"window_dilation {name}"),
    )
