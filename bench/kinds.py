"""More programs of many kinds, for either side: what is run over and over, so that its compiled code matters.

Those of ``programs.py`` are loops, solvers and samplers; here are gradients of networks, large arrays, products.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .models import mlp, transformer
from .programs import Program, arrays, clipped_gradients, digits, gauss_newton, hamiltonian, lstm, n_body
from .sides import Side


def _descend(side: Side, loss: Callable[..., Any], rate: float = 0.1) -> Callable[..., Any]:
    """A jitted step down the gradient of a loss by its first argument."""
    xs = side.xs

    def step(weights: Any, *data: Any) -> Any:
        gradient = xs.grad(loss)(weights, *data)
        return xs.tree_util.tree_map(lambda w, g: w - rate * g, weights, gradient)

    return xs.jit(step)  # type: ignore[no-any-return]


def _transformer(side: Side, batch: int, **sizes: int) -> Program:
    model = transformer(side, **sizes)
    one, example = model.make(), model.example
    random = np.random.default_rng(1)
    sentences = random.integers(0, 64, (batch, *example.shape)).astype(np.int32)

    def loss(weights: Any, sentences: Any) -> Any:
        return side.jnp.mean(side.xs.vmap(one, in_axes=(None, 0))(weights, sentences))

    return Program(_descend(side, loss), (model.weights, sentences), follows=True)


def transformer_12(side: Side) -> Program:
    """A step of twelve transformer blocks in plain NumPy style."""
    return _transformer(side, 16)


def transformer_wide(side: Side) -> Program:
    """The same, six blocks, wider and of longer sentences."""
    return _transformer(side, 8, blocks=6, tokens=64, width=128)


def transformer_checkpointed(side: Side) -> Program:
    """Four blocks whose values are computed again for the derivative instead of being kept."""
    xs, jnp = side.xs, side.jnp
    width = 64
    weights = [dict(zip("qkvud", arrays(*[(width, width)] * 3, (width, 256), (256, width)), strict=True))] * 4

    def norm(x: Any) -> Any:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)

    @xs.checkpoint
    def block(w: Any, x: Any) -> Any:
        h = norm(x)
        scores = xs.nn.softmax((h @ w["q"]) @ jnp.swapaxes(h @ w["k"], -1, -2) / 8.0)
        x = x + scores @ (h @ w["v"])
        return x + xs.nn.gelu(norm(x) @ w["u"]) @ w["d"]

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = block(w, x)
        return jnp.mean(x**2)

    return Program(_descend(side, loss), (weights, *arrays((8, 64, width))), follows=True)


def mlp_50(side: Side) -> Program:
    """The gradient of fifty dense layers."""
    model = mlp(side, width=256)
    x, y = arrays((128, 256), (128, 256))
    return Program(side.xs.jit(side.xs.grad(model.make())), (model.weights, (x, y)))


def normed_layers(side: Side) -> Program:
    """The gradient of twelve layers of a product, two activations and a layer norm."""
    xs, jnp = side.xs, side.jnp

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            h = x @ w
            h = xs.nn.gelu(h) * xs.nn.sigmoid(h)
            centred = h - jnp.mean(h, axis=-1, keepdims=True)
            x = centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
        return jnp.mean(x**3)

    return Program(xs.jit(xs.grad(loss)), (arrays(*[(256, 256)] * 12), *arrays((128, 256))))


def mixer(side: Side) -> Program:
    """A step of four residual blocks that mix places, then channels, each after a layer norm."""
    xs, jnp = side.xs, side.jnp
    places, width = 64, 128

    def norm(x: Any) -> Any:
        return (x - jnp.mean(x, -1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5)

    def loss(weights: Any, x: Any, wanted: Any) -> Any:
        for a, b, c, d in weights:
            x = x + jnp.swapaxes(xs.nn.gelu(jnp.swapaxes(norm(x), 1, 2) @ a) @ b, 1, 2)
            x = x + xs.nn.gelu(norm(x) @ c) @ d
        return jnp.mean((jnp.mean(x, axis=1) - wanted) ** 2)

    block = [(places, 128), (128, places), (width, 256), (256, width)]
    weights = [arrays(*block) for _ in range(4)]
    return Program(_descend(side, loss), (weights, *arrays((16, places, width), (16, width))), follows=True)


def residual_layers(side: Side) -> Program:
    """A step of sixteen residual layers of 512 on a thousand rows, each after a layer norm."""
    xs, jnp = side.xs, side.jnp

    def loss(weights: Any, x: Any) -> Any:
        for up, down in weights:
            centred = x - jnp.mean(x, -1, keepdims=True)
            normed = centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)
            x = x + xs.nn.gelu(normed @ up) @ down
        return jnp.mean(x * x)

    weights = [arrays((256, 512), (512, 256)) for _ in range(16)]
    return Program(_descend(side, loss), (weights, *arrays((1024, 256))), follows=True)


def messages(side: Side) -> Program:
    """A step of eight layers of a graph network: 2,000 nodes send messages along 10,000 edges."""
    jnp = side.jnp
    nodes, edges = 2000, 10_000

    def loss(weights: Any, x: Any, source: Any, target: Any) -> Any:
        for along, at in weights:
            received = jnp.zeros_like(x).at[target].add(jnp.tanh(x[source] @ along))
            x = x + jnp.tanh(received @ at)
            centred = x - jnp.mean(x, -1, keepdims=True)
            x = centred / jnp.sqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)
        return jnp.mean(x**2)

    random = np.random.default_rng(0)
    source, target = (random.integers(0, nodes, edges).astype(np.int32) for _ in range(2))
    weights = [arrays((32, 32), (32, 32)) for _ in range(8)]
    return Program(_descend(side, loss), (weights, *arrays((nodes, 32)), source, target), follows=True)


def _attention(side: Side, tokens: int, heads: int = 4, width: int = 32) -> tuple[Callable[..., Any], list[Any]]:
    jnp, xs = side.jnp, side.xs

    def attention(query: Any, key: Any, value: Any) -> Any:
        scores = jnp.einsum("htd,hsd->hts", query, key) / np.float32(width**0.5)
        scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
        return jnp.einsum("hts,hsd->htd", xs.nn.softmax(scores, axis=-1), value)

    return attention, arrays(*[(heads, tokens, width)] * 3)


def attention_small(side: Side) -> Program:
    """Attention of 64 tokens, four heads, its gradient."""
    return _attention_gradient(side, 64)


def attention_large(side: Side) -> Program:
    """Attention of 512 tokens, four heads, its gradient."""
    return _attention_gradient(side, 512)


def _attention_gradient(side: Side, tokens: int) -> Program:
    attention, operands = _attention(side, tokens)
    loss = lambda *x: side.jnp.sum(attention(*x) ** 2)  # noqa: E731
    return Program(side.xs.jit(side.xs.grad(loss, argnums=(0, 1, 2))), tuple(operands))


def attention_forward(side: Side) -> Program:
    """Attention of 1024 tokens, four heads, forward only."""
    attention, operands = _attention(side, 1024)
    return Program(side.xs.jit(attention), tuple(operands))


def convolutions(side: Side) -> Program:
    """A step of a small convolutional network with batch norm and pooling."""
    xs, jnp = side.xs, side.jnp

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        x = images
        for kernel, scale, shift in weights["layers"]:
            x = xs.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            centred = x - jnp.mean(x, axis=(0, 1, 2))
            x = centred / jnp.sqrt(jnp.mean(centred**2, axis=(0, 1, 2)) + 1e-5) * scale + shift
            x = xs.nn.relu(x)
            x = xs.lax.reduce_window(x, -np.inf, xs.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = xs.nn.log_softmax(jnp.mean(x, axis=(1, 2)) @ weights["out"])
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=-1))

    sizes = [3, 16, 32, 32]
    layers = [(*arrays((3, 3, a, b), (b,)), np.zeros(b, np.float32)) for a, b in itertools.pairwise(sizes)]
    labels = np.random.default_rng(0).integers(0, 10, 16).astype(np.int32)
    weights = {"layers": layers, "out": arrays((32, 10))[0]}
    return Program(_descend(side, loss), (weights, *arrays((16, 32, 32, 3)), labels), follows=True)


def residual_convolutions(side: Side) -> Program:
    """A step of eight residual blocks of two convolutions with batch norm."""
    xs, jnp = side.xs, side.jnp

    def convolved(x: Any, kernel: Any, scale: Any, shift: Any) -> Any:
        x = xs.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, variance = jnp.mean(x, axis=(0, 1, 2)), jnp.var(x, axis=(0, 1, 2))
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift

    def loss(weights: Any, images: Any, wanted: Any) -> Any:
        x = images
        for first, second in weights:
            x = xs.nn.relu(x + convolved(xs.nn.relu(convolved(x, *first)), *second))
        return jnp.mean((jnp.mean(x, axis=(1, 2)) - wanted) ** 2)

    half = [(3, 3, 16, 16), (16,), (16,)]
    weights = [(arrays(*half), arrays(*half)) for _ in range(8)]
    return Program(_descend(side, loss), (weights, *arrays((8, 16, 16, 16), (8, 16))), follows=True)


def elementwise_large(side: Side) -> Program:
    """Four steps deep in sines and exponentials of four million numbers."""
    jnp = side.jnp

    def waves(x: Any) -> Any:
        y = jnp.sin(x) * jnp.exp(-x * x)
        return jnp.tanh(y) + y * x, jnp.tanh(y) * y

    return Program(side.xs.jit(waves), tuple(arrays((2000, 2000))))


def chain_gradient(side: Side) -> Program:
    """The gradient of a chain of 300 steps on 100,000 numbers."""
    jnp = side.jnp

    def chain(x: Any) -> Any:
        for _ in range(100):
            x = jnp.sin(x) * 1.01 + 0.1 * x
        return jnp.sum(x)

    return Program(side.xs.jit(side.xs.grad(chain)), tuple(arrays((100_000,))))


def black_scholes(side: Side) -> Program:
    """Prices of 400,000 options, and how they change with each parameter."""
    xs, jnp = side.xs, side.jnp

    def price(spot: Any, strike: Any, time: Any, sigma: Any) -> Any:
        root = sigma * jnp.sqrt(time)
        d1 = (jnp.log(spot / strike) + 0.5 * sigma**2 * time) / root
        return spot * xs.scipy.stats.norm.cdf(d1) - strike * xs.scipy.stats.norm.cdf(d1 - root)

    greeks = xs.jit(xs.grad(lambda *x: jnp.sum(price(*x)), argnums=(0, 1, 2, 3)))
    random = np.random.default_rng(0)
    return Program(greeks, tuple(random.uniform(0.5, 1.5, (4, 400_000)).astype(np.float32)))


def softmax_large(side: Side) -> Program:
    """Cross entropy of 512 rows of 4,000 scores with label smoothing and temperature, its gradient."""
    xs, jnp = side.xs, side.jnp

    def loss(scores: Any, labels: Any) -> Any:
        logs = xs.nn.log_softmax(scores / 0.7)
        hot = xs.nn.one_hot(labels, scores.shape[-1]) * 0.9 + 0.1 / scores.shape[-1]
        entropy = -jnp.sum(jnp.exp(logs) * logs, axis=-1)
        return jnp.mean(-jnp.sum(hot * logs, axis=-1) + 0.01 * entropy)

    labels = np.random.default_rng(0).integers(0, 4000, 512).astype(np.int32)
    return Program(xs.jit(xs.grad(loss)), (*arrays((512, 4000)), labels))


def statistics(side: Side) -> Program:
    """Means, variances, skews and extremes of two million numbers along both axes."""
    jnp = side.jnp

    def moments(x: Any) -> Any:
        found = []
        for axis in (0, 1):
            mean = jnp.mean(x, axis=axis, keepdims=True)
            scaled = (x - mean) / jnp.sqrt(jnp.var(x, axis=axis, keepdims=True) + 1e-6)
            found += [jnp.mean(scaled**3, axis=axis), jnp.mean(scaled**4, axis=axis)]
            found += [jnp.max(scaled, axis=axis), jnp.min(scaled, axis=axis), jnp.mean(jnp.abs(scaled), axis=axis)]
        return found

    return Program(side.xs.jit(moments), tuple(arrays((1000, 2000))))


def odeint(side: Side) -> Program:
    """The gradient of where an ordinary differential equation ends, by its weights."""
    xs, jnp = side.xs, side.jnp
    ode = xs.experimental.ode

    def loss(weights: Any, start: Any, times: Any) -> Any:
        def flow(y: Any, _: Any) -> Any:
            return jnp.tanh(y @ weights[0]) @ weights[1] - 0.1 * y

        return jnp.sum(ode.odeint(flow, start, times)[-1] ** 2)

    weights = arrays((32, 32), (32, 32))
    return Program(xs.jit(xs.grad(loss)), (weights, *arrays((32,)), np.linspace(0.0, 5.0, 10, dtype=np.float32)))


def eigen_solver(side: Side) -> Program:
    """Eigenvalues of a symmetric matrix by LAPACK, and the gradient of their spread."""
    xs, jnp = side.xs, side.jnp

    def spread(x: Any) -> Any:
        values, vectors = jnp.linalg.eigh(x @ x.T + jnp.eye(100))
        return jnp.std(jnp.log(values)) + jnp.mean(vectors[:, -1] ** 4)

    return Program(xs.jit(xs.grad(spread)), tuple(arrays((100, 100))))


def power_iteration(side: Side) -> Program:
    """The five largest eigenvalues of a matrix by orthogonal iteration with Gram and Schmidt, a loop."""
    xs, jnp = side.xs, side.jnp

    def improve(_: Any, basis: Any, matrix: Any) -> Any:
        moved, found = matrix @ basis, []
        for i in range(5):
            v = moved[:, i]
            for u in found:
                v = v - jnp.dot(u, v) * u
            found.append(v / jnp.sqrt(jnp.sum(v * v) + 1e-12))
        return jnp.stack(found, axis=1)

    def solve(x: Any, basis: Any) -> Any:
        matrix = x @ x.T
        basis = xs.lax.fori_loop(0, 50, lambda i, b: improve(i, b, matrix), basis)
        return jnp.sum(basis * (matrix @ basis), axis=0)

    return Program(xs.jit(solve), tuple(arrays((300, 300), (300, 5))))


def hessian(side: Side) -> Program:
    """The Hessian of a small network's loss by its 330 weights."""
    xs, jnp = side.xs, side.jnp

    def loss(flat: Any, x: Any, y: Any) -> Any:
        hidden = jnp.tanh(x @ flat[:200].reshape(10, 20) + flat[200:220])
        hidden = jnp.tanh(hidden @ flat[220:320].reshape(20, 5) + flat[320:325])
        return jnp.mean((hidden @ flat[325:330] - y) ** 2)

    return Program(xs.jit(xs.hessian(loss)), tuple(arrays((330,), (64, 10), (64,))))


