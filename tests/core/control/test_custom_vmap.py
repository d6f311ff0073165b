"""custom_vmap and sequential_vmap: what the rule is given. Values that jax has too are in remat_programs.py."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.custom_batching import custom_vmap, sequential_vmap

V, M = np.float32([0.2, 0.4, 0.9]), np.arange(6, dtype="float32").reshape(2, 3) / 5


def tripled():
    """A product whose batched form is three times as large."""
    calls = []

    @custom_vmap
    def f(x, y):
        return x * y

    @f.def_vmap
    def rule(size, in_batched, x, y):
        calls.append((size, list(in_batched), jnp.shape(x), jnp.shape(y)))
        return 3.0 * x * y, True

    return f, calls


@pytest.mark.parametrize("wrap", [lambda f: f, xs.jit])
def test_the_rule_is_given_size_marks_and_operands_in_front(wrap) -> None:
    f, calls = tripled()
    found = xs.vmap(wrap(f), in_axes=(1, None))(M, 2.0)
    np.testing.assert_allclose(found, 6.0 * M.T)
    assert calls == [(3, [True, False], (3, 2), ())]


def test_vmap_of_vmap_asks_for_one_axis_at_a_time() -> None:
    f, calls = tripled()
    np.testing.assert_allclose(xs.vmap(xs.vmap(f))(M, M), 3.0 * M * M)  # what the rule calls is vectorized as it is
    assert [c[0] for c in calls] == [3]


def test_derivatives_go_through_the_rule_forward_and_through_the_function_backward() -> None:
    f, _ = tripled()
    batch = jnp.asarray(V)
    _, moved = xs.vmap(lambda x: xs.jvp(lambda z: f(z, 2.0), (x,), (1.0,)))(batch)
    np.testing.assert_allclose(moved, np.full(3, 6.0))
    np.testing.assert_allclose(xs.grad(lambda x: f(x, x))(2.0), 4.0)
    np.testing.assert_allclose(xs.jit(xs.grad(lambda x: f(x, x)))(2.0), 4.0)


def test_a_rule_may_call_the_function() -> None:
    @custom_vmap
    def f(x):
        return jnp.sin(x)

    f.def_vmap(lambda size, marks, x: (lax.map(f, x), True))
    np.testing.assert_allclose(xs.vmap(f)(V), np.sin(V), rtol=1e-6)
    np.testing.assert_allclose(xs.vmap(xs.vmap(f))(M), np.sin(M), rtol=1e-6)


def test_arguments_by_name() -> None:
    f, calls = tripled()
    np.testing.assert_allclose(xs.vmap(lambda x: f(y=2.0, x=x))(V), 6.0 * V)
    assert calls[0][1] == [True, False]


def test_sequential_vmap_runs_one_example_after_the_other() -> None:
    f = sequential_vmap(lambda x, n: (jnp.sin(x) * n, n))
    y, n = xs.vmap(f, in_axes=(0, None))(V, 2)
    np.testing.assert_allclose(y, np.sin(V) * 2, rtol=1e-6)
    np.testing.assert_array_equal(n, [2, 2, 2])
    program = xs.make_jaxpr(xs.vmap(f, in_axes=(0, None)))(V, 2)
    assert "scan" in [e.primitive.name for e in program.eqns]
    np.testing.assert_allclose(
        xs.grad(lambda x: jnp.sum(xs.vmap(f, in_axes=(0, None))(x, 2)[0]))(V), 2 * np.cos(V), rtol=1e-6
    )
