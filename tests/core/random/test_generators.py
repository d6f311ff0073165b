"""``lax.rng_bit_generator`` gives JAX's bits, alone and mapped; ``lax.rng_uniform`` gives even numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax

PROGRAMS = Path(__file__).with_name("generators.py")
KEY = np.arange(4, dtype="uint32")


@pytest.mark.parametrize("wide", [False, True])
def test_bits_are_those_of_jax(wide: bool, jax_says: Any, programs: Any) -> None:
    expected = jax_says(PROGRAMS, "drawn", enable_x64=str(int(wide)))
    with xs.enable_x64(wide):
        found = programs(PROGRAMS).drawn(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
        assert found[name].tobytes() == value.tobytes(), name


WRONG: dict[str, tuple[Any, Any, str]] = {
    "few words": (lambda: lax.rng_bit_generator(KEY[:2], (3,)), TypeError, r"takes a key of uint32\[4\]"),
    "other words": (lambda: lax.rng_bit_generator(KEY.astype("int32"), (3,)), TypeError, r"got i32"),
    "threefry": (lambda: lax.rng_bit_generator(xs.random.key(0), (3,)), TypeError, r"got u32"),
    "signed": (lambda: lax.rng_bit_generator(KEY, (3,), "int32"), TypeError, "gives numbers of uint8"),
    "no dtype": (lambda: lax.rng_bit_generator(KEY, (3,), None), ValueError, "takes a dtype"),
    "algorithm": (lambda: lax.rng_bit_generator(KEY, (3,), algorithm=7), ValueError, "RNG_PHILOX; got 7"),  # type: ignore[arg-type]
    "negative": (lambda: lax.rng_bit_generator(KEY, (-3,)), TypeError, "sizes are at least 0"),
    "two dtypes": (lambda: lax.rng_uniform(0, np.float32(1), (3,)), TypeError, "operands of one dtype"),
    "with axes": (lambda: lax.rng_uniform(np.zeros(3), np.ones(3), (3,)), ValueError, "limits without axes"),
    "narrow": (lambda: lax.rng_uniform(np.int8(0), np.int8(9), (3,)), TypeError, "got int8"),
    "derivative": (lambda: xs.grad(lambda a: lax.rng_uniform(a, 5.0, ()))(0.0), NotImplementedError, "random.uniform"),
    "mapped": (
        lambda: xs.vmap(lambda a: lax.rng_uniform(a, 5.0, ()))(np.zeros(2, "float32")),
        NotImplementedError,
        "cannot be mapped over its limits",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str) -> None:
    function, error, said = WRONG[name]
    with pytest.raises(error, match=said):
        function()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint32"])
def test_even_numbers_lie_between_their_limits(dtype: str) -> None:
    low, high = (xs.numpy.asarray(limit, dtype) for limit in (-3 if dtype[0] != "u" else 3, 12))
    drawn = lax.rng_uniform(low, high, (4000,))
    assert (drawn.dtype, drawn.shape) == (low.dtype, (4000,))
    numbers = np.asarray(drawn, "float64")
    assert numbers.min() >= float(low) and (numbers.max() < 12.0 or "16" in dtype)
    # The mean is within 12 standard errors.
    width = 12 - float(low)
    middle = (12 + float(low) - (dtype[0] in "iu")) / 2
    assert abs(numbers.mean() - middle) < 12 * width / np.sqrt(12 * 4000) + 0.02


def test_the_limits_have_no_derivative_where_nothing_moves_and_examples_share_what_was_drawn() -> None:
    assert xs.grad(lambda x: x * lax.rng_uniform(2, 3, ()))(1.0) == 2.0
    drawn = xs.vmap(lambda x: x + lax.rng_uniform(0.0, 1.0, (3,)))(xs.numpy.zeros(2))
    assert (drawn[0] == drawn[1]).all()
