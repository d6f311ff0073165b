"""Which programs are compiled with wider vectors, and that these give the same numbers."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.xla.compilation import vector_width
from xlascope.xla.compilation.vector_width import wide_vector_options

WIDE = (("xla_cpu_prefer_vector_width", "512"),)
MANY, FEW = np.ones(1_000_000, np.float32), np.ones(10, np.float32)


def sines(x):
    for _ in range(30):
        x = jnp.sin(x)
    return x


#: A function, its argument, and whether its calls repay the compile time.
PROGRAMS = {
    "exponentials": (jnp.exp, MANY, True),
    "of few elements": (jnp.exp, FEW, False),
    "of few elements, in many steps": (lambda x: lax.fori_loop(0, 100_000, lambda _, y: jnp.exp(-y), x), FEW, True),
    "in steps nobody counted": (lambda x: lax.while_loop(lambda y: y[0] < 0, lambda y: jnp.exp(-y), x), FEW, False),
    "in a function": (lambda x: xs.jit(jnp.tanh)(x) + 1, MANY, True),
    "of integers": (lambda x: x * x, MANY.astype(np.int32), False),
    "of sines": (sines, np.ones(10_000, np.float32), False),
    "of a product": (lambda x: x @ x, np.ones((1000, 1000), np.float32), False),
}


@pytest.fixture(autouse=True)
def fast_wide_vectors(monkeypatch):
    """The processor is one on which wide vectors are fast."""
    monkeypatch.setattr(vector_width, "has_fast_wide_vectors", lambda: True)
    monkeypatch.delenv("XLA_FLAGS", raising=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_gains_has_wide_vectors(name):
    function, x, gains = PROGRAMS[name]
    assert wide_vector_options(xs.make_jaxpr(function)(x).jaxpr, "cpu") == (WIDE if gains else ())


def test_what_a_user_sets_stays(monkeypatch):
    program = xs.make_jaxpr(jnp.exp)(MANY).jaxpr
    assert wide_vector_options(program, "gpu") == ()
    assert wide_vector_options(program, "cpu", (("xla_cpu_prefer_vector_width", "128"),)) == ()
    assert wide_vector_options(program, "cpu", (("xla_cpu_enable_fast_math", "False"),)) == WIDE
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_prefer_vector_width=256")
    assert wide_vector_options(program, "cpu") == ()
    monkeypatch.setattr(vector_width, "has_fast_wide_vectors", lambda: False)
    monkeypatch.delenv("XLA_FLAGS")
    assert wide_vector_options(program, "cpu") == ()


FUNCTIONS = {
    "exponentials": lambda x: [jnp.exp(x), jnp.exp2(x), jnp.expm1(x), jnp.sinh(x), jnp.cosh(x), jnp.tanh(x)],
    "logarithms": lambda x: [jnp.log(x), jnp.log1p(x), xs.nn.sigmoid(x), xs.nn.softplus(x), xs.nn.gelu(x)],
    "roots": lambda x: [jnp.sqrt(x), lax.rsqrt(x), jnp.cbrt(x), x**1.5, x**3, 1 / x],
    "angles": lambda x: [jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.arctan2(x, 2.0)],
    "choices": lambda x: [jnp.where(x > 1, x, -x), jnp.maximum(x, 0), jnp.clip(x, -1, 1), jnp.floor(x), x // 3, x % 3],
    "gradients": lambda x: [
        xs.vmap(xs.grad(f))(x) for f in (jnp.tanh, xs.nn.gelu, xs.nn.softplus, xs.scipy.special.erf)
    ],
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wide_vectors_give_the_same_bits(name, dtype):
    rising = np.concatenate([-np.geomspace(1e4, 1e-7, 500), np.geomspace(1e-7, 1e4, 503)])
    x = np.concatenate([rising, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40]]).astype(dtype)
    lowered = xs.jit(FUNCTIONS[name]).lower(x)
    narrow, wide = (lowered.compile({WIDE[0][0]: bits})(x) for bits in ("256", "512"))
    for y, z in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(y, z)


def test_wide_vectors_sum_as_exactly():
    x = np.random.default_rng(0).standard_normal((300, 1001), np.float32)
    lowered = xs.jit(lambda x: [x.sum(), x.sum(0), x.mean(1), jnp.var(x, 1), jnp.max(x, 1), xs.nn.softmax(x)]).lower(x)
    for bits in ("256", "512"):
        found = lowered.compile({WIDE[0][0]: bits})(x)
        wide = x.astype(np.float64)
        exponentials = np.exp(wide - wide.max(-1, keepdims=True))
        softmax = exponentials / exponentials.sum(-1, keepdims=True)
        for y, z in zip(found, [wide.sum(), wide.sum(0), wide.mean(1), wide.var(1), wide.max(1), softmax], strict=True):
            np.testing.assert_allclose(y, z, rtol=2e-6, atol=2e-4)
