"""Mistakes with functions of numpy: the message names what the user wrote, and shapes as the user sees them."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

A, B = np.ones((2, 3, 4), "f"), np.ones((2, 3, 5), "f")


def nested(f: Callable[..., Any]) -> Callable[[], Any]:
    """A function of two vectors under two vmaps."""
    return lambda: xs.vmap(xs.vmap(f))(A, B)


def traced(f: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: xs.jit(f)(3)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "arange(n)": (traced(jnp.arange), TypeError, "arange: the stop is the argument"),
    "arange(n, 9)": (traced(lambda n: jnp.arange(n, 9)), TypeError, "arange: the start is the argument n"),
    "arange(0, n)": (traced(lambda n: jnp.arange(0, n)), TypeError, "arange: the stop is the argument"),
    "arange(0, 9, n)": (traced(lambda n: jnp.arange(0, 9, n)), TypeError, "arange: the step is the argument n"),
    "arange(array)": (lambda: jnp.arange(A), TypeError, r"arange: stop is a number, got an array of shape \(2, 3, 4\)"),
    "tensordot, axes": (nested(jnp.tensordot), TypeError, r"tensordot: axes=2 .* shapes \(4,\) and \(5,\)"),
    "tensordot, sizes": (nested(lambda a, b: jnp.tensordot(a, b, 1)), TypeError, r"\(0,\) of shape \(4,\) .*\(5,\)"),
    "tensordot, lists": (nested(lambda a, b: jnp.tensordot(a, b, ([0], [0]))), TypeError, r"sizes \(4,\) and \(5,\)"),
    "tensordot, traced axes": (nested(lambda a, b: jnp.tensordot(a, b, a[0])), TypeError, "concrete value"),
    "roll, shift": (lambda: jnp.roll(A, 1.5, 1), TypeError, r"roll shifts by a whole number of places, got shift 1\.5"),
    "dot": (nested(jnp.dot), TypeError, r"\(4,\) and \(5,\)"),
    "matmul": (nested(jnp.matmul), TypeError, r"shapes \(4,\) and \(5,\)"),
    "einsum": (nested(lambda a, b: jnp.einsum("i,i", a, b)), ValueError, "sizes 4 and 5"),
    "dot_general, sizes": (
        nested(lambda a, b: lax.dot_general(a, b, (([0], [0]), ([], [])))),
        TypeError,
        r"axis 0 of shape \(4,\) and axis 0 of shape \(5,\)",
    ),
    "dot_general, axes": (
        nested(lambda a, b: lax.dot_general(a, b, (([1], [0]), ([], [])))),
        TypeError,
        r"axes below 1 of f32\[4\], got \(1,\)",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_the_words_of_its_user(mistake: str) -> None:
    call, kind, told = MISTAKES[mistake]
    with pytest.raises(kind, match=told) as caught:
        call()
    if "einsum" not in mistake:
        assert re.search(r"test_messages\.py:\d+", str(caught.value)), "the message names the line"
