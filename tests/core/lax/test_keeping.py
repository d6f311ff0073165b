"""What keeps values in a program, and tokens."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax

X = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize("prevent", [False, True])
def test_what_is_sunk_stays_under_transformations(prevent):
    def f(x):
        lax.dce_sink({"kept": jnp.sin(x)}, prevent_mlir_dce=prevent)
        return x * 2

    for change in (xs.jit, xs.vmap, lambda f: xs.grad(lambda x: xs.jit(f)(x).sum()), lambda f: lambda x: lax.map(f, x)):
        np.testing.assert_array_equal(np.shape(change(f)(X)), (3,))
        assert "dce_sink" in str(xs.make_jaxpr(change(f))(X))
    assert ("@dce_sink" in xs.jit(f).lower(X).as_text()) == prevent


def test_tokens_pass_through_programs():
    def f(x, token):
        after = lax.after_all(token, lax.create_token(x))
        return lax.optimization_barrier((x, after))

    assert "optimization_barrier" in xs.jit(f).lower(X, lax.create_token()).as_text()

    def looped(xs, first):
        last, ys = lax.scan(lambda token, x: f(x, token)[::-1], first, xs)
        return ys, last

    for changed in (xs.jit(f), xs.vmap(f, (0, None)), looped):
        ys, token = changed(X, lax.after_all())
        np.testing.assert_array_equal(ys, X)
        assert repr(token) == "Token()"
    assert repr(lax.after_all(lax.create_token())) == "Token()"
    with pytest.raises(TypeError, match="after_all takes tokens, got a int"):
        lax.after_all(1)


def test_a_staged_value_is_computed_with_in_the_program():
    assert repr(lax.stage(3)) == "Array(3, dtype=int32, weak_type=True)"
    found = []

    def f(x):
        found.append(lax.stage(2.0))
        return x * lax.sin(found[-1])

    assert xs.make_jaxpr(xs.vmap(xs.grad(f)))(X).eqns[0].primitive.name == "sin"
    np.testing.assert_allclose(xs.jit(xs.vmap(f))(X), X * np.sin(2.0), rtol=1e-5)
    with pytest.raises(TypeError, match="Convert lists"):
        lax.stage([1])


@pytest.mark.parametrize(
    "create",
    [
        lambda **where: jnp.full((2,), 1, **where),
        lambda **where: jnp.full_like(1.0, 2, **where),
        lambda **where: jnp.zeros_like(1.0, **where),
    ],
)
def test_an_array_made_on_a_device_is_not_weakly_typed_as_in_jax(create):
    (device,) = xs.devices()[:1]
    assert create().weak_type and xs.jit(lambda: create(device=device))().weak_type
    assert not create(device=device).weak_type
    assert not create(device=xs.sharding.SingleDeviceSharding(device)).weak_type
    assert not lax.full((2,), 1.0, sharding=xs.sharding.SingleDeviceSharding(device)).weak_type
    assert jnp.zeros_like(xs.device_put(1.0, device)).weak_type
