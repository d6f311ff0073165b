"""Programs of which XLA's CPU back end would compute much again, and some of which it would not."""

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax


def norm(x):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)


def normals(*shapes):
    random = np.random.default_rng(0)
    return [0.2 * random.standard_normal(shape, np.float32) for shape in shapes]


def layers(count, rows=64, width=32):
    """A step of so many residual layers, with weights and rows."""

    def loss(weights, x):
        for up, down in weights:
            x = x + jnp.tanh(norm(x) @ up) @ down
        return jnp.mean(x * x)

    def step(weights, x):
        gradient = xs.grad(loss)(weights, x)
        return xs.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, gradient)

    weights = [tuple(normals((width, 2 * width), (2 * width, width))) for _ in range(count)]
    return step, (weights, *normals((rows, width)))


def layers_of_sequences(count, batch=4, places=32, width=32):
    """The same of a batch of sequences: XLA turns what the weights' gradients are made of."""
    step, (weights, _) = layers(count, width=width)
    return step, (weights, *normals((batch, places, width)))


def convolved(count, size=8, features=8):
    """The gradient of residual layers of convolutions: XLA turns what the kernels' gradients are made of."""

    def loss(kernels, x):
        for kernel in kernels:
            h = lax.conv_general_dilated(norm(x), kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = x + jnp.tanh(h)
        return jnp.mean(x * x)

    return xs.grad(loss), (normals(*[(3, 3, features, features)] * count), *normals((4, size, size, features)))


def layers_in_a_loop(count):
    """Five of those steps, one after the other."""
    step, (weights, x) = layers(count)

    def steps(weights, x):
        return xs.lax.fori_loop(0, 5, lambda _, w: step(w, x), weights)

    return steps, (weights, x)


def layers_of_a_branch(count):
    """That step if rows are positive on average, nothing otherwise."""
    step, (weights, x) = layers(count)

    def perhaps(weights, x):
        return xs.lax.cond(jnp.mean(x) > -1.0, lambda: step(weights, x), lambda: weights)

    return perhaps, (weights, x)


def layers_by_a_function(count):
    """The layers as calls of one jitted function."""

    @xs.jit
    def layer(x, up, down):
        return x + jnp.tanh(norm(x) @ up) @ down

    def loss(weights, x):
        for up, down in weights:
            x = layer(x, up, down)
        return jnp.mean(x * x)

    return xs.grad(loss), layers(count)[1]


def checkpointed(count):
    """The gradient of layers whose values are computed again for it."""

    @xs.checkpoint
    def layer(x, up, down):
        return x + jnp.tanh(norm(x) @ up) @ down

    def loss(weights, x):
        for up, down in weights:
            x = layer(x, up, down)
        return jnp.mean(x * x)

    return xs.grad(loss), layers(count)[1]


def attention():
    """The gradient of attention with a mask."""

    def loss(query, key, value):
        scores = jnp.einsum("htd,hsd->hts", query, key) / 8.0
        scores = jnp.where(jnp.tril(jnp.ones((64, 64), bool)), scores, -1e9)
        return jnp.sum(jnp.einsum("hts,hsd->htd", xs.nn.softmax(scores), value) ** 2)

    return xs.grad(loss, argnums=(0, 1, 2)), tuple(normals(*[(4, 64, 16)] * 3))


def chain():
    """The gradient of a hundred elementwise steps: one kernel."""

    def steps(x):
        for _ in range(50):
            x = jnp.sin(x) * 1.01 + 0.1 * x
        return jnp.sum(x)

    return xs.grad(steps), tuple(normals((1000,)))


def perceptron():
    """The gradient of ten dense layers."""

    def loss(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return jnp.mean(x)

    return xs.grad(loss), (normals(*[(32, 32)] * 10), *normals((16, 32)))


# Barriers in all places -----------------------------------------------------------------------------------------------


def _behind(x):
    return lax.optimization_barrier((jnp.sin(x) * 2.0, x))[0]


def _add(x, y):
    return lax.optimization_barrier(x + y)


def _steps(step):
    """A loop of three steps."""
    return lambda x: lax.fori_loop(0, 3, lambda _, y: step(y), x)


def _until(x):
    """A loop whose condition has a barrier."""
    return lax.while_loop(lambda y: jnp.max(_behind(y)) < 1.9, lambda y: y + 0.1, x)


def _checkpointed_scan(x):
    """The gradient of a scan of what is computed again for it."""
    step = xs.checkpoint(lambda y: jnp.sin(jnp.exp(jnp.sin(y)) * 2.0))
    return xs.grad(lambda x: jnp.sum(lax.scan(lambda y, _: (step(y), None), x, None, 6)[0]))(x)


#: Functions of a vector.
BARRIERS = {
    "in the program": lambda x: jnp.cos(_behind(x)),
    "of the result": _behind,
    "in a call": lambda x: jnp.cos(xs.jit(_behind)(x)),
    "in a branch": lambda x: lax.cond(x[0] > 0.0, lambda: jnp.cos(_behind(x)), lambda: x),
    "in a loop": _steps(_behind),
    "in a call in a loop": _steps(xs.jit(_behind)),
    "in a loop in a loop": _steps(_steps(_behind)),
    "in a condition": _until,
    "of one value in a loop": _steps(lambda x: jnp.cos(_add(x, 1.0))),
    "of checkpoint in a scan": _checkpointed_scan,
    "in a map": lambda x: lax.map(lambda y: jnp.cos(_behind(y)), x),
    "in a reduction": lambda x: lax.reduce(x, 0.0, _add, (0,)),
    "in a call in a reduction": lambda x: lax.reduce(x, 0.0, xs.jit(_add), (0,)),
    "in a window": lambda x: lax.reduce_window(x, 0.0, _add, (2,), (1,), "SAME"),
    "in a reduction in a loop": _steps(lambda x: x + 0.1 * lax.reduce(x, 0.0, _add, (0,))),
}
FOR_ELEMENTS = {place for place in BARRIERS if "reduction" in place or "window" in place}
IN_LOOPS = {place for place in BARRIERS if any(word in place for word in ("loop", "condition", "scan", "map"))}
