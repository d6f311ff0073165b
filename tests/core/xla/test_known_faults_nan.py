"""What is NaN stays NaN where the compiler knows that it is one: LLVM leaves out what is computed of it otherwise."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, nn
from xlascope.scipy import stats

FUNCTIONS = {
    **{name: getattr(jnp, name) for name in ("exp", "exp2", "expm1", "cosh", "sinh", "tanh", "log1p", "sin")},
    **{name: getattr(nn, name) for name in ("sigmoid", "silu", "softplus", "gelu", "elu", "softmax", "logsumexp")},
    "power": lambda x: jnp.power(2.5, x),
    "logaddexp": lambda x: jnp.logaddexp(x, x + 1),
    "erf": lax.erf,
}
#: Conditions that hold for all elements, by which the compiler has a loop for each.
NOWHERE = {
    "where": lambda f, x, condition: f(jnp.where(condition, x, jnp.nan)),
    "cond": lambda f, x, condition: f(lax.cond(condition, lambda: x, lambda: jnp.full_like(x, jnp.nan))),
    "called": lambda f, x, condition: f(xs.jit(lambda v: jnp.where(condition, v, jnp.nan))(x)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_nan_is_nan(name, dtype):
    function = FUNCTIONS[name]
    x = jnp.linspace(0.1, 0.9, 300).astype(dtype)
    usual = np.asarray(function(x), "float32")
    for place, nowhere in NOWHERE.items():
        program = xs.jit(lambda x, a, b, nowhere=nowhere: nowhere(function, x, b > a))
        assert np.isnan(np.asarray(program(x, 3.5, 2.1), "float32")).all(), place
        np.testing.assert_allclose(np.asarray(program(x, 2.1, 3.5), "float32"), usual, rtol=2e-2, err_msg=place)


#: Some elements that are known to be NaN.
SOME = {
    "behind": lambda x: jnp.concatenate([x, jnp.full(x.shape, jnp.nan)]),
    "around": lambda x: jnp.pad(x, (0, 4), constant_values=jnp.nan),
    "at one place": lambda x: x.at[0].set(jnp.nan),
    "at every second place": lambda x: jnp.where(jnp.arange(x.size) % 2 == 0, x, jnp.nan),
    "in columns": lambda x: jnp.where(jnp.arange(5) < 3, x[:, None], jnp.nan),
    "everywhere": lambda x: x * jnp.nan,
}


@pytest.mark.parametrize("form", SOME)
def test_elements_that_are_known_to_be_nan(form):
    for size in (3, 64):
        x = jnp.linspace(0.1, 0.9, size)
        values = np.asarray(SOME[form](x))
        np.testing.assert_allclose(xs.jit(lambda x: jnp.exp(SOME[form](x)))(x), np.exp(values), rtol=1e-5)


def test_gradients_and_batches():
    def f(x, a, b):
        return jnp.exp(jnp.where(b > a, x, jnp.nan)).sum()

    x = jnp.linspace(0.1, 0.9, 8)
    assert np.isnan(xs.jit(xs.vmap(f, (None, 0, None)))(x, jnp.array([3.5, 4.0]), 2.1)).all()
    np.testing.assert_allclose(xs.jit(xs.grad(f))(x, 2.1, 3.5), np.exp(x), rtol=1e-6)


def test_no_other_program_is_written_otherwise():
    without = xs.jit(lambda x, c: jnp.exp(jnp.where(c, x, jnp.inf))).lower(jnp.ones(3), True).as_text()
    assert "compare" not in without
    assert "compare" in xs.jit(lambda x, c: jnp.exp(jnp.where(c, x, jnp.nan))).lower(jnp.ones(3), True).as_text()


def test_a_density_of_no_interval():
    density = stats.truncnorm.pdf(jnp.arange(3.0), 3.5, 2.1)
    assert np.isnan(density).all()
