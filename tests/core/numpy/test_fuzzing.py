"""Indexing, einsum, reductions and convolutions with drawn arguments against NumPy; mistakes are errors that name them.

A few examples run always, the same ones each time; many in the slow tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import xlascope.numpy as jnp
from xlascope import lax

FEW, MANY = 25, 600
SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=3).map(tuple)


def fuzzed(*strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a check for a few draws, and as a slow test for many."""

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
        def test(count: int) -> None:
            settings(max_examples=count, deadline=None, derandomize=True)(given(*strategies)(check))()

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


def _filled(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return (np.arange(np.prod(shape, dtype=int)) % 7 - 3).reshape(shape).astype(np.float32)


def _agree(function: Callable[[], Any], numpys: Callable[[], Any], **tolerance: float) -> None:
    """The same value, or an error on both sides, ours one that users are meant to see."""
    try:
        wanted = numpys()
    except (ValueError, TypeError, IndexError):
        with pytest.raises((ValueError, TypeError, IndexError)):
            function()
        return
    np.testing.assert_allclose(function(), wanted, **tolerance)


# Indexing -----------------------------------------------------------------------------------------------------------


@st.composite
def indexed(draw: Any) -> tuple[np.ndarray[Any, Any], Any]:
    """An array and an index that NumPy takes."""
    x = _filled(draw(SHAPES.filter(lambda shape: 0 not in shape)))
    parts = draw(hnp.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    if not x.shape or draw(st.booleans()):
        return x, parts
    if draw(st.booleans()):
        return x, draw(hnp.arrays(bool, x.shape[: draw(st.integers(1, x.ndim))]))
    rows = draw(hnp.integer_array_indices(x.shape[:1], result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
    rest = draw(st.sampled_from([(), (slice(None, None, -1),), (None,), (0,)]))
    return x, rows + (rest if x.ndim > 1 or rest in ((), (None,)) else ())


@fuzzed(indexed())
def test_indexing_reads_what_numpy_reads(drawn: Any) -> None:
    x, index = drawn
    np.testing.assert_array_equal(jnp.asarray(x)[index], x[index])


@fuzzed(indexed(), st.sampled_from(["set", "add", "multiply", "min"]))
def test_updates_write_where_numpy_writes(drawn: Any, how: str) -> None:
    x, index = drawn
    wanted = x.copy()
    if how == "set":
        wanted[index] = 5
    else:
        {"add": np.add, "multiply": np.multiply, "min": np.minimum}[how].at(wanted, index, 2)
    found = getattr(jnp.asarray(x).at[index], how)(5 if how == "set" else 2)
    np.testing.assert_array_equal(found, wanted)


@fuzzed(SHAPES, st.tuples(st.integers(-6, 6), st.integers(-6, 6)))
def test_an_index_with_too_many_parts_is_refused(shape: tuple[int, ...], index: tuple[int, int]) -> None:
    if len(shape) < len(index):
        with pytest.raises(IndexError):
            jnp.asarray(_filled(shape))[index]


# Reductions ---------------------------------------------------------------------------------------------------------


@st.composite
def reduced(draw: Any) -> tuple[str, np.ndarray[Any, Any], dict[str, Any]]:
    """A reduction's name, operand and options; the axes may be wrong."""
    x = _filled(draw(SHAPES))
    name = draw(st.sampled_from(["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "nansum", "var"]))
    axis = st.integers(-x.ndim - 1, x.ndim)
    several = st.none() if name == "argmax" else st.one_of(st.none(), st.lists(axis, max_size=3).map(tuple))
    options = {"axis": draw(st.one_of(axis, several)), "keepdims": draw(st.booleans())}
    if name in ("sum", "prod", "max", "min") and draw(st.booleans()):
        options["initial"] = draw(st.sampled_from([0.0, 2.0, -5.0]))
    if name != "argmax" and ("initial" in options or name in ("sum", "prod", "any", "all")) and draw(st.booleans()):
        options["where"] = draw(hnp.arrays(bool, x.shape))
    return name, x, options


@fuzzed(reduced())
@pytest.mark.filterwarnings("ignore")
def test_reductions_give_what_numpy_gives(drawn: Any) -> None:
    name, x, options = drawn
    assume(x.shape or options["axis"] is None)  # NumPy takes 0 and -1 for an axis of what has none
    with np.errstate(all="ignore"):
        _agree(lambda: getattr(jnp, name)(x, **options), lambda: getattr(np, name)(x, **options), rtol=1e-4, atol=1e-5)


# einsum -------------------------------------------------------------------------------------------------------------


@st.composite
def contracted(draw: Any) -> tuple[str, list[np.ndarray[Any, Any]]]:
    """A subscript and operands that mostly fit it."""
    names = draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=4))
    sizes = {letter: draw(st.integers(1, 3)) for letter in "abcd"}
    operands = [_filled(tuple(sizes[letter] for letter in name)) for name in names]
    if draw(st.integers(0, 9)) == 0 and operands[0].ndim:
        operands[0] = operands[0][..., None]
    result = draw(st.one_of(st.none(), st.permutations(sorted(set("".join(names)) | set("e"))).map("".join)))
    kept = "" if result is None else "->" + result[: draw(st.integers(0, len(result)))]
    return ",".join(names) + kept, operands


@fuzzed(contracted(), st.sampled_from([True, False, "greedy"]))
def test_einsum_gives_what_numpy_gives(drawn: Any, optimize: Any) -> None:
    subscripts, operands = drawn
    _agree(
        lambda: jnp.einsum(subscripts, *operands, optimize=optimize),
        lambda: np.einsum(subscripts, *operands),
        rtol=1e-5,
        atol=1e-4,
    )


# Convolutions -------------------------------------------------------------------------------------------------------


def _dilated(x: np.ndarray[Any, Any], factor: int) -> np.ndarray[Any, Any]:
    """The last axis with zeros between its elements."""
    made = np.zeros((*x.shape[:-1], max(0, (x.shape[-1] - 1) * factor + 1)), x.dtype)
    made[..., ::factor] = x
    return made


def _convolved(x: Any, w: Any, stride: int, padding: tuple[int, int], dilations: tuple[int, int], groups: int) -> Any:
    """What conv_general_dilated means, written out for one axis."""
    x, w = _dilated(x, dilations[0]), _dilated(w, dilations[1])
    low, high = padding
    x = np.pad(x, ((0, 0), (0, 0), (max(low, 0), max(high, 0))))
    x = x[..., max(-low, 0) : x.shape[-1] - max(-high, 0)]
    count = max(0, (x.shape[-1] - w.shape[-1]) // stride + 1) if x.shape[-1] >= w.shape[-1] else 0
    made = np.zeros((x.shape[0], w.shape[0], count), np.float32)
    ins, outs = w.shape[1], w.shape[0] // groups
    for group, at in itertools.product(range(groups), range(count)):
        window = x[:, group * ins : (group + 1) * ins, at * stride : at * stride + w.shape[-1]]
        kernel = w[group * outs : (group + 1) * outs]
        made[:, group * outs : (group + 1) * outs, at] = np.einsum("nik,oik->no", window, kernel)
    return made


_PADDING = st.tuples(st.integers(-1, 3), st.integers(-1, 3))
_POSITIVE = st.integers(1, 3)


@fuzzed(st.integers(1, 6), _POSITIVE, _POSITIVE, _PADDING, st.tuples(_POSITIVE, _POSITIVE), _POSITIVE)
def test_convolutions_are_what_they_mean(
    size: int, width: int, stride: int, padding: tuple[int, int], dilations: tuple[int, int], groups: int
) -> None:
    assume((size - 1) * dilations[0] + 1 + sum(padding) >= 0)
    x, w = _filled((2, 2 * groups, size)), _filled((2 * groups, 2, width))
    found = lax.conv_general_dilated(
        x, w, (stride,), [padding], (dilations[0],), (dilations[1],), ("NCH", "OIH", "NCH"), groups
    )
    np.testing.assert_allclose(found, _convolved(x, w, stride, padding, dilations, groups), rtol=1e-5, atol=1e-4)


_WRONG = st.sampled_from([0, -1, 1.5, "one", None, (1, 1), (0,), (-2,), (1.5,), [], [(1,)], [(0, 0, 0)], "VALIDS"])


@fuzzed(st.sampled_from(["window_strides", "padding", "lhs_dilation", "rhs_dilation", "feature_group_count"]), _WRONG)
def test_wrong_options_of_convolutions_are_named(name: str, value: Any) -> None:
    options: dict[str, Any] = {"window_strides": (1,), "padding": [(0, 0)], "feature_group_count": 1, name: value}
    assume((name, value) not in (("lhs_dilation", None), ("rhs_dilation", None)))
    with pytest.raises((TypeError, ValueError)):
        lax.conv_general_dilated(_filled((1, 1, 5)), _filled((1, 1, 2)), **options)