def einsums(side: Side) -> Program:
    """The gradient of a contraction of a train of tensors, by all of them."""
    xs, jnp = side.xs, side.jnp

    def norm(train: Sequence[Any], x: Any) -> Any:
        state = jnp.ones((x.shape[0], 16))
        for tensor, column in zip(train, jnp.moveaxis(x, 1, 0), strict=True):
            features = jnp.stack([jnp.cos(column), jnp.sin(column)], axis=-1)
            state = jnp.einsum("ba,apc,bp->bc", state, tensor, features)
            state = state / jnp.sqrt(jnp.einsum("bc,bc->b", state, state) + 1e-6)[:, None]
        return jnp.sum(state**3)

    return Program(xs.jit(xs.grad(norm)), (arrays(*[(16, 2, 16)] * 16), *arrays((256, 16))))


def heat(side: Side) -> Program:
    """Two hundred steps of a reaction and its diffusion on a grid: slices of shifted arrays in a loop."""
    xs, jnp = side.xs, side.jnp

    def laplacian(u: Any) -> Any:
        return sum(jnp.roll(u, shift, axis) for axis in (0, 1) for shift in (-1, 1)) - 4.0 * u

    def step(_: Any, state: Any) -> Any:
        u, v = state
        reaction = u * v * v
        return u + 0.16 * laplacian(u) - reaction + 0.035 * (1.0 - u), v + 0.08 * laplacian(v) + reaction - 0.1 * v

    return Program(xs.jit(lambda u, v: xs.lax.fori_loop(0, 200, step, (u, v))), tuple(arrays((128, 128), (128, 128))))


