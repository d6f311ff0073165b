"""stax, optimizers and odeint: JAX's numbers, digits that are learned, and a trajectory that SciPy knows."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import sklearn.datasets

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.example_libraries import optimizers, stax
from xlascope.experimental import ode

PROGRAMS = Path(__file__).with_name("programs.py")


@pytest.mark.parametrize(("which", "tolerance"), [("networks", 1e-4), ("steps", 1e-4), ("solutions", 5e-3)])
def test_numbers_are_those_of_jax(which, tolerance, jax_says, programs):
    expected, found = jax_says(PROGRAMS, which), getattr(programs(PROGRAMS), which)(xs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].shape == value.shape and found[name].dtype == value.dtype, name
        scale = float(np.max(np.abs(value), initial=0.0))
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("name", ["stax", "optimizers"])
def test_the_old_place_has_every_name(name):
    new = importlib.import_module(f"xlascope.example_libraries.{name}")
    old = importlib.import_module(f"xlascope.experimental.{name}")
    for each in new.__all__:
        assert getattr(old, each) is getattr(new, each)


def test_digits_are_learned():
    """The classifier that earlier programs begin with, on scikit-learn's digits of 8 times 8 points."""
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    images, targets = (images / 16).astype("float32"), np.eye(10, dtype="float32")[labels]
    order = np.random.default_rng(0).permutation(len(images))
    known, unknown = order[:1400], order[1400:]
    init, predict = stax.serial(stax.Dense(64), stax.Relu, stax.Dense(64), stax.Relu, stax.Dense(10), stax.LogSoftmax)
    _, params = init(xs.random.PRNGKey(0), (-1, 64))
    opt_init, opt_update, get_params = optimizers.momentum(0.05, mass=0.9)

    def loss(params, x, y):
        return -jnp.mean(jnp.sum(predict(params, x) * y, axis=1))

    @xs.jit
    def update(i, state, x, y):
        return opt_update(i, xs.grad(loss)(get_params(state), x, y), state)

    state = opt_init(params)
    for i in range(300):
        batch = known[np.arange(i * 100, i * 100 + 100) % len(known)]
        state = update(i, state, images[batch], targets[batch])
    guessed = np.argmax(predict(get_params(state), images[unknown]), axis=1)
    assert np.mean(guessed == labels[unknown]) > 0.9


def test_a_lorenz_trajectory_is_that_of_scipy():
    def lorenz(y, t, sigma, rho, beta):
        return jnp.stack([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])

    def of_scipy(t, y):
        return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

    times = np.linspace(0.0, 4.0, 41)
    with xs.enable_x64(True):
        y = ode.odeint(lorenz, jnp.array([1.0, 1.0, 1.0]), jnp.array(times), 10.0, 28.0, 8 / 3, rtol=1e-10, atol=1e-10)
        expected = scipy.integrate.solve_ivp(
            of_scipy, (0.0, 4.0), [1.0, 1.0, 1.0], "DOP853", times, rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(y, expected.y.T, atol=1e-5)


def test_a_gradient_is_that_of_the_solution():
    with xs.enable_x64(True):
        times = jnp.array([0.0, 0.5, 1.0])

        def end(y0, rate):
            return ode.odeint(lambda y, t: -rate * y * t, y0, times)[-1]

        slopes = xs.grad(end, (0, 1))(2.0, 3.0)
        np.testing.assert_allclose(slopes, (np.exp(-1.5), -np.exp(-1.5)), rtol=1e-6)


def test_what_goes_wrong_is_said():
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match="another structure"):
        update(0, [1.0], init({"w": 1.0}))
    with pytest.raises(TypeError, match="step size"):
        optimizers.sgd(np.ones(2))
    with pytest.raises(ValueError, match="rng=key"):
        stax.Dropout(0.5)[1]((), jnp.ones(3))
    with pytest.raises(TypeError, match="JoinPoint"):
        optimizers.pack_optimizer_state([1.0])
    with pytest.raises(TypeError, match="trees of arrays"):
        ode.odeint(lambda y, t, f: y, 1.0, jnp.array([0.0, 1.0]), "text")
