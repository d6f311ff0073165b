"""XLA's generators: JAX's bits, alone and mapped, of ``lax.rng_bit_generator`` and of keys for it; settings of keys."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax, random
from xlascope import numpy as jnp
from xlascope.errors import KeyReuseError

PROGRAMS = Path(__file__).with_name("generators.py")
SAMPLES = Path(__file__).with_name("generator_samples.py")
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


# Keys for them ------------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_jax(jax_says: Any, programs: Any) -> None:
    expected, found = jax_says(SAMPLES, "drawn"), programs(SAMPLES).drawn(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
        assert found[name].tobytes() == value.tobytes(), name


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_numbers_of_every_dtype_are_those_of_jax(jax_says: Any, programs: Any) -> None:
    expected, found = jax_says(SAMPLES, "whole"), programs(SAMPLES).whole(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
        assert found[name].tobytes() == value.tobytes(), name


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_distributions_are_those_of_jax(jax_says: Any, programs: Any) -> None:
    expected, found = jax_says(SAMPLES, "near"), programs(SAMPLES).near(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), name
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-5, err_msg=name)


GENERATORS = ("rbg", "unsafe_rbg")


@pytest.mark.parametrize("impl", GENERATORS)
def test_keys_know_their_generator(impl: str) -> None:
    key = random.key(0, impl=impl)
    kind: Any = random.key_dtype(impl)
    assert random.key_impl(key) == impl and key.dtype is kind
    assert random.key(0, impl=key.dtype) == key == random.wrap_key_data(random.key_data(key), impl=impl)
    assert random.split(key).dtype is random.fold_in(key, 1).dtype is random.clone(key).dtype is key.dtype
    assert random.key_data(random.split(key, 5)).shape == (5, 4)
    (passed,) = xs.jit(lambda keys: (jnp.stack([keys[1], keys[0]])[::-1],))(random.split(key))
    assert (passed == random.split(key)).all()


@pytest.mark.parametrize("impl", GENERATORS)
def test_raw_words_are_keys_of_the_default_generator(impl: str) -> None:
    key = random.key(3, impl=impl)
    with xs.default_prng_impl(impl):
        words = random.PRNGKey(3)
        assert random.key(3) == key and random.key_impl(words) == impl and random.wrap_key_data(words) == key
        assert (random.normal(words, (3,)) == random.normal(key, (3,))).all()
        assert (random.split(words) == random.key_data(random.split(key))).all()
        assert (random.fold_in(words, 2) == random.key_data(random.fold_in(key, 2))).all()
        assert random.uniform(random.key(0, impl="threefry2x32")) == random.uniform(random.key(0, impl="threefry2x32"))
        with pytest.raises(TypeError, match=r"or uint32\[4\]\) as its first argument, got u32\[2\].\n.*wrap_key_data"):
            random.normal(np.zeros(2, "uint32"))
    with pytest.raises(TypeError, match=r"or uint32\[2\]\) as its first argument, got u32\[4\].\n.*wrap_key_data"):
        random.normal(words)


def test_a_program_is_traced_anew_for_another_generator() -> None:
    made: Any = xs.jit(lambda: random.normal(random.key(0)))
    first = made()
    with xs.default_prng_impl("rbg"):
        assert made() == random.normal(random.key(0)) != first
    assert made() == first


def test_raw_keys_are_made_typed() -> None:
    words = random.PRNGKey(3)
    with xs.enable_custom_prng():
        assert random.PRNGKey(3) == random.key(3)
        assert random.PRNGKey(3, impl="rbg") == random.key(3, impl="rbg")
        assert (random.split(words) == random.split(random.key(3))).all()
        assert random.fold_in(words, 1) == random.fold_in(random.key(3), 1)
        assert random.clone(words).dtype == np.uint32
        assert random.normal(words) == random.normal(random.key(3))


USES: dict[str, Any] = {
    "normal": random.normal,
    "split": random.split,
    "fold_in": lambda key: random.fold_in(key, 1),
    "key_data": random.key_data,
    "key_impl": random.key_impl,
    "permutation": lambda key: random.permutation(key, 5),
    "choice": lambda key: random.choice(key, 5, (2,), replace=False),
}


@pytest.mark.parametrize("name", USES)
def test_raw_keys_are_refused_or_warned_of(name: str) -> None:
    use, words = USES[name], random.PRNGKey(3)
    with xs.legacy_prng_key("error"):
        with pytest.raises(ValueError, match=f"random.{name} was given a raw key.*random.wrap_key_data"):
            use(words)
        use(random.key(3))
        random.clone(words)
    with xs.legacy_prng_key("warn"), pytest.warns(UserWarning, match=f"random.{name} was given a raw key") as seen:
        use(words)
    assert [each.filename for each in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use(words)


@pytest.mark.parametrize("impl", GENERATORS)
def test_a_key_that_is_used_twice_is_found(impl: str) -> None:
    def good(key: Any) -> Any:
        first, second = random.split(key)
        return (
            random.gamma(first, 2.0, (3,)),
            random.permutation(second, 5),
            random.normal(random.fold_in(key, 3)),
            random.uniform(random.clone(second)),
        )

    for function in (good, xs.jit(good)):
        with xs.debug_key_reuse():
            function(random.key(0, impl=impl))
            with pytest.raises(KeyReuseError, match=r"used up by random\.normal"):
                xs.jit(lambda key: random.uniform(key) + random.normal(key))(random.key(0, impl=impl))