def gaussian_process(side: Side) -> Program:
    """The gradient of a Gaussian process' marginal likelihood by the parameters of its kernel."""
    xs, jnp = side.xs, side.jnp

    def likelihood(theta: Any, x: Any, y: Any) -> Any:
        apart = jnp.sum((x[:, None] - x[None]) ** 2 * jnp.exp(theta[2:]), axis=-1)
        kernel = jnp.exp(theta[0] - 0.5 * apart) + jnp.exp(theta[1]) * jnp.eye(len(y))
        factor = jnp.linalg.cholesky(kernel)
        solved = xs.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * jnp.sum(solved**2) + jnp.sum(jnp.log(jnp.diagonal(factor)))

    return Program(xs.jit(xs.grad(likelihood)), tuple(arrays((6,), (200, 4), (200,))))


def autoencoder(side: Side) -> Program:
    """A step of a variational autoencoder: random numbers in the middle."""
    xs, jnp = side.xs, side.jnp

    def loss(weights: Any, key: Any, x: Any) -> Any:
        a, b, c, d, e = weights
        hidden = xs.nn.softplus(x @ a)
        mean, logs = hidden @ b, hidden @ c
        z = mean + jnp.exp(0.5 * logs) * xs.random.normal(key, mean.shape)
        scores = xs.nn.softplus(z @ d) @ e
        likelihood = jnp.sum(x * xs.nn.log_sigmoid(scores) + (1 - x) * xs.nn.log_sigmoid(-scores), axis=-1)
        return jnp.mean(0.5 * jnp.sum(jnp.exp(logs) + mean**2 - 1 - logs, axis=-1) - likelihood)

    shapes = [(784, 256), (256, 20), (256, 20), (20, 256), (256, 784)]
    x = np.random.default_rng(0).random((64, 784), np.float32)
    return Program(_descend(side, loss, 1e-3), (arrays(*shapes), side.xs.random.PRNGKey(0), x), follows=True)


KINDS: dict[str, Callable[[Side], Program]] = {
    made.__name__: made
    for made in (
        *(transformer_12, transformer_wide, transformer_checkpointed, mixer, residual_layers, residual_convolutions),
        *(messages, normed_layers, mlp_50, digits, attention_small, attention_large, attention_forward, convolutions),
        *(autoencoder, lstm, clipped_gradients),
        *(elementwise_large, chain_gradient, black_scholes, softmax_large, statistics, einsums, hessian),
        *(n_body, hamiltonian, gauss_newton, odeint, heat, power_iteration, eigen_solver, gaussian_process),
    )
}
