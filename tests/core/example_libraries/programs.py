"""Networks, optimizers and differential equations; run with xlascope and with jax."""

import importlib

import numpy as np


def _of(lib, module):
    return importlib.import_module(f"{lib.__name__}.{module}")


def networks(lib):
    """Name to parameters' and outputs' leaves."""
    stax, key = _of(lib, "example_libraries.stax"), lib.random.PRNGKey(1)
    image = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype("float32")
    branches = stax.serial(
        stax.FanOut(2), stax.parallel(stax.Dense(4), stax.serial(stax.Dense(4), stax.Tanh)), stax.FanInSum
    )
    joined = stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Identity), stax.FanInConcat())
    layers = {
        "convolutions": stax.serial(
            stax.Conv(4, (3, 3), padding="SAME"), stax.BatchNorm(), stax.Relu, stax.MaxPool((2, 2), strides=(2, 2)),
            stax.Conv(5, (2, 2), strides=(2, 2)), stax.Elu, stax.Flatten, stax.Dense(6), stax.LogSoftmax,
        ),
        "pools": stax.serial(stax.AvgPool((3, 3), (2, 2), "SAME"), stax.SumPool((2, 2)), stax.LeakyRelu),
        "channels first": stax.GeneralConv(("NCHW", "OIHW", "NCHW"), 2, (3, 3)),
        "transposed": stax.ConvTranspose(2, (3, 3), strides=(2, 2), padding="SAME"),
        "elementwise": stax.serial(stax.Softplus, stax.Sigmoid, stax.Gelu, stax.Selu, stax.Exp, stax.Softmax),
        "dropout": stax.serial(stax.Dense(5), stax.Dropout(0.7), stax.Dense(2)),
        "branches": branches,
        "joined": joined,
        "by shape": stax.shape_dependent(lambda shape: stax.Dense(shape[-1] + 1)),
    }  # fmt: skip
    found = {}
    for name, (init, apply) in layers.items():
        shape, params = init(key, image.shape)
        out = apply(params, image, rng=key)
        found[f"{name} shape"] = np.array(shape)
        for i, leaf in enumerate([*lib.tree_util.tree_leaves(params), out]):
            found[f"{name} {i}"] = np.asarray(leaf)
    return found


def steps(lib):
    """Name to parameters after a few steps."""
    optimizers = _of(lib, "example_libraries.optimizers")
    params = {"w": np.float32([[1.0, -2.0], [0.5, 3.0]]), "b": np.float32([0.1, -0.3])}
    decay = optimizers.exponential_decay(0.1, 2, 0.5)
    made = {
        "sgd": optimizers.sgd(0.1),
        "momentum": optimizers.momentum(decay, 0.9),
        "nesterov": optimizers.nesterov(0.1, 0.9),
        "adagrad": optimizers.adagrad(0.1),
        "rmsprop": optimizers.rmsprop(0.01),
        "rmsprop_momentum": optimizers.rmsprop_momentum(0.01),
        "adam": optimizers.adam(optimizers.polynomial_decay(0.1, 3, 0.01, 2.0)),
        "adamax": optimizers.adamax(optimizers.inverse_time_decay(0.1, 2, 0.5)),
        "sm3": optimizers.sm3(optimizers.piecewise_constant([1, 2], [0.1, 0.05, 0.01])),
        "staircase": optimizers.sgd(optimizers.inverse_time_decay(0.1, 2, 0.5, staircase=True)),
    }

    def loss(p):
        return lib.numpy.sum(lib.numpy.sin(p["w"]) @ p["b"]) + lib.numpy.sum(p["b"] ** 2)

    found = {}
    for name, (init, update, get_params) in made.items():
        state = init(params)
        for step in range(4):
            gradients = optimizers.clip_grads(lib.grad(loss)(get_params(state)), 1.0)
            state = update(step, gradients, state)
        state = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
        for key, leaf in get_params(state).items():
            found[f"{name} {key}"] = np.asarray(leaf)
    return found


def solutions(lib):
    """Name to solutions and their derivatives."""
    odeint, jnp = _of(lib, "experimental.ode").odeint, lib.numpy
    times = np.linspace(0.0, 2.0, 5).astype("float32")

    def pendulum(y, t, length, damping):
        angle, speed = y["angle"], y["speed"]
        return {"angle": speed, "speed": -jnp.sin(angle) / length - damping * speed}

    def end(y0, times, length):
        y = odeint(pendulum, y0, times, length, 0.1, rtol=1e-5, atol=1e-5)
        return jnp.sum(y["angle"] ** 2) + y["speed"][-1]

    y0 = {"angle": np.float32([1.0, 0.5]).mean(), "speed": np.float32(0.25)}
    solved = odeint(pendulum, y0, times, 0.7, 0.1)
    value, gradients = lib.value_and_grad(end, (0, 1, 2))(y0, times, 0.7)
    bounded = odeint(lambda y, t: -y, np.float32([1.0, 2.0]), times, hmax=0.1, mxstep=50)
    leaves = [*lib.tree_util.tree_leaves(solved), value, *lib.tree_util.tree_leaves(gradients), bounded]
    return {str(i): np.asarray(leaf) for i, leaf in enumerate(leaves)}
