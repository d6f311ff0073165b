"""Dimension numbers of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ir.user_frames import user_line, where_text
from .integer_arguments import whole_numbers


class ConvDimensionNumbers(NamedTuple):
    """Roles of the axes of a convolution's operands and result.

    ``lhs_spec`` and ``out_spec`` are (batch axis, feature axis, spatial axes…), ``rhs_spec`` is (output feature axis,
    input feature axis, spatial axes…).
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


#: Accepted types of the ``dimension_numbers`` of :func:`conv_general_dilated`.
ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None

#: The letters that stand for the first two axes of each specification.
_LETTERS = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the axes that three strings of letters name, in the order of :class:`ConvDimensionNumbers`.

    ``N`` and ``C`` are batch and features of operand and result, ``O`` and ``I`` the kernel's output and input
    features; the other letters are spatial axes, in the kernel's order. Raises TypeError for letters that are missing,
    repeated, or not the same in all strings.

    >>> from xlascope import lax
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NCHW"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 2, 3))
    """
    texts = tuple(dimension_numbers) if isinstance(dimension_numbers, (str, list, tuple)) else ()
    if len(texts) != 3 or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"dimension_numbers of a convolution are three strings, got {dimension_numbers!r}{_location()}")
    for number, (text, letters) in enumerate(zip(texts, _LETTERS, strict=True)):
        if any(text.count(letter) != 1 for letter in letters):
            first, second = letters
            raise TypeError(
                f"dimension_numbers[{number}] of a convolution has the letters {first} and {second} once, got "
                f"{text!r}{_location()}"
            )
        if len(set(text)) < len(text):
            raise TypeError(f"dimension_numbers[{number}] of a convolution has a letter twice, {text!r}{_location()}")
    spatial = [letter for letter in texts[1] if letter not in _LETTERS[1]]
    for text, letters in zip(texts, _LETTERS, strict=True):
        if {*text} - {*letters} != {*spatial}:
            raise TypeError(f"dimension_numbers of a convolution name the same spatial axes, got {texts}{_location()}")
    return tuple(
        tuple(text.index(letter) for letter in (*letters, *spatial))
        for text, letters in zip(texts, _LETTERS, strict=True)
    )


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return the roles of the axes of a convolution.

    ``dimension_numbers`` is None (batch, features, spatial axes), three strings of letters, or already
    :class:`ConvDimensionNumbers`. Raises TypeError for shapes of different ranks, and where the letters do not fit
    the ranks.

    >>> from xlascope import lax
    >>> lax.conv_dimension_numbers((2, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    for name, shape in (("lhs_shape", lhs_shape), ("rhs_shape", rhs_shape)):
        if not isinstance(shape, Sequence):
            raise TypeError(f"{name} of a convolution is a tuple of sizes, got {shape!r}{_location()}")
    rank = len(lhs_shape)
    if len(rhs_shape) != rank:
        raise TypeError(
            f"a convolution takes lhs and rhs with equally many axes, got shapes {tuple(lhs_shape)} and "
            f"{tuple(rhs_shape)}{_location()}"
        )
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return _check_numbers(dimension_numbers, rank)
    if dimension_numbers is None:
        same = tuple(range(rank))
        return ConvDimensionNumbers(same, same, same)
    if not isinstance(dimension_numbers, (tuple, list)):
        raise TypeError(
            "dimension_numbers of a convolution are None, three strings or ConvDimensionNumbers, got "
            f"{dimension_numbers!r}{_location()}"
        )
    permutations = conv_general_permutations(dimension_numbers)
    for number, axes in enumerate(permutations):
        if len(axes) != rank:
            raise TypeError(
                f"dimension_numbers[{number}] of a convolution has a letter for each of {rank} axes, got "
                f"{dimension_numbers[number]!r}{_location()}"
            )
    return ConvDimensionNumbers(*permutations)


def _check_numbers(numbers: ConvDimensionNumbers, rank: int) -> ConvDimensionNumbers:
    specs = {name: whole_numbers(spec, f"axes in {name}") for name, spec in numbers._asdict().items()}
    for name, spec in specs.items():
        if sorted(spec) != list(range(rank)):
            raise TypeError(f"{name} of a convolution names each of {rank} axes once, got {spec}{_location()}")
    return ConvDimensionNumbers(**specs)


def _location() -> str:
    return where_text(user_line())
