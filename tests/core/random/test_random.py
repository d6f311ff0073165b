"""What holds of random numbers whatever their bits are: their range, their moments, and how they are made."""

import numpy as np
import pytest

import xlascope as xs
from xlascope import random, records

KEY = random.PRNGKey(2)


def test_the_same_key_gives_the_same_numbers_and_split_keys_others():
    first, second = random.split(KEY)
    np.testing.assert_array_equal(random.normal(KEY, (9,)), random.normal(KEY, (9,)))
    assert not np.array_equal(random.normal(first, (9,)), random.normal(second, (9,)))


def test_the_moments_are_right():
    x = np.asarray(random.normal(KEY, (50_000,)))
    assert abs(x.mean()) < 0.02 and abs(x.std() - 1) < 0.02
    u = np.asarray(random.uniform(KEY, (50_000,), minval=2.0, maxval=4.0))
    assert u.min() >= 2 and u.max() < 4 and abs(u.mean() - 3) < 0.02
    drawn = np.bincount(random.categorical(KEY, np.log([0.1, 0.2, 0.7]), shape=(50_000,)), minlength=3) / 50_000
    np.testing.assert_allclose(drawn, [0.1, 0.2, 0.7], atol=0.01)
    t = np.asarray(random.truncated_normal(KEY, -1.0, 0.5, (10_000,)))
    assert t.min() > -1 and t.max() < 0.5


def test_permutations_and_choices_are_of_what_was_given():
    assert sorted(np.asarray(random.permutation(KEY, 100))) == list(range(100))
    rows = np.arange(12).reshape(4, 3)
    assert sorted(map(tuple, np.asarray(random.permutation(KEY, rows)))) == sorted(map(tuple, rows))
    assert len(set(np.asarray(random.choice(KEY, 10, (10,), replace=False)).tolist())) == 10


@pytest.mark.parametrize("options", [{}, {"replace": False}, {"p": np.full(3, 1 / 3)}], ids=str)
def test_the_axis_of_a_choice_is_an_integer_that_there_is(options):
    x = np.arange(6).reshape(2, 3)
    expected = np.asarray(random.choice(KEY, x, (2,), axis=1, **options))
    for axis in (np.int64(1), -1, np.int8(-1)):
        np.testing.assert_array_equal(random.choice(KEY, x, (2,), axis=axis, **options), expected)
    for axis in (2, -3):
        with pytest.raises(ValueError, match=f"axis {axis} is out of bounds"):
            random.choice(KEY, x, (2,), axis=axis, **options)
    logits = np.log([[0.2, 0.8], [0.5, 0.5]])
    np.testing.assert_array_equal(random.categorical(KEY, logits, np.int64(1)), random.categorical(KEY, logits, axis=1))


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        (lambda key: random.uniform(key, (3,)), "_uniform"),
        (lambda key: random.normal(key, (3,)), "_normal"),
        (lambda key: random.randint(key, (3,), 0, 9), "_randint"),
        (lambda key: random.categorical(key, np.zeros(3)), "_categorical"),
        (lambda key: random.bernoulli(key), "_bernoulli"),
        (lambda key: random.split(key), "_threefry_split"),
        (lambda key: random.fold_in(key, 3), "_threefry_fold_in"),
    ],
)
def test_each_sampler_is_one_compiled_call(sample, name):
    (equation,) = xs.make_jaxpr(sample)(KEY).eqns
    assert equation.operation.name == "jit" and equation.params["name"] == name
    sample(KEY)
    seen = []
    with records.watch(seen.append):
        sample(KEY)
    assert not [record for record in seen if isinstance(record, records.Traced | records.Compiled)]


def test_a_gradient_goes_through_the_parameters():
    def f(scale):
        return xs.numpy.sum(scale * random.normal(KEY, (4,)) + random.uniform(KEY, (4,), maxval=scale))

    x = np.asarray(random.normal(KEY, (4,))) + np.asarray(random.uniform(KEY, (4,)))
    np.testing.assert_allclose(xs.grad(f)(2.0), x.sum(), rtol=1e-5)
